//! A scenario replayed at one level or more, judged, and compared with what was predicted.

use super::error::ReplayError;
use super::java::{self, JavaHost};
use super::judge::{Serial, one_by_one};
use super::level::ServerLevel;
use super::played::Played;
use super::record;
use super::run;
use super::serial;
use super::server::Server;
use crate::execute::{Appearance, How, appearance, judge, play};
use crate::ir::Program;
use crate::scenario::{Instance, Scenario};
use history::History;

/// A run and what it means.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What happened.
    pub played: Played,
    /// What it means.
    pub appearance: Appearance,
    /// A serial order of the committed instances that does the same, if there is one.
    pub order: Option<Vec<usize>>,
    /// What was read and written: cells `TABLE[key].column`, session 0 the first rows.
    pub history: History,
    /// Whether all that was read and written is in the history.
    pub complete: bool,
    /// What was predicted, if anything was.
    pub predicted: Option<Appearance>,
}

impl Judged {
    /// Whether the anomaly shows as predicted, or does not as predicted; none without a prediction.
    pub fn as_predicted(&self) -> Option<bool> {
        let shows = |one: Appearance| one == Appearance::Manifested;
        let predicted = self.predicted?;
        Some(shows(predicted) == shows(self.appearance))
    }
}

/// Replays one scenario, as often as wanted; its serial runs are made once.
pub struct Replay<'a> {
    server: &'a mut Server,
    program: &'a Program,
    scenario: &'a Scenario,
    /// Where the application's own code runs; none where its statements are sent as they were read.
    host: Option<&'a mut JavaHost>,
    serial: Serial,
}

impl<'a> Replay<'a> {
    /// A scenario of a program whose tables the server has.
    pub fn new(server: &'a mut Server, program: &'a Program, scenario: &'a Scenario) -> Replay<'a> {
        Replay {
            server,
            program,
            scenario,
            host: None,
            serial: Serial::default(),
        }
    }

    /// The same by the methods of the application itself. The histories of such runs are not complete:
    /// what a method reads is known as it saw it, not by cells.
    pub fn by(self, host: &'a mut JavaHost) -> Replay<'a> {
        Replay {
            host: Some(host),
            ..self
        }
    }

    /// What is to be expected at a level, by what is known of the server. Statements that are not
    /// evaluated exactly in the process, or a program that fails there, leave it open.
    pub fn predict(&self, level: ServerLevel) -> Option<Appearance> {
        let engine = level.engine(self.server.dialect());
        let played = play(self.program, self.scenario, How::Engine(engine)).ok()?;
        let judged = judge(self.program, self.scenario, &played).ok()?;
        let exact = played.inexact.is_empty();
        exact.then(|| appearance(&played, &judged))
    }

    /// Plays it with all instances at one level, but for those whose own level the server has.
    pub fn at(
        &mut self,
        level: ServerLevel,
        predicted: Option<Appearance>,
    ) -> Result<Judged, ReplayError> {
        let dialect = self.server.dialect();
        let own = |instance: &Instance| {
            let own = instance.level;
            own.and_then(|own| ServerLevel::giving(dialect, own))
                .unwrap_or(level)
        };
        let levels: Vec<ServerLevel> = self.scenario.instances.iter().map(own).collect();
        self.mixed(&levels, predicted)
    }

    /// Plays it with a level for each instance.
    pub fn mixed(
        &mut self,
        levels: &[ServerLevel],
        predicted: Option<Appearance>,
    ) -> Result<Judged, ReplayError> {
        let (program, scenario) = (self.program, self.scenario);
        let (server, host) = (&mut *self.server, &mut self.host);
        let played = match host {
            Some(host) => java::play(host, server, program, scenario, levels),
            None => run::play(server, program, scenario, levels),
        }?;
        let schema = &program.schema;
        let is_code = host.is_some();
        let mut runs = |scenario: &Scenario, orders: &[Vec<usize>]| match host {
            Some(host) => one_by_one(schema, scenario, orders, &mut |scenario, levels| {
                java::play(host, server, program, scenario, levels)
            }),
            None if serial::applies(program) => serial::outcomes(server, program, scenario, orders),
            None => one_by_one(schema, scenario, orders, &mut |scenario, levels| {
                run::play(server, program, scenario, levels)
            }),
        };
        let order = self.serial.order_of(schema, scenario, &played, &mut runs)?;
        if is_code && order.is_none() {
            let committed = played.committed();
            if !self.serial.repeats(scenario, &committed, &mut runs)? {
                return Err(ReplayError::unplayable(
                    "the application does not do the same twice when its methods run one after the \
                     other (random numbers, the time), so that its runs cannot be compared; without \
                     --java its statements are played",
                ));
            }
        }
        let shown = match &order {
            None => Appearance::Manifested,
            Some(_) if played.has_refusal() => Appearance::PreventedByAbort,
            Some(_) if !played.waits.is_empty() => Appearance::PreventedByLock,
            Some(_) => Appearance::NotManifested,
        };
        let (history, complete) = record::history(&program.schema, &scenario.rows, &played);
        Ok(Judged {
            played,
            appearance: shown,
            order,
            history,
            complete,
            predicted,
        })
    }
}
