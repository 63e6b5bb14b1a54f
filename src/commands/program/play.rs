//! Scenarios played: on the store in process, or on a server, and judged.

use crate::commands::check::check_history;
use crate::commands::run::target::{Start, Target};
use crate::exit::Failure;
use crate::limits::Limits;
use crate::progress::Progress;
use history::{History, Initial, Level, Verdict};
use program::replay::{
    Dialect, JavaApplication, JavaHost, Judged, Replay, ReplayError, Server, ServerLevel,
    ServerOptions,
};
use program::{
    Appearance, Engine, How, Program, Scenario, appearance, judge, play, scenario_to_json,
};
use serde_json::{Value, json};

/// Seconds that the checker gets for a history of a few transactions.
const CHECK_SECONDS: f64 = 10.0;

/// What came of a scenario at one place.
pub struct Outcome {
    /// Where: the server's name and version, or the store in process.
    pub place: String,
    /// At which setting.
    pub level: String,
    /// manifested, prevented by abort, prevented by lock, not manifested.
    pub verdict: &'static str,
    /// What the simulation of that server says.
    pub predicted: Option<&'static str>,
    /// What the checker says of the recorded history about serializability; none where not all that
    /// was read and written is in it.
    pub checked: Option<&'static str>,
}

impl Outcome {
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
        json!({
            "on": self.place,
            "isolation": self.level,
            "outcome": self.verdict,
            "predicted": self.predicted,
            "serializable": self.checked,
        })
    }

    /// On one line.
    pub fn text(&self) -> String {
        let mut out = format!("{} {}: {}", self.place, self.level, self.verdict);
        if self.is_surprise() {
            let predicted = self.predicted.unwrap_or_default();
            out.push_str(&format!(" (predicted: {predicted})"));
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
    })
}

/// What the checker says about serializability.
fn checked(history: &History) -> Option<&'static str> {
    let limits = Limits::new(Some(CHECK_SECONDS), None);
    let progress = Progress::start();
    let levels = [Level::Serializable];
    let answers = check_history(history, &levels, &Initial::NilOnly, &limits, &progress);
    Some(match answers.first()?.result.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    })
}

/// A server that is ready to play scenarios of one program.
pub struct Stage {
    /// Dropped after the server's sessions: stops what was started.
    server: Server,
    java: Option<JavaHost>,
    levels: Vec<ServerLevel>,
    _target: Target,
}

/// How a stage is set up.
pub struct Setup<'a> {
    /// The database: a name of a server to start, or a URL.
    pub name: &'a str,
    /// The isolation settings wanted; all if none.
    pub isolation: &'a [String],
    /// The application whose own code is played; else its statements are.
    pub java: Option<&'a JavaApplication>,
    /// The most instances of a scenario.
    pub instances: usize,
    pub progress: &'a Progress,
}

impl Stage {
    /// Starts or reaches the server, and creates the tables.
    pub fn open(program: &Program, setup: &Setup<'_>) -> Result<Stage, Failure> {
        let start = Start {
            settings: &[],
            network_faults: false,
            progress: setup.progress,
        };
        let target = Target::start(&[setup.name.to_string()], start)?;
        let failed = |error: ReplayError| Failure::with(&target.name, error);
        let url = target.urls().first().cloned().unwrap_or_default();
        setup
            .progress
            .stage(&format!("creating the tables on {}", target.name));
        let server =
            Server::open(&url, &program.schema, ServerOptions::default()).map_err(failed)?;
        let levels = wanted(&server, setup.isolation)?;
        let scratch = std::env::temp_dir();
        let java = setup
            .java
            .map(|java| JavaHost::start(java, &server, setup.instances, &scratch));
        let java = java.transpose().map_err(failed)?;
        Ok(Stage {
            server,
            java,
            levels,
            _target: target,
        })
    }

    /// Plays a scenario at every setting.
    pub fn play(
        &mut self,
        program: &Program,
        scenario: &Scenario,
    ) -> Result<Vec<Outcome>, Failure> {
        let place = self.server.product().to_string();
        let dialect = self.server.dialect();
        let mut replay = Replay::new(&mut self.server, program, scenario);
        if let Some(java) = &mut self.java {
            replay = replay.by(java);
        }
        let mut outcomes = Vec::new();
        for level in &self.levels {
            let predicted = predict(program, scenario, dialect, *level);
            let judged = replay.at(*level, predicted);
            let judged = judged.map_err(|error| Failure::with(&place, error))?;
            outcomes.push(outcome(&place, *level, predicted, &judged));
        }
        Ok(outcomes)
    }
}

fn outcome(
    place: &str,
    level: ServerLevel,
    predicted: Option<Appearance>,
    judged: &Judged,
) -> Outcome {
    Outcome {
        place: place.to_string(),
        level: level.name().to_string(),
        verdict: judged.appearance.name(),
        predicted: predicted.map(Appearance::name),
        checked: judged.complete.then(|| checked(&judged.history)).flatten(),
    }
}

fn wanted(server: &Server, names: &[String]) -> Result<Vec<ServerLevel>, Failure> {
    let has = server.levels();
    if names.is_empty() {
        return Ok(has);
    }
    let find = |name: &String| {
        let level = ServerLevel::named(name).filter(|level| has.contains(level));
        level.ok_or_else(|| {
            let names: Vec<&str> = has.iter().map(|level| level.name()).collect();
            let problem = format!("no isolation '{name}'; there are {}", names.join(", "));
            Failure::with(server.product(), problem)
        })
    };
    names.iter().map(find).collect()
}

/// What the simulation of the server does with the scenario.
fn predict(
    program: &Program,
    scenario: &Scenario,
    dialect: Dialect,
    level: ServerLevel,
) -> Option<Appearance> {
    let engine = match (dialect, level) {
        (Dialect::Postgres, ServerLevel::ReadUncommitted | ServerLevel::ReadCommitted) => {
            Engine::PostgresReadCommitted
        }
        (Dialect::Postgres, ServerLevel::Serializable) => Engine::PostgresSerializable,
        (Dialect::Postgres, _) => Engine::PostgresRepeatableRead,
        (Dialect::MariaDb, ServerLevel::ReadUncommitted) => Engine::MariaReadUncommitted,
        (Dialect::MariaDb, ServerLevel::ReadCommitted) => Engine::MariaReadCommitted,
        (Dialect::MariaDb, ServerLevel::RepeatableRead) => Engine::MariaRepeatableRead,
        (Dialect::MariaDb, ServerLevel::RepeatableReadSnapshot) => Engine::MariaSnapshot,
        (Dialect::MariaDb, ServerLevel::Serializable) => Engine::MariaSerializable,
    };
    let played = play(program, scenario, How::Engine(engine)).ok()?;
    let judgement = judge(program, scenario, &played).ok()?;
    Some(appearance(&played, &judgement))
}

/// A scenario with what came of it, for programs.
pub fn scenario_json(program: &Program, scenario: &Scenario, outcomes: &[Outcome]) -> Value {
    let mut json = scenario_to_json(program, scenario);
    if !outcomes.is_empty() {
        json["played"] = outcomes.iter().map(Outcome::json).collect();
    }
    json
}
