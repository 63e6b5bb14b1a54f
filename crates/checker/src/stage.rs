//! What a verdict took, stage by stage.

use crate::strong::Effort;
use history::Anomaly;

/// One stage of a check.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What it is called in output.
    pub name: &'static str,
    /// Seconds of wall-clock time.
    pub seconds: f64,
    /// What was counted, each with its name.
    pub counts: Vec<(&'static str, u64)>,
}

/// The stages of a strong level.
pub fn of_effort(effort: &Effort) -> Vec<Stage> {
    let count = |number: usize| number as u64;
    let mut stages = vec![Stage {
        name: "guess",
        seconds: effort.guess_seconds,
        counts: vec![("conflicts", count(effort.conflicts))],
    }];
    let later = [
        ("play", effort.play_seconds),
        ("resolve", effort.resolve_seconds),
        ("likely", effort.likely_seconds),
        ("saturate", effort.saturate_seconds),
        ("prune", effort.prune_seconds),
        ("repair", effort.repair_seconds),
        ("solve", effort.solve_seconds),
    ];
    for (name, seconds) in later.into_iter().filter(|&(_, seconds)| seconds > 0.0) {
        let counts = match name {
            "play" | "resolve" => Vec::new(),
            "likely" => vec![
                ("decided orders", count(effort.likely)),
                ("moves", count(effort.moves)),
            ],
            "saturate" => vec![
                ("implied orders", count(effort.implied)),
                ("decided orders", count(effort.decided)),
            ],
            "repair" => vec![("conflicts left", count(effort.left))],
            "prune" if effort.solve_seconds > 0.0 => Vec::new(),
            _ => vec![
                ("choices", count(effort.choices)),
                ("cycles", count(effort.cycles)),
                ("rounds", count(effort.rounds)),
                ("visits", effort.visits),
            ],
        };
        stages.push(Stage {
            name,
            seconds,
            counts,
        });
    }
    stages
}

/// The stage that made evidence of a violation.
pub fn of_evidence(anomaly: &Anomaly, seconds: f64) -> Stage {
    let others: usize = anomaly.otherwise.iter().map(Vec::len).sum();
    Stage {
        name: "evidence",
        seconds,
        counts: vec![
            ("transactions", anomaly.transactions.len() as u64),
            ("cycles", 1 + anomaly.otherwise.len() as u64),
            ("edges", (anomaly.edges.len() + others) as u64),
        ],
    }
}
