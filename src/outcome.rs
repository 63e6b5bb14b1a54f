//! What a check says of a level, to the program that asked.

use crate::story::{self, Telling};
use checker::{Budget, Options, Strategy};
use history::{Anomaly, History, Level, Verdict};
use std::fmt;
use std::time::{Duration, Instant};

/// How long it may take to find out which weaker levels hold, if nothing else was long.
pub(crate) const WEAKER: Duration = Duration::from_secs(2);

/// The width of explanations.
const WIDTH: usize = 100;

/// Decides whether a history satisfies a level.
///
/// The answer is exact for this history: a violation is no suspicion, and a level that holds has no anomaly that
/// was overlooked. There is no limit of time; [`check_with`] can have one.
///
/// ```
/// use isolde::{check, Level, Recorder};
///
/// let recorder = Recorder::new();
/// let (mut one, mut two) = (recorder.session(), recorder.session());
/// let (a, b) = (one.begin(), two.begin());
/// a.read("x", 0);
/// b.read("x", 0);
/// a.write("x", 1);
/// b.write("x", 2);
/// a.commit();
/// b.commit();
///
/// let outcome = check(&recorder.history(), Level::SnapshotIsolation);
/// assert!(outcome.is_violated());
/// assert!(outcome.to_string().contains("lost-update"));
/// check(&recorder.history(), Level::ReadAtomic).assert();
/// ```
pub fn check(history: &History, level: Level) -> Outcome {
    check_with(history, level, &Options::default())
}

/// Decides whether a history satisfies a level, with [`checker::Options`]: another initial value than 0, what is
/// assumed of each key, and a budget.
///
/// ```
/// use isolde::{check_with, checker, history::Initial, Level, Recorder};
///
/// let recorder = Recorder::new();
/// let mut session = recorder.session();
/// let txn = session.begin();
/// txn.read("balance", 100); // what the store was filled with before the test
/// txn.commit();
/// let options = checker::Options {
///     initial: Initial::Value(100.into()),
///     ..Default::default()
/// };
/// check_with(&recorder.history(), Level::StrictSerializable, &options).assert();
/// ```
pub fn check_with(history: &History, level: Level, options: &Options<'_>) -> Outcome {
    let verdict = ask(history, &[level], options).remove(0).1;
    let still = match verdict {
        Verdict::Violated(_) => still_held(history, &[level], &[], WEAKER, options),
        _ => Vec::new(),
    };
    let telling = Telling {
        width: WIDTH,
        ..Telling::default()
    };
    let mut text = story::verdict(history, level, &verdict, &telling);
    if !still.is_empty() {
        let names: Vec<&str> = still.iter().map(|level| level.name()).collect();
        text.push_str(&format!("  still holds: {}\n", names.join(", ")));
    }
    Outcome {
        level,
        verdict,
        still,
        text,
    }
}

/// The strongest levels that a history satisfies; none of them implies another. Those of real time are among them
/// only if the history has times, as every recorded one has.
///
/// ```
/// use isolde::{strongest, Level, Recorder};
///
/// let recorder = Recorder::new();
/// assert_eq!(strongest(&recorder.history()), [Level::StrongSessionSerializable]);
/// ```
pub fn strongest(history: &History) -> Vec<Level> {
    let asked: Vec<Level> = levels_worth_asking(history).collect();
    held(ask(history, &asked, &Options::default()), &[])
}

/// All levels; without times, those of real time say no more than those of sessions.
pub(crate) fn levels_worth_asking(history: &History) -> impl Iterator<Item = Level> {
    let of_real_time = [Level::StrongSnapshotIsolation, Level::StrictSerializable];
    let has_times = history.has_intervals();
    Level::all().filter(move |level| has_times || !of_real_time.contains(level))
}

/// The strongest levels that hold though others are violated, as far as can be told in this time; some are known to.
pub(crate) fn still_held(
    history: &History,
    violated: &[Level],
    known: &[Level],
    time: Duration,
    options: &Options<'_>,
) -> Vec<Level> {
    let possible = |level: &Level| {
        let is_violated = violated.iter().any(|&other| level.implies(other));
        !is_violated && !known.iter().any(|&held| held.implies(*level))
    };
    let weaker = levels_worth_asking(history).filter(possible);
    // Those that never take long come first, so that a large history has an answer, too.
    let is_quick = |level: &Level| Level::WEAK.contains(level);
    let (quick, slow): (Vec<Level>, Vec<Level>) = weaker.partition(is_quick);
    let started = Instant::now();
    let probe = || {
        let late = started.elapsed() >= time;
        (options.budget.probe)().or_else(|| late.then(|| "enough".to_string()))
    };
    let budget = Budget {
        probe: &probe,
        ..options.budget
    };
    let options = Options {
        initial: options.initial.clone(),
        keys: options.keys,
        budget,
        strategy: Strategy {
            explain: false,
            ..options.strategy
        },
        ..Options::default()
    };
    let mut answers = ask(history, &quick, &options);
    if !slow.is_empty() && probe().is_none() {
        answers.extend(ask(history, &slow, &options));
    }
    held(answers, known)
}

fn ask(history: &History, levels: &[Level], options: &Options<'_>) -> Vec<(Level, Verdict)> {
    let answers = checker::check(history, levels, options).into_iter();
    answers
        .map(|answer| (answer.result.level, answer.result.verdict))
        .collect()
}

/// The strongest of the levels that hold by these answers, or are known to.
fn held(answers: Vec<(Level, Verdict)>, known: &[Level]) -> Vec<Level> {
    let held = answers
        .into_iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Holds(_)));
    let all = held.map(|(level, _)| level).chain(known.iter().copied());
    Level::strongest(&all.collect::<Vec<_>>())
}

/// The answer about one level. It shows itself ([`Display`](fmt::Display)) in words: what is violated, by which
/// anomaly, why that cannot be, the transactions in it, and which levels hold nevertheless.
#[derive(Clone, Debug)]
#[must_use = "an outcome that nobody looks at asserts nothing"]
pub struct Outcome {
    level: Level,
    verdict: Verdict,
    still: Vec<Level>,
    text: String,
}

impl Outcome {
    /// The level that was asked about.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether the level holds.
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Holds(_))
    }

    /// Whether the level is violated. Not the opposite of [`holds`](Outcome::holds): a limit may leave it unknown.
    pub fn is_violated(&self) -> bool {
        matches!(self.verdict, Verdict::Violated(_))
    }

    /// The anomalies found, a smallest instance of each kind; none unless the level is violated.
    pub fn anomalies(&self) -> &[Anomaly] {
        match &self.verdict {
            Verdict::Violated(anomalies) => anomalies,
            _ => &[],
        }
    }

    /// The verdict with its evidence, which [`history::certify()`] re-checks.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Where the level is violated: the strongest levels that hold nevertheless, as far as two seconds tell.
    pub fn still_held(&self) -> &[Level] {
        &self.still
    }

    /// Passes if the level holds.
    ///
    /// # Panics
    /// If it is violated, with the explanation; and if it is unknown, with what left it so.
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.holds(), "{self}");
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}
