//! Which values read the initial version of a key.

use crate::{Value, ValueCode, ValueTable};

/// A read of nil always reads the initial version. So does a read of the value named here, where
/// no transaction of the history (whatever became of it) wrote that value to that key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Initial {
    /// The default is 0.
    Value(Value),
    /// Nothing but nil.
    NilOnly,
}

impl Default for Initial {
    fn default() -> Initial {
        Initial::Value(Value::Int(0))
    }
}

impl Initial {
    /// The code of the additional initial value in a history with these values, if it occurs.
    pub fn code(&self, values: &ValueTable) -> Option<ValueCode> {
        match self {
            Initial::Value(value) => values.find(value),
            Initial::NilOnly => None,
        }
    }
}
