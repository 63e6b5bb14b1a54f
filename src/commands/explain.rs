//! `isolde explain`: what anomalies are.

use crate::args::ExplainArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use report::encyclopedia::{entries, entry, find, near};

/// Tells about each, or lists all.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    match args.names.is_empty() {
        true => list(),
        false => tell(&args.names),
    }
}

/// Tells about anomalies by name.
pub fn tell(names: &[String]) -> Result<Exit, Failure> {
    let mut out = String::new();
    for name in names {
        let known = find(name).and_then(entry);
        let entry = known.ok_or_else(|| {
            let near = near(name);
            let meant = match near.is_empty() {
                true => String::new(),
                false => format!("\n  hint: is it {}?", near.join(" or ")),
            };
            Failure(format!(
                "no anomaly is called '{name}'; 'isolde explain' lists them{meant}"
            ))
        })?;
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&entry.text(output::width()));
    }
    output::print(&out)?;
    Ok(Exit::Holds)
}

fn list() -> Result<Exit, Failure> {
    let mut out = String::new();
    for entry in entries() {
        let row = entry.kind.row();
        let first = entry.what.split_inclusive('.').next().unwrap_or(entry.what);
        out.push_str(&format!(
            "\x1b[1m{:<30}\x1b[0m {}\n",
            row.name,
            first.trim()
        ));
    }
    out.push_str("\n'isolde explain NAME' tells more.\n");
    output::print(&out)?;
    Ok(Exit::Holds)
}
