//! A found anomaly becomes a script of steps, which is run again to confirm it.
//!
//! The smallest part of the recording that still violates the level says which transactions it takes and
//! what each does. When they did it is not recorded, so orders are tried until one shows the violation
//! again; that order is the script, and is then run as often as asked.

use super::drive::Driven;
use super::judge::Judged;
use super::sql::action_of;
use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Progress;
use checker::{Checked, Options};
use history::format::jsonl;
use history::{History, Level, Status, Verdict};
use std::fmt::Write;
use std::time::{Duration, Instant};
use workload::driver::{Answer, Database};
use workload::replay::{Came, Move, Replayed, Script, interleave, replay};
use workload::schema::Schema;

/// How many orders to try, and for how long.
const ATTEMPTS_MAX: u32 = 300;
const SEARCH_TIME: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(3);

/// More clients than this make too many orders.
const CLIENTS_MAX: usize = 8;

/// What came of the search for a script.
pub enum Confirmation {
    /// Nothing is violated.
    Nothing,
    /// The violation did not show again.
    NotAgain(String),
    /// A script, how often it was run, and how often it showed the violation.
    Script {
        level: Level,
        text: String,
        shown: u32,
        times: u32,
    },
}

/// Looks for a script and runs it `times` times.
pub fn confirm(
    driven: &Driven,
    judged: &Judged,
    times: u32,
    seed: u64,
    progress: &Progress,
) -> Result<Confirmation, Failure> {
    let Some(answer) = to_confirm(judged) else {
        return Ok(Confirmation::Nothing);
    };
    let level = answer.result.level;
    let options = Options::default();
    let Some(part) = checker::shrink(&judged.loaded.history, &answer.result, &options) else {
        return Ok(Confirmation::NotAgain(
            "no small part violates it".to_string(),
        ));
    };
    let Some(clients) = clients_of(&driven.schema, &part.history) else {
        return Ok(Confirmation::NotAgain(format!(
            "it takes {} transactions, too many for a script",
            part.history.txn_count()
        )));
    };
    let stage = Stage {
        database: driven.database.as_ref(),
        schema: small(&driven.schema, &clients),
        level,
    };
    let found = stage.search(&clients, times, seed, progress);
    stage.clean()?;
    Ok(match found? {
        Some((shown, text)) => Confirmation::Script {
            level,
            text,
            shown,
            times,
        },
        None => Confirmation::NotAgain(format!(
            "no order tried of its {} transactions shows it again",
            part.history.txn_count()
        )),
    })
}

/// The violation to confirm: of what the database was held to, else of a weakest level.
fn to_confirm(judged: &Judged) -> Option<&Checked> {
    let violated = |answer: &&Checked| matches!(answer.result.verdict, Verdict::Violated(_));
    let promised = judged.promised().find(violated);
    promised.or_else(|| {
        let weakest = judged.report().weakest_violated().first()?.result.level;
        judged
            .answers
            .iter()
            .find(|answer| answer.result.level == weakest)
    })
}

/// What each session of the part does; nothing if there are too many, or if some are no workload's.
fn clients_of(schema: &Schema, part: &History) -> Option<Vec<Vec<Move>>> {
    let mut clients = Vec::new();
    for session in part.sessions() {
        let mut moves = Vec::new();
        for txn in part.session_txns(session) {
            let txn = history::TxnId(txn);
            moves.push(Move::Begin);
            for (_, op) in part.txn_ops(txn) {
                moves.push(Move::Act(action_of(schema, part, op)?));
            }
            moves.push(match part.status(txn) {
                Status::Aborted => Move::Rollback,
                Status::Committed | Status::Indeterminate => Move::Commit,
            });
        }
        if !moves.is_empty() {
            clients.push(moves);
        }
    }
    (clients.len() <= CLIENTS_MAX).then_some(clients)
}

/// The schema with no more rows than the clients need.
fn small(schema: &Schema, clients: &[Vec<Move>]) -> Schema {
    let mut schema = schema.clone();
    for (place, table) in schema.tables.iter_mut().enumerate() {
        let rows = clients.iter().flatten().filter_map(|next| match next {
            Move::Act(action) => Some(action.cell()),
            _ => None,
        });
        let rows = rows.filter(|cell| usize::from(cell.table) == place);
        let needed = rows.map(|cell| cell.row + 1).max().unwrap_or(0);
        table.rows = table.rows.min(needed.max(0) as u64);
    }
    schema
}

/// Where scripts are run.
struct Stage<'a> {
    database: &'a dyn Database,
    schema: Schema,
    level: Level,
}

impl Stage<'_> {
    /// Runs a script on fresh tables; whether it shows the violation.
    fn run(&self, script: &Script) -> Result<(bool, Replayed), Failure> {
        let failed = |error: workload::driver::Error| Failure::with("replay", error);
        self.database.prepare(&self.schema).map_err(failed)?;
        let done = replay(self.database, &self.schema, script, PATIENCE).map_err(failed)?;
        let read = jsonl::read(done.lines.as_bytes(), &mut Vec::new());
        let history = read.map_err(|error| Failure(format!("replay: {error}")))?;
        let answers = checker::check(&history, &[self.level], &Options::default());
        let violated = |answer: &Checked| matches!(answer.result.verdict, Verdict::Violated(_));
        Ok((answers.iter().any(violated), done))
    }

    /// The script that shows the violation most often, of the orders tried: how often it did, and its text.
    /// What depends on time may show once and not again, so the search goes on after such an order.
    fn search(
        &self,
        clients: &[Vec<Move>],
        times: u32,
        seed: u64,
        progress: &Progress,
    ) -> Result<Option<(u32, String)>, Failure> {
        let began = Instant::now();
        let mut best: Option<(u32, String)> = None;
        for attempt in 0..ATTEMPTS_MAX {
            if began.elapsed() > SEARCH_TIME || interrupt::pressed() {
                break;
            }
            progress.stage(&format!("looking for a script, order {attempt}"));
            let script = interleave(clients, self.database.node_count(), attempt, seed);
            if !self.run(&script)?.0 {
                continue;
            }
            let smaller = self.without_needless(script.clone(), clients.len())?;
            for script in [smaller, script] {
                let (shown, replayed) = self.count(&script, times, progress)?;
                if best.as_ref().is_none_or(|(most, _)| shown > *most) {
                    best = Some((shown, self.text(&script, &replayed)));
                }
                if 2 * shown >= times {
                    return Ok(best);
                }
            }
        }
        Ok(best)
    }

    /// How often a script shows the violation, and a run that did, or else the last.
    fn count(
        &self,
        script: &Script,
        times: u32,
        progress: &Progress,
    ) -> Result<(u32, Replayed), Failure> {
        let mut shown = 0;
        let mut seen = Replayed::default();
        for count in 0..times {
            progress.stage(&format!("replaying, {count} of {times}"));
            let (is_shown, replayed) = self.run(script)?;
            if is_shown || shown == 0 {
                seen = replayed;
            }
            shown += u32::from(is_shown);
        }
        Ok((shown, seen))
    }

    /// The script without the clients that the violation does not need.
    fn without_needless(&self, mut script: Script, clients: usize) -> Result<Script, Failure> {
        for client in 0..clients {
            let smaller = script.without(client);
            if self.run(&smaller)?.0 {
                script = smaller;
            }
        }
        Ok(script)
    }

    fn clean(&self) -> Result<(), Failure> {
        let cleaned = self.database.clean(&self.schema);
        cleaned.map_err(|error| Failure::with("replay", error))
    }

    /// The script as a table: who, what, and what came of it.
    fn text(&self, script: &Script, replayed: &Replayed) -> String {
        let [begin, commit, rollback] = self.database.frame();
        let mut out = String::new();
        for (place, (client, next)) in script.moves.iter().enumerate() {
            let statement = match next {
                Move::Begin => begin.clone(),
                Move::Act(action) => self.database.statement(&self.schema, action),
                Move::Commit => commit.clone(),
                Move::Rollback => rollback.clone(),
            };
            let came = match &replayed.came[place] {
                Some(Came::Done(answer)) => of_answer(answer),
                Some(Came::Failed(error)) => format!("-- {error}"),
                Some(Came::Skipped) => "-- not tried".to_string(),
                None => "-- no answer".to_string(),
            };
            let wait = if replayed.waited[place] {
                " (waits)"
            } else {
                ""
            };
            let node = match self.database.node_count() {
                1 => String::new(),
                _ => format!(" node {}", script.nodes[*client]),
            };
            let name = letter(*client);
            let line = format!(
                "  {:>3}  {name}{node}  {statement}   {came}{wait}",
                place + 1
            );
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }
}

fn of_answer(answer: &Answer) -> String {
    match answer {
        Answer::Done | Answer::Later => String::new(),
        Answer::Value(Some(value), _) => format!("-- {value}"),
        Answer::Value(None, _) => "-- nothing".to_string(),
        Answer::Values(values) => format!("-- {values:?}"),
        Answer::Rows(rows) => format!("-- {rows:?}"),
    }
}

/// A, B, C and so on.
fn letter(client: usize) -> char {
    char::from(b'A' + (client % 26) as u8)
}
