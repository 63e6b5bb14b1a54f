//! Scenarios played on a server, at each of its settings.

use super::play::{Outcome, checked};
use crate::commands::run::target::{Start, Target};
use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Progress;
use program::replay::{
    Dialect, Fate, JavaApplication, JavaHost, Judged, Replay, ReplayError, Server, ServerLevel,
    ServerOptions,
};
use program::{Appearance, How, Program, Scenario, StoreLevel, appearance, judge, play};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

/// No more scenarios than this are played at a time.
const LANES_MAX: usize = 4;

/// A server that is ready to play scenarios of one program.
pub struct Stage {
    /// Dropped before the server: places on it that play one scenario at a time.
    lanes: Vec<Lane>,
    levels: Vec<ServerLevel>,
    url: String,
    _target: Target,
}

/// A place on a server with tables of its own.
struct Lane {
    server: Server,
    /// Its host and port.
    address: String,
    java: Option<JavaHost>,
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
        // From here on there is something to clean up: the server and the tables.
        interrupt::listen();
        let settings = settings(setup);
        let start = Start {
            settings: &settings,
            network_faults: false,
            progress: setup.progress,
        };
        let playable = ["postgres", "mariadb"].contains(&setup.name);
        if !playable && !setup.name.contains("://") {
            let problem = "programs are played on store, postgres, mariadb, or a server of yours \
                           (postgres://USER:PASSWORD@HOST:PORT/DATABASE, mysql://…)";
            return Err(Failure::with(setup.name, problem));
        }
        let target = Target::start(&[setup.name.to_string()], start)?;
        let failed = |error: ReplayError| match error.to_string() {
            told if told.starts_with(&target.name) => Failure(told),
            told => Failure::with(&target.name, told),
        };
        let url = target.urls().first().cloned().unwrap_or_default();
        setup
            .progress
            .stage(&format!("creating the tables on {}", target.name));
        let server = Server::open(&url, &program.schema, ServerOptions::default());
        let server = server.map_err(failed)?;
        let levels = wanted(&server, setup.isolation)?;
        let scratch = std::env::temp_dir();
        let java = setup
            .java
            .map(|java| JavaHost::start(java, &server, setup.instances, &scratch));
        let java = java.transpose().map_err(failed)?;
        Ok(Stage {
            lanes: vec![Lane {
                server,
                address: address_of(&url),
                java,
            }],
            levels,
            url,
            _target: target,
        })
    }

    /// Plays a scenario at every setting.
    pub fn play(
        &mut self,
        program: &Program,
        scenario: &Scenario,
    ) -> Result<Vec<Outcome>, Failure> {
        self.lanes[0].play(program, scenario, &self.levels)
    }

    /// Plays many scenarios of the program at every setting, several at a time; the outcomes of each.
    /// `tell` hears the position of one that begins.
    pub fn play_all(
        &mut self,
        program: &Program,
        scenarios: &[&Scenario],
        tell: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<Outcome>>, Failure> {
        let has_java = self.lanes.iter().any(|lane| lane.java.is_some());
        while !has_java && self.lanes.len() < lanes_for(scenarios.len()) {
            let server = Server::open(&self.url, &program.schema, ServerOptions::default());
            let server = server.map_err(|error| Failure::with("another schema", error))?;
            self.lanes.push(Lane {
                server,
                address: address_of(&self.url),
                java: None,
            });
        }
        let (levels, next) = (&self.levels, AtomicUsize::new(0));
        let run = |lane: &mut Lane| -> Result<Vec<(usize, Vec<Outcome>)>, Failure> {
            let mut found = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(scenario) = scenarios.get(at) else {
                    return Ok(found);
                };
                tell(at);
                let played = lane.play(program, scenario, levels);
                if played.is_err() {
                    // Nobody begins another one.
                    next.store(scenarios.len(), Ordering::Relaxed);
                }
                found.push((at, played?));
            }
        };
        let mut all: Vec<Vec<Outcome>> = scenarios.iter().map(|_| Vec::new()).collect();
        let run = &run;
        let done = std::thread::scope(|scope| {
            let lanes = self.lanes.iter_mut();
            let lanes: Vec<_> = lanes.map(|lane| scope.spawn(move || run(lane))).collect();
            let ended = lanes.into_iter().map(|lane| lane.join());
            ended.collect::<Vec<_>>()
        });
        for lane in done {
            let lane = lane.map_err(|_| Failure("a replay broke off".to_string()))?;
            for (at, outcomes) in lane? {
                all[at] = outcomes;
            }
        }
        Ok(all)
    }

    /// Plays a scenario with every instance at the level that it says.
    pub fn play_own(&mut self, program: &Program, scenario: &Scenario) -> Result<Outcome, Failure> {
        let server = &mut self.lanes[0].server;
        let place = server.product().to_string();
        let dialect = server.dialect();
        let mut levels = Vec::new();
        for instance in &scenario.instances {
            let asked = instance.level.unwrap_or(StoreLevel::Serializable);
            let given = ServerLevel::giving(dialect, asked);
            levels.push(given.ok_or_else(|| {
                Failure::with(&place, format!("has no isolation like {}", asked.name()))
            })?);
        }
        let mut replay = Replay::new(server, program, scenario);
        let judged = replay.mixed(&levels, None);
        let judged = judged.map_err(|error| Failure::with(&place, error))?;
        let mut names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
        names.dedup();
        let mut found = outcome(&place, ServerLevel::Serializable, None, &judged);
        found.level = names.join(", ");
        Ok(found)
    }
}

/// How many scenarios are played at a time, of so many. A few are done before more tables are made.
fn lanes_for(scenarios: usize) -> usize {
    match scenarios {
        0..8 => 1,
        _ => std::thread::available_parallelism().map_or(1, |cores| cores.get().min(LANES_MAX)),
    }
}

impl Lane {
    /// Plays a scenario at every setting.
    fn play(
        &mut self,
        program: &Program,
        scenario: &Scenario,
        levels: &[ServerLevel],
    ) -> Result<Vec<Outcome>, Failure> {
        let place = self.server.product().to_string();
        let dialect = self.server.dialect();
        let address = &self.address;
        let mut replay = Replay::new(&mut self.server, program, scenario);
        if let Some(java) = &mut self.java {
            replay = replay.by(java);
        }
        let mut outcomes = Vec::new();
        for level in levels {
            if interrupt::pressed() {
                return Err(Failure("interrupted".to_string()));
            }
            let predicted = predict(program, scenario, dialect, *level);
            let judged = match replay.at(*level, predicted) {
                Err(error) if error.unplayable => {
                    outcomes.push(Outcome::not_played(place, error.problem));
                    break;
                }
                judged => judged.map_err(|error| given_up(&place, address, &error))?,
            };
            outcomes.push(outcome(&place, *level, predicted, &judged));
        }
        Ok(outcomes)
    }
}

/// The host and the port of a URL.
fn address_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or(rest);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    host.to_string()
}

/// The failure of a play. Drivers have many words for a server that is not there any more.
fn given_up(place: &str, address: &str, error: &ReplayError) -> Failure {
    let is_gone = match TcpStream::connect(address) {
        Ok(_) => false,
        Err(refused) => refused.kind() == std::io::ErrorKind::ConnectionRefused,
    };
    match is_gone {
        true => Failure::with(place, format!("the server has ended: {error}")),
        false => Failure::with(place, error),
    }
}

fn outcome(
    place: &str,
    level: ServerLevel,
    predicted: Option<Appearance>,
    judged: &Judged,
) -> Outcome {
    let instances = judged.played.instances.iter().zip(1..);
    let thrown = instances
        .clone()
        .filter_map(|(one, at)| Some((at, one.thrown.clone()?)));
    let refused = instances.clone().filter_map(|(one, at)| match &one.fate {
        Fate::Refused { code, message, .. } => Some((at, format!("{message} ({code})"))),
        _ => None,
    });
    Outcome {
        place: place.to_string(),
        level: level.name().to_string(),
        verdict: judged.appearance.name(),
        predicted: predicted.map(Appearance::name),
        checked: judged.complete.then(|| checked(&judged.history)).flatten(),
        thrown: thrown.collect(),
        refused: refused.collect(),
    }
}

/// What a server is started with. MariaDB tells `Accounts` from `ACCOUNTS` on most systems, which an
/// application that was written elsewhere does not.
fn settings(setup: &Setup<'_>) -> Vec<(String, String)> {
    let started = setup.name.starts_with("mariadb") && !setup.name.contains("://");
    match started && setup.java.is_some() {
        true => vec![("lower_case_table_names".to_string(), "1".to_string())],
        false => Vec::new(),
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
    let engine = level.engine(dialect);
    let played = play(program, scenario, How::Engine(engine)).ok()?;
    let judgement = judge(program, scenario, &played).ok()?;
    Some(appearance(&played, &judgement))
}
