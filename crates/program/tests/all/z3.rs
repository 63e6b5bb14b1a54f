//! What z3 says of the candidates of an analysis, against our own solver.

use crate::installed::install;
use program::analysis::{Candidate, Infeasible, Options, Watch, analyse_with, constraints_of};
use program::{EdgeKind, Program, Scenario, StoreLevel, read_sql_file};
use std::io::Write;
use std::process::{Command, Stdio};

/// Milliseconds that z3 gets for one candidate.
const PATIENCE: &str = "-t:20000";

/// Candidates of one analysis, as a script for z3, with our answers.
pub struct Candidates<'a> {
    program: &'a Program,
    /// How many are kept at most.
    most: usize,
    /// Of so many candidates one is kept.
    each: usize,
    met: usize,
    script: String,
    pub ours: Vec<Option<bool>>,
}

impl<'a> Candidates<'a> {
    pub fn new(program: &'a Program, most: usize, each: usize) -> Candidates<'a> {
        Candidates {
            program,
            most,
            each,
            met: 0,
            script: String::new(),
            ours: Vec::new(),
        }
    }

    /// Asks z3 and compares; how many were compared, or nothing where there is no z3.
    pub fn compare(&self, name: &str) -> Option<usize> {
        let theirs = ask(&self.script)?;
        assert_eq!(theirs.len(), self.ours.len(), "{name}");
        let mut compared = 0;
        for (number, pair) in self.ours.iter().zip(&theirs).enumerate() {
            if let (Some(ours), Some(theirs)) = pair {
                assert_eq!(ours, theirs, "{name}: candidate {number}");
                compared += 1;
            }
        }
        Some(compared)
    }
}

impl Watch for Candidates<'_> {
    fn wants_candidates(&self) -> bool {
        true
    }

    fn is_satisfied(&self) -> bool {
        self.ours.len() >= self.most
    }

    fn candidate(&mut self, candidate: &Candidate, answer: &Result<Scenario, Infeasible>) {
        self.met += 1;
        if self.is_satisfied() || !self.met.is_multiple_of(self.each) {
            return;
        }
        let Ok(constraints) = constraints_of(self.program, candidate) else {
            return;
        };
        self.script.push_str("(reset)\n");
        self.script.push_str(&constraints.to_smt());
        self.ours.push(match answer {
            Ok(_) => Some(true),
            Err(Infeasible::Contradiction) => Some(false),
            Err(_) => None,
        });
    }
}

/// The answers of z3, in order; none where it gave up. Nothing where there is no z3.
fn ask(script: &str) -> Option<Vec<Option<bool>>> {
    let start = || {
        Command::new("z3")
            .args([PATIENCE, "-in"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    };
    let started = start().or_else(|error| match install(&["z3"]) {
        true => start(),
        false => Err(error),
    });
    let Ok(mut child) = started else {
        println!("skipped: z3 is not installed, and could not be");
        return None;
    };
    let mut input = child.stdin.take()?;
    let script = script.to_string();
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = |line: &str| match line {
        "sat" => Some(true),
        "unsat" => Some(false),
        "unknown" | "timeout" => None,
        other => panic!("z3 says {other}"),
    };
    Some(text.lines().map(answer).collect())
}

fn read(name: &str) -> Program {
    let path = format!("{}/../../programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read_sql_file(&text, name, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Up to length 3 the first candidates, up to length 4 some of the first.
#[test]
fn z3_decides_the_same_on_every_benchmark() {
    // Of every so many candidates of length 4 one: some programs have few.
    let names = [
        ("seats-ported", 7),
        ("smallbank-ported", 7),
        ("tatp", 1),
        ("tpcc-ported", 7),
        ("twitter-ported", 1),
        ("voter", 1),
        ("wikipedia-ported", 7),
    ];
    for (name, every) in names {
        let program = read(name);
        let mut total = 0;
        for (length, most, each) in [(3, 40, 1), (4, 25, every)] {
            let mut candidates = Candidates::new(&program, most, each);
            let options = Options {
                levels: vec![StoreLevel::Eventual],
                kinds: vec![
                    EdgeKind::WriteRead,
                    EdgeKind::ReadWrite,
                    EdgeKind::WriteWrite,
                ],
                external: true,
                length,
                untried_max: 1,
                ..Options::default()
            };
            analyse_with(&program, &options, &mut candidates);
            let kept = candidates.ours.len();
            let Some(compared) = candidates.compare(name) else {
                return;
            };
            println!("{name}, length {length}: {compared} of {kept} compared");
            total += compared;
        }
        // TATP has one cycle in all, of length 4; the others have more than nine.
        assert!(total >= 1, "{name}: nothing compared");
    }
}
