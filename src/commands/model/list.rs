//! `isolde model` alone: the protocols.

use super::{Models, print_json};
use crate::exit::{Exit, Failure};
use crate::output;
use protocol::{Entry, Property};
use serde_json::json;

/// Lists the protocols.
pub fn run(models: &Models, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let rows: Vec<_> = models.entries.iter().map(object).collect();
        print_json(&json!({ "protocols": rows }))?;
        return Ok(Exit::Holds);
    }
    let mut text = String::new();
    let names = models.entries.iter().map(|entry| entry.model.name().len());
    let width = names.max().unwrap_or(0).max(12);
    for entry in &models.entries {
        text.push_str(&format!(
            "\x1b[1m{:<width$}\x1b[0m  {}: {}\n{:width$}  promises {}; {}",
            entry.model.name(),
            entry.title,
            entry.summary,
            "",
            promises(entry),
            entry.source
        ));
        match entry.mutants.len() {
            0 => text.push('\n'),
            1 => text.push_str("; 1 mutant\n"),
            count => text.push_str(&format!("; {count} mutants\n")),
        }
    }
    let called = models.called;
    text.push_str(&format!(
        "\n{called} NAME checks one, {called} NAME --level psi one property of it, \
         {called} table all.\n"
    ));
    output::print_asked(&text)?;
    Ok(Exit::Holds)
}

/// What a protocol promises, by name.
pub fn promises(entry: &Entry) -> String {
    let names: Vec<&str> = entry.promises.iter().map(|p| short(*p)).collect();
    match &names[..] {
        [] => "nothing".to_string(),
        names => names.join(", "),
    }
}

/// The name that fits a narrow column.
pub fn short(property: Property) -> &'static str {
    property.short().unwrap_or(property.name())
}

fn object(entry: &Entry) -> serde_json::Value {
    let promises: Vec<&str> = entry.promises.iter().map(|p| p.name()).collect();
    let mutants: Vec<_> = entry
        .mutants
        .iter()
        .map(|mutant| {
            json!({
                "name": mutant.model.name(),
                "what": mutant.what,
                "breaks": mutant.breaks.name(),
            })
        })
        .collect();
    json!({
        "name": entry.model.name(),
        "title": entry.title,
        "summary": entry.summary,
        "source": entry.source,
        "promises": promises,
        "mutants": mutants,
    })
}
