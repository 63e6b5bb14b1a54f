//! A run as a sequence diagram of Mermaid, which many pages and editors draw.

use super::{Cause, Run, text, words};
use std::fmt::Write;

/// The diagram.
pub fn mermaid(run: &Run) -> String {
    let mut out = "sequenceDiagram\n".to_string();
    for site in run.setup.sites() {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "  participant {site}");
    }
    let shown = run.interesting();
    for step in &run.steps[..shown] {
        match &step.cause {
            Cause::Delivery(place) | Cause::Lost(place) => {
                let message = &run.messages[*place];
                let arrow = if matches!(step.cause, Cause::Lost(_)) {
                    "-x"
                } else {
                    "->>"
                };
                let words = escape(&message.text);
                let _ = writeln!(out, "  {}{arrow}{}: {words}", message.from, message.to);
            }
            _ => {
                let words = escape(&words::cause(run, step));
                let _ = writeln!(out, "  Note over {}: {words}", step.site);
            }
        }
        let rules = step.rules.iter().map(|rule| format!("[{rule}]"));
        let notes: Vec<String> = rules.chain(step.events.iter().map(words::event)).collect();
        if !notes.is_empty() {
            let words = escape(&notes.join("<br>"));
            let _ = writeln!(out, "  Note over {}: {words}", step.site);
        }
    }
    for line in text::rest(run, shown).lines() {
        let _ = writeln!(out, "  %% {}", line.trim());
    }
    out
}

/// What would end a statement or begin a comment.
fn escape(text: &str) -> String {
    text.replace(';', "#59;").replace("%%", "% %")
}
