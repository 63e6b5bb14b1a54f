//! What `isolde program robust --advice` tells, and with `--replay` what a database makes of it: each
//! counterexample is played as it is, and once more after each piece of advice.

use super::play::Outcome;
use super::stage::{Setup, Stage};
use crate::exit::Failure;
use crate::progress::Progress;
use program::robust::{Counterexample, Level, Repair, Robustness, Safety};
use program::{Program, Scenario};
use serde_json::{Value, json};
use std::fmt::Write;

/// What to do.
enum What<'a> {
    /// Run everything at a level.
    AllAt(Level),
    /// Give each transaction its own level.
    EachAt(&'a [Level]),
    /// Change reads.
    Change(&'a Repair),
}

/// A counterexample played without and with a change.
struct Trial {
    /// The transactions and the level that they are not robust at.
    who: String,
    level: Level,
    before: Outcome,
    after: Outcome,
}

/// A piece of advice.
pub struct Piece<'a> {
    what: What<'a>,
    /// The counterexamples that it is about, and their levels.
    about: Vec<(Level, &'a Counterexample)>,
    trials: Vec<Trial>,
}

/// All that can be done, one of which is enough.
pub fn pieces<'a>(program: &Program, safety: &'a Safety) -> Vec<Piece<'a>> {
    let piece = |what: What<'a>, at: &dyn Fn(Level) -> bool| {
        let found = safety.answers.iter().filter(|(level, _)| at(*level));
        let found = found.filter_map(|(level, answer)| match answer {
            Robustness::NotRobust(found) => Some((*level, found.as_ref())),
            _ => None,
        });
        Piece {
            what,
            about: found.filter(|(_, one)| one.scenario.is_some()).collect(),
            trials: Vec::new(),
        }
    };
    let mut all = vec![piece(What::AllAt(safety.weakest()), &|_| true)];
    let differ = safety.levels.iter().any(|level| *level != safety.levels[0]);
    if differ && safety.levels.len() == program.transactions.len() {
        all.push(piece(What::EachAt(&safety.levels), &|_| true));
    }
    for repair in &safety.repairs {
        if !repair.promotions.is_empty() {
            all.push(piece(What::Change(repair), &|level| level == repair.level));
        }
    }
    all
}

/// Plays what the advice is about on each of the databases.
pub fn played<'a>(
    program: &Program,
    mut pieces: Vec<Piece<'a>>,
    databases: &[String],
) -> Result<Vec<Piece<'a>>, Failure> {
    if databases.iter().any(|name| name == "store") {
        let problem = "advice is played on a database: postgres, mariadb, or a URL; the store in \
                       process does what a scenario says, whatever the locks";
        return Err(Failure(problem.to_string()));
    }
    let instances = pieces.iter().flat_map(|piece| &piece.about);
    let instances = instances.map(|(_, found)| found.instances.len()).max();
    let Some(instances) = instances else {
        return Ok(pieces);
    };
    let progress = Progress::start();
    for name in databases {
        let setup = Setup {
            name,
            isolation: &[],
            java: None,
            instances,
            progress: &progress,
        };
        let mut stage = Stage::open(program, &setup)?;
        progress.stage(&format!("playing what is advised on {name}"));
        for piece in &mut pieces {
            piece.play(program, &mut stage)?;
        }
    }
    progress.finish();
    Ok(pieces)
}

impl Piece<'_> {
    fn play(&mut self, program: &Program, stage: &mut Stage) -> Result<(), Failure> {
        for (level, found) in &self.about {
            let Some(scenario) = &found.scenario else {
                continue;
            };
            let before = stage.play_own(program, scenario)?;
            let after = match &self.what {
                What::AllAt(level) => stage.play_own(program, &at_levels(scenario, |_| *level))?,
                What::EachAt(levels) => {
                    let changed = at_levels(scenario, |transaction| levels[transaction]);
                    stage.play_own(program, &changed)?
                }
                What::Change(repair) => match repair.scenario(found) {
                    Some(changed) => stage.play_own(&repair.program, &changed)?,
                    None => continue,
                },
            };
            let names = found.instances.iter();
            let names = names.map(|one| program.transactions[one.transaction].name.as_str());
            self.trials.push(Trial {
                who: names.collect::<Vec<_>>().join(" / "),
                level: *level,
                before,
                after,
            });
        }
        Ok(())
    }
}

/// The scenario with other levels, by transaction.
fn at_levels(scenario: &Scenario, level: impl Fn(usize) -> Level) -> Scenario {
    let mut changed = scenario.clone();
    for instance in &mut changed.instances {
        instance.level = Some(level(instance.transaction).store());
    }
    changed
}

/// For people.
pub fn text(program: &Program, pieces: &[Piece<'_>]) -> String {
    let mut out = String::from("What to do, one of:\n");
    for piece in pieces {
        match &piece.what {
            What::AllAt(level) => {
                let _ = writeln!(out, "- run everything at {level}");
            }
            What::EachAt(levels) => {
                out.push_str("- give each transaction its own level (enough is):\n");
                for (level, txn) in levels.iter().zip(&program.transactions) {
                    let _ = writeln!(out, "    {:<20} {}", level.to_string(), txn.name);
                }
            }
            What::Change(repair) => {
                let _ = writeln!(out, "- run everything at {}, and change:", repair.level);
                for change in &repair.promotions {
                    let name = &program.transactions[change.transaction].name;
                    let _ = writeln!(out, "    {} in {name}", change.place);
                    let _ = writeln!(out, "      {}", program::shorten(&change.before, 100));
                    let _ = writeln!(out, "      → {}", program::shorten(&change.after, 120));
                }
            }
        }
        for trial in &piece.trials {
            out.push_str(&trial.text());
        }
    }
    out.push_str("Each of these was proved robust in turn.\n");
    out
}

impl Trial {
    fn text(&self) -> String {
        let mark = match self.after.is_manifested() {
            true => "\x1b[31mSTILL THERE\x1b[0m ",
            false => "",
        };
        let (before, after) = (&self.before, &self.after);
        format!(
            "    {mark}{} on {}: {} at {}; then {} at {}\n",
            self.who, before.place, before.verdict, before.level, after.verdict, after.level
        )
    }
}

/// For programs.
pub fn json(program: &Program, safety: &Safety, pieces: &[Piece<'_>]) -> Value {
    let levels = safety.levels.iter().zip(&program.transactions);
    let levels: Vec<Value> = levels
        .map(|(level, txn)| json!({"transaction": txn.name, "level": level.name()}))
        .collect();
    let mut json = json!({
        "all_at": safety.weakest().name(), "each_at": levels, "repairs": [],
    });
    for piece in pieces {
        let played: Vec<Value> = piece.trials.iter().map(Trial::json).collect();
        match &piece.what {
            What::AllAt(_) if played.is_empty() => {}
            What::AllAt(_) => json["all_at_played"] = played.into(),
            What::EachAt(_) if played.is_empty() => {}
            What::EachAt(_) => json["each_at_played"] = played.into(),
            What::Change(repair) => {
                let mut found = repair_json(program, repair);
                if !played.is_empty() {
                    found["played"] = played.into();
                }
                if let Some(repairs) = json["repairs"].as_array_mut() {
                    repairs.push(found);
                }
            }
        }
    }
    json
}

fn repair_json(program: &Program, repair: &Repair) -> Value {
    let changes = repair.promotions.iter().map(|change| {
        json!({
            "transaction": program.transactions[change.transaction].name,
            "place": change.place.to_string(),
            "before": change.before,
            "after": change.after,
        })
    });
    json!({"level": repair.level.name(), "changes": changes.collect::<Vec<_>>()})
}

impl Trial {
    fn json(&self) -> Value {
        json!({
            "transactions": self.who,
            "not_robust_at": self.level.name(),
            "before": self.before.json(),
            "after": self.after.json(),
        })
    }
}
