//! The models of elle-cli that are about calls and not about transactions: a register with
//! compare-and-set, a mutex, and keys that are written one after another.

use crate::args::ElleCliArgs;
use crate::exit::Failure;
use crate::{input, output};
use checker::{CONFIGURATIONS_MAX, Linearizability, check_linearizable};
use history::format::calls::{self, Action, Calls};

/// Whether this is one of these models.
pub fn is_of_calls(model: &str) -> bool {
    matches!(model, "cas-register" | "mutex" | "sequential")
}

/// Judges one file and prints its line. `None` is unknown.
pub fn judge(args: &ElleCliArgs, model: &str, file: &str) -> Result<Option<bool>, Failure> {
    let mut notes = Vec::new();
    let (valid, index, reason) = input::with_bytes(file, |source| {
        Ok(match model {
            "sequential" => in_order(&calls::read_rows(source, args.format, &mut notes)?),
            _ => {
                let calls = calls::read(source, args.format, &mut notes)?;
                linearizable(&calls, model == "mutex")
            }
        })
    })?;
    if !reason.is_empty() {
        notes.push(reason.clone());
    }
    for text in &notes {
        output::note(&format!("{file}: {text}"));
    }
    let word = match valid {
        Some(true) => "true",
        Some(false) => "false",
        None => "unknown",
    };
    let line = match args.verbose {
        true => {
            let valid = valid.map_or("unknown".into(), serde_json::Value::from);
            serde_json::json!({"file": file, "valid?": valid, "index": index, "reason": reason})
                .to_string()
        }
        false => format!("{file}\t{word}"),
    };
    output::print_plain(&format!("{line}\n"))?;
    Ok(valid)
}

type Answer = (Option<bool>, Option<u64>, String);

fn linearizable(calls: &Calls, is_mutex: bool) -> Answer {
    let fits = |action: Action| matches!(action, Action::Acquire | Action::Release) == is_mutex;
    if let Some(strange) = calls.calls.iter().find(|call| !fits(call.action)) {
        let reason = format!("operation {} is of another object", strange.index);
        return (None, Some(strange.index), reason);
    }
    match check_linearizable(calls, CONFIGURATIONS_MAX) {
        Linearizability::Holds => (Some(true), None, String::new()),
        Linearizability::Violated { index, reason } => (Some(false), Some(index), reason),
        Linearizability::Unknown(reason) => (None, None, reason),
    }
}

/// Keys are written in turn and read in the opposite one, so whoever has found one finds all after.
fn in_order(rows: &[(u64, Vec<bool>)]) -> Answer {
    let has_gap = |row: &[bool]| row.iter().skip_while(|&&found| !found).any(|&found| !found);
    let mut wrong = rows.iter().filter(|(_, row)| has_gap(row));
    match wrong.next() {
        None => (Some(true), None, String::new()),
        Some((index, _)) => {
            let count = 1 + wrong.count();
            let reason = format!(
                "{count} of {} reads found a key and not one that was written before it; the first \
                 is operation {index}",
                rows.len()
            );
            (Some(false), Some(*index), reason)
        }
    }
}
