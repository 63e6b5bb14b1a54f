//! `isolde levels`: the levels as a table.

use crate::args::LevelsArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use history::{LEVELS, Level, LevelRow};
use serde_json::json;

/// Prints every level.
pub fn run(args: &LevelsArgs) -> Result<Exit, Failure> {
    if args.json {
        let rows: Vec<_> = LEVELS.iter().map(as_json).collect();
        output::print_plain(&format!("{}\n", serde_json::Value::from(rows)))?;
        return Ok(Exit::Holds);
    }
    let mut text = String::new();
    for row in &LEVELS {
        let decided = if Level::WEAK.contains(&row.level) {
            "decided in polynomial time"
        } else {
            "decided by a guess, or a solver"
        };
        text.push_str(&format!("\x1b[1m{}\x1b[0m", row.name));
        if !row.aliases.is_empty() {
            text.push_str(&format!(" ({})", row.aliases.join(", ")));
        }
        text.push_str(&format!(
            "\n    {}\n    {decided}; {}\n",
            row.axiom, row.source
        ));
        let implied: Vec<&str> = row.implies.iter().map(|level| level.name()).collect();
        if !implied.is_empty() {
            text.push_str(&format!("    implies {}\n", implied.join(", ")));
        }
    }
    output::print_asked(&text)?;
    Ok(Exit::Holds)
}

fn as_json(row: &LevelRow) -> serde_json::Value {
    json!({
        "name": row.name,
        "aliases": row.aliases,
        "axiom": row.axiom,
        "source": row.source,
        "implies": row.implies.iter().map(|level| level.name()).collect::<Vec<_>>(),
        "decided": true,
    })
}
