//! `isolde elle-cli`: the interface of elle-cli, so that scripts made for it go on working.
//!
//! One line a file: its name, a tab, and `true`, `false` or `unknown`. Exit code 0 unless a file is
//! invalid (1), an option is wrong (1) or a file cannot be read (255, and no file after it is
//! looked at). Everything else goes to standard error. Where elle-cli has a checker of its own that
//! judges less than a level does, so does this: see [`judge`].

use crate::args::ElleCliArgs;
use crate::commands::check::check_history;
use crate::commands::elle_calls;
use crate::commands::elle_models::{Question, jepsen_test, never_found, questions, stand_ins};
use crate::exit::Failure;
use crate::input::{self, LoadError};
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Report};
use checker::{BankOptions, Checked};
use history::format::{Loaded, bank};
use history::{History, Initial, Level, Op, OpId, OpKind, Status, TxnId, ValueCode, Verdict};
use std::collections::HashSet;
use std::process::ExitCode;

/// What elle-cli exits with if it cannot do its work.
const FAILED: u8 = 255;

/// Checks the files of a command line in elle-cli's manner.
pub fn run(arguments: Vec<String>) -> ExitCode {
    let args = match ElleCliArgs::of(arguments) {
        Ok(args) => args,
        Err((text, is_error)) => return told(&text, is_error),
    };
    let Some(model) = &args.model else {
        return told(&ElleCliArgs::usage(), false);
    };
    let questions = match questions(model, &args.consistency_models, &args.anomalies) {
        Ok(questions) => questions,
        Err(problem) => return told(&format!("{problem}\n"), true),
    };
    note_ignored(&args);
    let notes = stand_ins(&args.consistency_models).into_iter();
    for note in notes.chain(never_found(&args.anomalies)) {
        output::note(&note);
    }
    let mut is_any_invalid = false;
    for file in &args.files {
        match judge(&args, model, &questions, file) {
            Ok(answer) => is_any_invalid |= answer == Some(false),
            Err(failure) => {
                output::error(&failure.0);
                return ExitCode::from(FAILED);
            }
        }
    }
    ExitCode::from(u8::from(is_any_invalid))
}

/// Prints a page or a complaint; elle-cli prints both to standard output.
fn told(text: &str, is_error: bool) -> ExitCode {
    match output::print_plain(text) {
        Ok(()) => ExitCode::from(u8::from(is_error)),
        Err(_) => ExitCode::from(FAILED),
    }
}

fn note_ignored(args: &ElleCliArgs) {
    let plots =
        args.plot_format.is_some() || args.plot_timeout.is_some() || args.max_plot_bytes.is_some();
    if plots {
        output::note("nothing is plotted: the options for plots have no effect");
    }
    if args.cycle_search_timeout.is_some() {
        output::note("cycles are searched to the end: --cycle-search-timeout has no effect");
    }
}

/// Judges one file and prints its line. `None` is unknown.
fn judge(
    args: &ElleCliArgs,
    model: &str,
    questions: &[Question],
    file: &str,
) -> Result<Option<bool>, Failure> {
    if model == "bank" {
        return judge_bank(args, file);
    }
    if elle_calls::is_of_calls(model) {
        return elle_calls::judge(args, model, file);
    }
    let limits = Limits::new(None, None);
    let progress = Progress::start();
    let loaded = match input::load(file, args.format, &limits, &progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => return Err(Failure::with(file, reason)),
    };
    let loaded = match model {
        "rw-register" => forget_thin_air(file, loaded)?,
        _ => loaded,
    };
    let mut levels: Vec<Level> = questions.iter().map(|question| question.level).collect();
    levels.sort();
    levels.dedup();
    let answers = match levels.is_empty() {
        true => Vec::new(),
        false => check_history(
            &loaded.history,
            &levels,
            &Initial::NilOnly,
            &limits,
            &progress,
        ),
    };
    progress.finish();
    for text in &loaded.notes {
        output::note(&format!("{file}: {text}"));
    }
    let mut valid = judge_small(model, file, &loaded.history);
    for question in questions {
        valid = worse(valid, question.answer(&answers));
    }
    print_answer(args, file, valid, &loaded, &answers)?;
    Ok(valid)
}

/// Asks the small check that a model is, if it is one, and notes what it found.
fn judge_small(model: &str, file: &str, history: &History) -> Option<bool> {
    let (valid, reason) = match jepsen_test(model) {
        Some(test) => checker::check_jepsen_test(history, test),
        None if model == "long-fork" => match checker::find_long_fork(history) {
            None => (Some(true), String::new()),
            Some(fork) => {
                let [one, other] = fork.map(|txn| history.txn_name(txn));
                let reason = format!("long fork: {one} and {other} saw writes in opposite orders");
                (Some(false), reason)
            }
        },
        None => (Some(true), String::new()),
    };
    if valid != Some(true) {
        output::note(&format!("{file}: {reason}"));
    }
    valid
}

/// Of two answers: invalid outweighs unknown, that valid.
fn worse(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (None, _) | (_, None) => None,
        _ => Some(true),
    }
}

fn word(valid: Option<bool>) -> &'static str {
    match valid {
        Some(true) => "true",
        Some(false) => "false",
        None => "unknown",
    }
}

fn print_answer(
    args: &ElleCliArgs,
    file: &str,
    valid: Option<bool>,
    loaded: &Loaded,
    answers: &[Checked],
) -> Result<(), Failure> {
    if let Some(directory) = &args.directory {
        write_explanations(directory, answers)?;
    }
    for answer in answers {
        if let Verdict::Unknown(reason) = &answer.result.verdict {
            output::note(&format!(
                "{file}: {} is unknown: {reason}",
                answer.result.level
            ));
        }
    }
    if args.verbose {
        let report = Report::new(file, loaded, answers, false);
        return output::print_plain(&report::json::render(&report));
    }
    output::print_plain(&format!("{file}\t{}\n", word(valid)))
}

/// Writes one text a kind of anomaly.
fn write_explanations(directory: &str, answers: &[Checked]) -> Result<(), Failure> {
    let failure = |error: std::io::Error| Failure::with(directory, error);
    std::fs::create_dir_all(directory).map_err(failure)?;
    let mut shown = HashSet::new();
    for answer in answers {
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            continue;
        };
        for anomaly in anomalies {
            if !shown.insert(anomaly.kind) {
                continue;
            }
            let name = report::edn::type_name(anomaly.kind);
            let path = std::path::Path::new(directory).join(format!("{name}.txt"));
            let row = anomaly.kind.row();
            let text = format!(
                "{} [{}]\n\n{}\n",
                row.meaning, row.label, anomaly.explanation
            );
            std::fs::write(path, text).map_err(failure)?;
        }
    }
    Ok(())
}

fn judge_bank(args: &ElleCliArgs, file: &str) -> Result<Option<bool>, Failure> {
    let mut notes = Vec::new();
    let bank = input::with_bytes(file, |source| bank::read(source, args.format, &mut notes))?;
    for text in &notes {
        output::note(&format!("{file}: {text}"));
    }
    let options = BankOptions {
        total: args.total_amount,
        allow_negative: args.allow_negative_balances,
    };
    let errors = checker::check_bank(&bank, &options);
    if let Some((index, error)) = errors.first() {
        let count = errors.len();
        output::note(&format!(
            "{file}: {count} of {} reads are wrong, the first is operation {index}: {error}",
            bank.reads.len()
        ));
    }
    let valid = errors.is_empty();
    let line = match args.verbose {
        true => {
            let list = errors.iter().map(|(index, error)| {
                serde_json::json!({"index": index, "type": error.name(), "text": error.to_string()})
            });
            let errors: Vec<serde_json::Value> = list.collect();
            let reads = bank.reads.len();
            serde_json::json!({"file": file, "valid?": valid, "read-count": reads, "errors": errors})
                .to_string()
        }
        false => format!("{file}\t{valid}"),
    };
    output::print_plain(&format!("{line}\n"))?;
    Ok(Some(valid))
}

/// Elle does not look at reads of registers that nobody wrote: they say nothing to it, unless they
/// contradict what the same transaction did. They are made reads of unknown result, and named.
fn forget_thin_air(file: &str, loaded: Loaded) -> Result<Loaded, Failure> {
    let history = &loaded.history;
    let found = thin_air(history);
    let Some(&first) = found.first() else {
        return Ok(loaded);
    };
    let count = found.len();
    output::note(&format!(
        "{file}: {count} reads returned a value that nobody wrote, such as {}; Elle does not look \
         at these, `isolde check` does",
        history.op_text(first)
    ));
    let rebuilt = without(history, &found).map_err(|error| Failure::with(file, error))?;
    Ok(Loaded {
        history: rebuilt,
        ..loaded
    })
}

/// The reads of committed transactions that returned what nobody wrote, where nothing that the
/// transaction did to the key right before or after contradicts it. In ascending order.
fn thin_air(history: &History) -> Vec<OpId> {
    let ops = history.ops();
    let written: HashSet<_> = (0..ops.len())
        .filter(|&op| ops.kinds[op] == OpKind::Write)
        .map(|op| (ops.keys[op], ops.values[op]))
        .collect();
    let is_thin_air = |op: &Op| {
        op.kind == OpKind::Read
            && op.value != ValueCode::NIL
            && op.value != ValueCode::UNKNOWN
            && !written.contains(&(op.key, op.value))
    };
    let mut found = Vec::new();
    let committed = |txn: &TxnId| history.status(*txn) == Status::Committed;
    for txn in history.txn_ids().filter(committed) {
        for (id, op) in history.txn_ops(txn).filter(|(_, op)| is_thin_air(op)) {
            let of_key = || {
                history
                    .txn_ops(txn)
                    .filter(|(_, other)| other.key == op.key)
            };
            let before = of_key().take_while(|&(other, _)| other < id).last();
            let after = of_key().find(|&(other, _)| other > id);
            let after = after.filter(|(_, next)| next.kind == OpKind::Read);
            let mut near = before.into_iter().chain(after);
            if near.all(|(_, other)| other.value == op.value) {
                found.push(id);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The history with the results of some reads forgotten.
fn without(history: &History, forgotten: &[OpId]) -> Result<History, history::TooLarge> {
    let mut builder = history::Builder::new();
    for session in history.sessions() {
        let id = builder.session(history.session_label(session));
        for txn in history.session_txns(session).map(TxnId) {
            let row = history.txn(txn);
            let mut ops = Vec::new();
            for (place, mut op) in history.txn_ops(txn) {
                let is_forgotten = forgotten.binary_search(&place).is_ok();
                op.key = builder.key(&history.key_name(op.key));
                op.value = match op.value {
                    _ if is_forgotten => ValueCode::UNKNOWN,
                    ValueCode::UNKNOWN => ValueCode::UNKNOWN,
                    code if op.kind.reads_list() => {
                        let elements = history.list(code).iter();
                        let codes: Vec<_> = elements
                            .map(|&e| builder.value(&history.value(e)))
                            .collect();
                        match codes.is_empty() {
                            true => ValueCode::NIL,
                            false => builder.lists.push(&codes),
                        }
                    }
                    code => builder.value(&history.value(code)),
                };
                ops.push(op);
            }
            builder.push_txn(id, row.label, row.status, history.interval(txn), &ops)?;
        }
    }
    Ok(builder.finish())
}
