//! One file a command.

pub mod certify;
pub mod check;
pub mod convert;
pub mod generate;
pub mod levels;
