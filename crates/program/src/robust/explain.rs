//! Answers in sentences, with the places in the source.

use super::{Change, Counterexample, Level, Promotion, Robustness};
use crate::ir::Program;
use crate::scenario::{Edge, EdgeKind, Event, Point};
use std::fmt::Write;

impl Counterexample {
    /// What happens: a line for each dependency of the cycle, then the order of steps.
    pub fn explain(&self, program: &Program) -> String {
        let mut out = String::new();
        for edge in &self.edges {
            let what = subject(program, edge);
            let (from, to) = (self.name(program, edge.from), self.name(program, edge.to));
            let (first, second) = match edge.kind {
                EdgeKind::ReadWrite => ("reads", "overwrites it"),
                EdgeKind::WriteRead => ("writes", "reads it"),
                EdgeKind::WriteWrite => ("writes", "overwrites it"),
                EdgeKind::Sibling => ("runs", "runs too"),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{from} {first} {what}; {to} {second}");
        }
        let mine = self.schedule.iter().take_while(|turn| turn.instance == 0);
        let count = mine
            .filter(|turn| matches!(turn.event, Event::Statement(_)))
            .count();
        let others: Vec<String> = (1..self.instances.len())
            .map(|instance| self.short_name(program, instance))
            .collect();
        let first = self.short_name(program, 0);
        let last = count.checked_sub(1);
        let statement = last.and_then(|last| self.instances[0].path.statements.get(last));
        let place = statement.map_or_else(String::new, |one| format!(" to {}", one.place));
        let _ = writeln!(
            out,
            "order: {first} up{place}; then {}, whole; then the rest of {first}",
            others.join(", then ")
        );
        out
    }

    fn short_name(&self, program: &Program, instance: usize) -> String {
        let of = |at: usize| self.instances[at].transaction;
        let name = &program.transactions[of(instance)].name;
        let several = (0..self.instances.len())
            .filter(|at| of(*at) == of(instance))
            .count()
            > 1;
        match several {
            true => format!("{name} #{}", instance + 1),
            false => name.clone(),
        }
    }

    fn name(&self, program: &Program, point: Point) -> String {
        let name = self.short_name(program, point.instance);
        let statements = &self.instances[point.instance].path.statements;
        match statements.get(point.statement as usize) {
            Some(statement) => format!("{name} ({})", statement.place),
            None => name,
        }
    }
}

fn subject(program: &Program, edge: &Edge) -> String {
    let Some(table) = edge.table else {
        return "something".to_string();
    };
    let table = program.schema.table(table);
    let names: Vec<&str> = edge
        .columns
        .iter()
        .map(|one| table.column_name(*one))
        .collect();
    match names.len() {
        0 => format!("which rows {} has", table.name),
        1..=3 => format!("{} of {}", names.join(", "), table.name),
        _ => format!("{}, … of {}", names[..3].join(", "), table.name),
    }
}

impl Promotion {
    /// What to change, with the place.
    pub fn explain(&self, program: &Program) -> String {
        let name = &program.transactions[self.transaction].name;
        match self.change {
            Change::ForUpdate => {
                format!("{}: {name}: write `{};`", self.place, self.after)
            }
            Change::IdentityUpdate => {
                format!("{}: {name}: add behind it `{};`", self.place, self.after)
            }
        }
    }
}

impl Robustness {
    /// The answer in a sentence, for transactions at a level.
    pub fn sentence(&self, level: Level) -> String {
        match self {
            Robustness::Robust(_) => format!("every run at {level} is serializable"),
            Robustness::NotRobust(_) => format!("not every run at {level} is serializable"),
            Robustness::Unproved(doubt) => {
                format!("not proved serializable at {level}: {}", doubt.reason)
            }
        }
    }
}
