//! Statements of sessions grouped into transactions, and transactions of equal shape merged.

use super::Entry;
use super::literals::{Literal, take};
use crate::schema::Type;
use rustc_hash::FxHashMap;

/// A statement of a shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShapeStatement {
    /// The text, parameters as `$1`, `$2`, ….
    pub sql: String,
    /// Where it stands in the log, the first time.
    pub line: u32,
}

/// Transactions that differ in literals only.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub statements: Vec<ShapeStatement>,
    /// The types of the parameters.
    pub types: Vec<Type>,
    pub count: u64,
    pub line: u32,
}

/// All shapes, the most frequent first.
pub(super) struct Grouped {
    pub shapes: Vec<Shape>,
    pub rolled_back: u64,
}

/// A session while the log is read.
#[derive(Default)]
struct Session {
    open: Vec<(String, u32)>,
    /// Whether a transaction was begun.
    begun: bool,
    /// Whether statements outside of `begin` commit by themselves.
    autocommit_off: bool,
}

/// Transactions with the same texts between their literals.
struct Merged {
    pieces: Vec<Vec<String>>,
    lines: Vec<u32>,
    /// For each literal: the first place whose literal was equal every time.
    same_as: Vec<usize>,
    types: Vec<Type>,
    count: u64,
}

/// Groups and merges.
pub(super) fn shapes(entries: &[Entry]) -> Grouped {
    let mut sessions: FxHashMap<&str, Session> = FxHashMap::default();
    let mut merged: Vec<Merged> = Vec::new();
    let mut known: FxHashMap<Vec<Vec<String>>, usize> = FxHashMap::default();
    let mut rolled_back = 0;
    let mut finish = |statements: Vec<(String, u32)>| {
        if !statements.is_empty() {
            merge(statements, &mut merged, &mut known);
        }
    };
    for entry in entries {
        let session = sessions.entry(&entry.session).or_default();
        let words: Vec<String> = entry
            .sql
            .split(|c: char| c.is_whitespace() || c == ';')
            .filter(|word| !word.is_empty())
            .take(4)
            .map(str::to_ascii_lowercase)
            .collect();
        let first = words.first().map_or("", String::as_str);
        let second = words.get(1).map_or("", String::as_str);
        match (first, second) {
            ("begin", _) | ("start", "transaction") => {
                finish(std::mem::take(&mut session.open));
                session.begun = true;
            }
            ("commit" | "end", _) => {
                finish(std::mem::take(&mut session.open));
                session.begun = false;
            }
            ("rollback", "to") => {}
            ("rollback" | "abort", _) => {
                rolled_back += u64::from(!session.open.is_empty());
                session.open.clear();
                session.begun = false;
            }
            ("set", _) if second.starts_with("autocommit") => {
                session.autocommit_off = entry.sql.trim_end_matches([' ', ';']).ends_with('0');
            }
            ("select" | "insert" | "update" | "delete" | "replace" | "with" | "merge", _) => {
                session.open.push((entry.sql.clone(), entry.line));
                if !session.begun && !session.autocommit_off {
                    finish(std::mem::take(&mut session.open));
                }
            }
            _ => {}
        }
    }
    // What a session left open at the end of the log may go on: it is not a transaction yet.
    let mut shapes: Vec<Shape> = merged.into_iter().map(shape).collect();
    shapes.sort_by(|a, b| b.count.cmp(&a.count).then(a.line.cmp(&b.line)));
    Grouped {
        shapes,
        rolled_back,
    }
}

fn merge(
    statements: Vec<(String, u32)>,
    merged: &mut Vec<Merged>,
    known: &mut FxHashMap<Vec<Vec<String>>, usize>,
) {
    let mut pieces = Vec::new();
    let mut lines = Vec::new();
    let mut literals: Vec<Literal> = Vec::new();
    for (sql, line) in statements {
        let taken = take(sql.trim().trim_end_matches(';'));
        // Blanks do not tell shapes apart.
        let squeezed = taken.pieces.iter().map(|piece| squeeze(piece));
        pieces.push(squeezed.collect::<Vec<String>>());
        literals.extend(taken.literals);
        lines.push(line);
    }
    let same_as = partition(&literals);
    match known.get(&pieces) {
        None => {
            known.insert(pieces.clone(), merged.len());
            merged.push(Merged {
                pieces,
                lines,
                same_as,
                types: literals.iter().map(|literal| literal.ty.ty()).collect(),
                count: 1,
            });
        }
        Some(at) => {
            let found = &mut merged[*at];
            found.count += 1;
            refine(&mut found.same_as, &same_as);
            for (ty, literal) in found.types.iter_mut().zip(&literals) {
                // 5 one time and 5.5 another is a real.
                if *ty == Type::Integer && literal.ty.ty() == Type::Real {
                    *ty = Type::Real;
                }
            }
        }
    }
}

fn squeeze(piece: &str) -> String {
    let mut out = String::new();
    for c in piece.chars() {
        match c.is_whitespace() {
            true if out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(c),
        }
    }
    out
}

/// For each literal, the first place with an equal one.
fn partition(literals: &[Literal]) -> Vec<usize> {
    let mut first: FxHashMap<&Literal, usize> = FxHashMap::default();
    let places = literals.iter().enumerate();
    places
        .map(|(at, literal)| *first.entry(literal).or_insert(at))
        .collect()
}

/// Two places stay together only if both say so.
fn refine(known: &mut [usize], new: &[usize]) {
    let mut first: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    for (at, (known, new)) in known.iter_mut().zip(new).enumerate() {
        *known = *first.entry((*known, *new)).or_insert(at);
    }
}

fn shape(merged: Merged) -> Shape {
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    let mut types = Vec::new();
    let mut statements = Vec::new();
    let mut at = 0;
    for (pieces, line) in merged.pieces.into_iter().zip(&merged.lines) {
        let mut sql = String::new();
        for (index, piece) in pieces.iter().enumerate() {
            sql.push_str(piece);
            if index + 1 == pieces.len() {
                break;
            }
            let place = merged.same_as.get(at).copied().unwrap_or(at);
            let number = *numbers.entry(place).or_insert_with(|| {
                types.push(merged.types.get(place).copied().unwrap_or(Type::Other));
                types.len()
            });
            sql.push_str(&format!("${number}"));
            at += 1;
        }
        statements.push(ShapeStatement { sql, line: *line });
    }
    Shape {
        statements,
        types,
        count: merged.count,
        line: merged.lines.first().copied().unwrap_or(1),
    }
}
