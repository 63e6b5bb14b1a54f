//! What is said about recordings that stop in the middle.
//!
//! A transaction that may miss operations keeps the whole ones and becomes one of unknown outcome:
//! nobody was told that it committed, and what others read of it stays explained. What lies behind
//! the cut is lost, so a read of a write there has no writer.

/// The note of a recording that stops, with the number of transactions made indeterminate.
pub(super) fn note(stop: &str, unfinished: usize) -> String {
    let kept = match unfinished {
        0 => "nothing of the transaction there is left".to_string(),
        1 => "1 transaction that may be incomplete is taken as one of unknown outcome".to_string(),
        count => {
            format!("{count} transactions that may be incomplete are taken as of unknown outcome")
        }
    };
    format!("{stop}; {kept}; a read of a write that was lost looks like one out of thin air")
}
