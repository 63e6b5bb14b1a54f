//! What came of playing a scenario, and the play on the store in process.

use crate::commands::check::check_history;
use crate::exit::Failure;
use crate::limits::Limits;
use crate::progress::Progress;
use history::{History, Initial, Level, Verdict};
use program::{Appearance, How, Program, Scenario, appearance, judge, play, scenario_to_json};
use serde_json::{Value, json};

/// Seconds that the checker gets for a history of a few transactions.
const CHECK_SECONDS: f64 = 10.0;

/// What came of a scenario at one place.
pub struct Outcome {
    /// Where: the server's name and version, or the store in process.
    pub place: String,
    /// At which setting; why, where it was not played.
    pub level: String,
    /// manifested, prevented by abort, prevented by lock, not manifested.
    pub verdict: &'static str,
    /// What the simulation of that server says.
    pub predicted: Option<&'static str>,
    /// What the checker says of the recorded history about serializability; none where not all that
    /// was read and written is in it.
    pub checked: Option<&'static str>,
    /// What the application's own code threw: the number of the instance, and the text.
    pub thrown: Vec<(usize, String)>,
    /// What the server refused: the number of the instance, with the code and what the server said.
    pub refused: Vec<(usize, String)>,
}

/// The verdict about a scenario that cannot be played at a place.
const NOT_PLAYED: &str = "not played";

impl Outcome {
    /// What cannot be played there, and why.
    pub fn not_played(place: String, reason: String) -> Outcome {
        Outcome {
            place,
            level: reason,
            verdict: NOT_PLAYED,
            predicted: None,
            checked: None,
            thrown: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Whether it was played.
    pub fn is_played(&self) -> bool {
        self.verdict != NOT_PLAYED
    }

    /// Whether the anomaly showed.
    pub fn is_manifested(&self) -> bool {
        self.verdict == Appearance::Manifested.name()
    }

    /// Whether the prediction was about showing or not showing, and wrong.
    pub fn is_surprise(&self) -> bool {
        let manifested = Appearance::Manifested.name();
        self.predicted
            .is_some_and(|predicted| (predicted == manifested) != self.is_manifested())
    }

    /// For programs.
    pub fn json(&self) -> Value {
        if !self.is_played() {
            return json!({"on": self.place, "outcome": self.verdict, "reason": self.level});
        }
        let mut json = json!({
            "on": self.place,
            "isolation": self.level,
            "outcome": self.verdict,
            "predicted": self.predicted,
            "serializable": self.checked,
        });
        if !self.thrown.is_empty() {
            let thrown = self.thrown.iter();
            let thrown = thrown.map(|(at, text)| json!({"instance": at, "text": text}));
            json["thrown"] = thrown.collect();
        }
        if !self.refused.is_empty() {
            let refused = self.refused.iter();
            let refused = refused.map(|(at, text)| json!({"instance": at, "text": text}));
            json["refused"] = refused.collect();
        }
        json
    }

    /// On one line.
    pub fn text(&self) -> String {
        if !self.is_played() {
            return format!("{}: {}: {}", self.place, self.verdict, self.level);
        }
        let mut out = format!("{} {}: {}", self.place, self.level, self.verdict);
        if self.is_surprise() {
            let predicted = self.predicted.unwrap_or_default();
            out.push_str(&format!(" (predicted: {predicted})"));
            for (at, text) in &self.thrown {
                out.push_str(&format!("; T{at} threw {text}"));
            }
            for (at, text) in &self.refused {
                out.push_str(&format!("; T{at} was refused: {text}"));
            }
        }
        if let Some(checked) = self.checked {
            out.push_str(&format!("; the checker: serializability {checked}"));
        }
        out
    }
}

/// The scenario on the store in process, which shows what the scenario says.
pub fn in_process(program: &Program, scenario: &Scenario) -> Result<Outcome, Failure> {
    let failed = |error: program::ExecuteError| Failure(format!("in process: {error}"));
    let played = play(program, scenario, How::Given).map_err(failed)?;
    let judgement = judge(program, scenario, &played).map_err(failed)?;
    Ok(Outcome {
        place: "store".to_string(),
        level: "as scheduled".to_string(),
        verdict: appearance(&played, &judgement).name(),
        predicted: Some(Appearance::Manifested.name()),
        checked: checked(&played.history),
        thrown: Vec::new(),
        refused: Vec::new(),
    })
}

/// What the checker says about serializability.
pub fn checked(history: &History) -> Option<&'static str> {
    let limits = Limits::new(Some(CHECK_SECONDS), None);
    let progress = Progress::silent();
    let levels = [Level::Serializable];
    let answers = check_history(history, &levels, &Initial::NilOnly, &limits, &progress);
    Some(match answers.first()?.result.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    })
}

/// A scenario with what came of it, for programs.
pub fn scenario_json(program: &Program, scenario: &Scenario, outcomes: &[Outcome]) -> Value {
    let mut json = scenario_to_json(program, scenario);
    if !outcomes.is_empty() {
        json["played"] = outcomes.iter().map(Outcome::json).collect();
    }
    json
}
