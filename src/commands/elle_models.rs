//! What the names of elle-cli's command line ask of the checker: models, consistency models and
//! anomalies, as levels.

use checker::{Checked, JepsenTest};
use history::{AnomalyKind, Level, Verdict};

/// A level to check, and what of it counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The level.
    pub level: Level,
    /// The kinds of anomaly that are asked about; all that break the level if there are none.
    pub kinds: &'static [AnomalyKind],
    /// Others that break the level may hide these: then the answer is unknown.
    pub may_hide: bool,
}

impl Question {
    fn of(level: Level) -> Question {
        Question {
            level,
            kinds: &[],
            may_hide: false,
        }
    }

    /// The answer among those of the checker; `None` is unknown.
    pub fn answer(&self, answers: &[Checked]) -> Option<bool> {
        let of_level = |answer: &&Checked| answer.result.level == self.level;
        match &answers.iter().find(of_level)?.result.verdict {
            Verdict::Holds(_) => Some(true),
            Verdict::Unknown(_) => None,
            Verdict::Violated(anomalies) => {
                let counts =
                    |kind: AnomalyKind| self.kinds.is_empty() || self.kinds.contains(&kind);
                match anomalies.iter().any(|anomaly| counts(anomaly.kind)) {
                    true => Some(false),
                    false => (!self.may_hide).then_some(true),
                }
            }
        }
    }
}

/// The small check of Jepsen's that a model is.
pub fn jepsen_test(model: &str) -> Option<JepsenTest> {
    match model {
        "set" => Some(JepsenTest::Set),
        "set-full" => Some(JepsenTest::SetFull),
        "comments" => Some(JepsenTest::Comments),
        "counter" => Some(JepsenTest::Counter),
        _ => None,
    }
}

/// What a model asks, given the consistency models and anomalies that were named; a sentence if
/// that cannot be answered.
pub fn questions(
    model: &str,
    consistency_models: &[String],
    anomalies: &[String],
) -> Result<Vec<Question>, String> {
    match model {
        "list-append" | "rw-register" => {
            let models = consistency_models.iter().filter(|name| !name.is_empty());
            let levels = models.map(|name| level(name).map(Question::of));
            let is_asked = |name: &&String| !name.is_empty() && !is_never_found(name);
            let anomalies = anomalies.iter().filter(is_asked);
            let anomalies = anomalies.map(|name| anomaly(name, model == "list-append"));
            levels.chain(anomalies).collect()
        }
        "bank" | "long-fork" | "set" | "set-full" | "counter" | "comments" | "cas-register"
        | "mutex" | "sequential" => Ok(Vec::new()),
        _ => Err(format!(
            "Must be one of bank, cas-register, comments, counter, list-append, long-fork, mutex, \
             rw-register, sequential, set, set-full; found {model}"
        )),
    }
}

/// Models that Elle asks no more of than of a weaker one, since it finds nothing of what they forbid
/// besides.
const STAND_INS: [(&str, &str); 8] = [
    ("forward-consistent-view", "consistent-view"),
    ("PL-FCV", "consistent-view"),
    ("update-serializable", "consistent-view"),
    ("PL-3U", "consistent-view"),
    ("monotonic-snapshot-read", "read-committed"),
    ("monotonic-view", "read-committed"),
    ("PL-2L", "read-committed"),
    ("monotonic-atomic-view", "read-committed"),
];

fn stand_in(name: &str) -> Option<&'static str> {
    let found = STAND_INS.iter().find(|(model, _)| *model == name);
    found.map(|(_, weaker)| *weaker)
}

/// What is to be said about models that are asked less of than their names say.
pub fn stand_ins(consistency_models: &[String]) -> Vec<String> {
    let named = consistency_models.iter().map(|name| bare(name));
    let weaker = named.filter_map(|name| Some((name, stand_in(name)?)));
    weaker
        .map(|(name, weaker)| {
            format!(
                "{name} is checked as {weaker}: of what it forbids besides, nothing is looked for"
            )
        })
        .collect()
}

/// Whether Elle knows the name of an anomaly, and looks for none such.
fn is_never_found(name: &str) -> bool {
    matches!(bare(name), "GSIa" | "GSIb")
}

/// What is to be said about anomalies that nobody looks for.
pub fn never_found(anomalies: &[String]) -> Vec<String> {
    let names = anomalies.iter().filter(|name| is_never_found(name));
    names
        .map(|name| {
            let name = bare(name);
            format!("{name} is not looked for, as by Elle; snapshot-isolation forbids it")
        })
        .collect()
}

fn bare(name: &str) -> &str {
    name.trim().trim_start_matches(':')
}

/// The level of a consistency model. Histories have no predicates, so repeatable read forbids
/// exactly what serializability does; consistent view (PL-2+) forbids G1 and G-single, as
/// non-monotonic snapshot isolation does.
fn level(name: &str) -> Result<Level, String> {
    let name = stand_in(bare(name)).unwrap_or_else(|| bare(name));
    Ok(match name {
        "conflict-serializable" | "view-serializable" | "PL-3" => Level::Serializable,
        "repeatable-read" | "PL-2.99" => Level::Serializable,
        "consistent-view" | "PL-2+" => Level::NonMonotonicSnapshotIsolation,
        "strong-serializable" | "PL-SS" => Level::StrictSerializable,
        "causal-cerone" => Level::Causal,
        "PL-1" => Level::ReadUncommitted,
        "PL-2" => Level::ReadCommitted,
        "PL-CS" => Level::CursorStability,
        "PL-SI" => Level::SnapshotIsolation,
        // Isolde's aliases mean other levels than Elle's names might.
        _ => Level::all()
            .find(|level| level.name() == name)
            .ok_or_else(|| {
                format!(
                    "the consistency model {name} is not supported\n  hint: `isolde levels` lists \
                 those that are, besides repeatable-read, consistent-view, conflict-serializable, \
                 strong-serializable and causal-cerone"
                )
            })?,
    })
}

/// The weakest level that forbids an anomaly, and the kinds that are the anomaly where the level
/// forbids others, too.
fn anomaly(name: &str, of_lists: bool) -> Result<Question, String> {
    use AnomalyKind::{
        AbortedRead, FutureRead, IntermediateRead, LostUpdate, NonRepeatableRead, NotMyLastWrite,
        NotMyOwnWrite,
    };
    let name = bare(name);
    let question = match of_lists {
        true => cycle(name),
        false => cycle_of_registers(name),
    };
    if let Some(question) = question {
        return Ok(question);
    }
    let kinds: &'static [AnomalyKind] = match name {
        "G1a" => &[AbortedRead],
        "G1b" => &[IntermediateRead],
        "internal" => &[NotMyOwnWrite, NotMyLastWrite, NonRepeatableRead, FutureRead],
        "lost-update" => &[LostUpdate],
        _ => &[],
    };
    let level = match name {
        "G0" => Level::ReadUncommitted,
        "G1a" | "G1b" | "G1c" | "G1" | "dirty-update" | "incompatible-order"
        | "duplicate-elements" => Level::ReadCommitted,
        "internal" => Level::ReadAtomic,
        "lost-update" => Level::UpdateAtomic,
        "G-single" | "G-single-item" => Level::NonMonotonicSnapshotIsolation,
        "G-single-process" => Level::ParallelSnapshotIsolation,
        "G-nonadjacent" => Level::SnapshotIsolation,
        "G-nonadjacent-process" => Level::StrongSessionSnapshotIsolation,
        "G-nonadjacent-realtime" => Level::StrongSnapshotIsolation,
        "G2" | "G2-item" | "write-skew" => Level::Serializable,
        "G2-process" | "G2-item-process" => Level::StrongSessionSerializable,
        "G2-realtime" | "G2-item-realtime" => Level::StrictSerializable,
        _ => {
            return Err(format!(
                "the anomaly {name} is not supported\n  hint: name the consistency model that \
                 forbids it instead"
            ));
        }
    };
    Ok(Question {
        level,
        kinds,
        may_hide: false,
    })
}

/// The same for registers. They show no order of versions, so no G0; cycles of reads and sessions are
/// all found; of those with real time one anomaly of the level is found, which may be another.
fn cycle_of_registers(name: &str) -> Option<Question> {
    use AnomalyKind::{
        CircularFlow, CircularFlowProcess, CircularFlowRealtime, CyclicCausality, GSingle,
        GSingleProcess, GSingleRealtime, LostUpdate,
    };
    let (level, kinds, may_hide): (Level, &'static [AnomalyKind], bool) = match name {
        "G0-process" | "G0-realtime" => (Level::ReadUncommitted, &[], false),
        "G1c-process" => (
            Level::ReadCommitted,
            &[CyclicCausality, CircularFlow, CircularFlowProcess],
            false,
        ),
        "G1c-realtime" => (
            Level::StrictSerializable,
            &[
                CyclicCausality,
                CircularFlow,
                CircularFlowProcess,
                CircularFlowRealtime,
            ],
            true,
        ),
        "G-single-realtime" => (
            Level::StrictSerializable,
            &[GSingle, GSingleProcess, GSingleRealtime, LostUpdate],
            true,
        ),
        _ => return None,
    };
    Some(Question {
        level,
        kinds,
        may_hide,
    })
}

/// Cycles that no level forbids without forbidding others: those of lists are told apart by their
/// names, with those that need less order.
fn cycle(name: &str) -> Option<Question> {
    use AnomalyKind::{
        CircularFlow, CircularFlowProcess, CircularFlowRealtime, DirtyWrite, DirtyWriteProcess,
        DirtyWriteRealtime, GSingle, GSingleProcess, GSingleRealtime, LostUpdate,
    };
    let in_sessions = Level::StrongSessionSerializable;
    let in_time = Level::StrictSerializable;
    let (level, kinds): (Level, &'static [AnomalyKind]) = match name {
        "G0-process" => (in_sessions, &[DirtyWrite, DirtyWriteProcess]),
        "G0-realtime" => (
            in_time,
            &[DirtyWrite, DirtyWriteProcess, DirtyWriteRealtime],
        ),
        "G1c-process" => (
            in_sessions,
            &[
                DirtyWrite,
                DirtyWriteProcess,
                CircularFlow,
                CircularFlowProcess,
            ],
        ),
        "G1c-realtime" => (
            in_time,
            &[
                DirtyWrite,
                DirtyWriteProcess,
                DirtyWriteRealtime,
                CircularFlow,
                CircularFlowProcess,
                CircularFlowRealtime,
            ],
        ),
        "G-single-realtime" => (
            in_time,
            &[GSingle, GSingleProcess, GSingleRealtime, LostUpdate],
        ),
        _ => return None,
    };
    Some(Question {
        level,
        kinds,
        may_hide: false,
    })
}
