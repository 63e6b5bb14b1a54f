//! `isolde model`: every run of a protocol within bounds, judged like a recorded history.

mod ask;
mod estimate;
mod found;
mod list;
mod mutants;
mod new;
mod published;
mod replay;
mod setups;
mod simulate;
mod table;

use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::limits::Limits;
use crate::model_args::{EffortArgs, ModelArgs, ModelCommand, WorldArgs};
use crate::output;
use crate::progress::Progress;
use protocol::{Entry, Faults, Model, Request, World};

/// The protocols there are, and how the command is called that knows them.
pub struct Models {
    /// What to type before the arguments.
    pub called: &'static str,
    /// The protocols.
    pub entries: Vec<Entry>,
}

impl Models {
    /// These protocols.
    pub fn new(called: &'static str, entries: Vec<Entry>) -> Models {
        Models { called, entries }
    }

    /// The protocols of these names; `all` is all.
    fn named(&self, names: &[String]) -> Result<Vec<&Entry>, Failure> {
        if names.iter().any(|name| name == "all") {
            return Ok(self.entries.iter().collect());
        }
        names.iter().map(|name| self.one(name)).collect()
    }

    fn one(&self, name: &str) -> Result<&Entry, Failure> {
        let found = self
            .entries
            .iter()
            .find(|entry| entry.model.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = self.entries.iter().map(|e| e.model.name()).collect();
            Failure(format!(
                "no protocol is called '{name}'; there are {}",
                known.join(", ")
            ))
        })
    }

    /// The protocols of these names, or mutants by their full names; `all` is all protocols.
    fn with_mutants(&self, names: &[String]) -> Result<Vec<(&Entry, &dyn Model)>, Failure> {
        let mut found: Vec<(&Entry, &dyn Model)> = Vec::new();
        for name in names {
            let of_mutant = self.entries.iter().find_map(|entry| {
                let mut mutants = entry.mutants.iter();
                let mutant = mutants.find(|mutant| mutant.model.name() == name)?;
                Some((entry, mutant.model.as_ref()))
            });
            match of_mutant {
                Some(subject) => found.push(subject),
                None => {
                    let entries = self.named(std::slice::from_ref(name))?;
                    found.extend(entries.into_iter().map(|e| (e, e.model.as_ref())));
                }
            }
        }
        Ok(found)
    }

    /// A protocol or a mutant by its full name.
    fn model(&self, name: &str) -> Option<&dyn Model> {
        let own = self.entries.iter().map(|entry| entry.model.as_ref());
        let mutants = self.entries.iter().flat_map(|entry| &entry.mutants);
        let mut all = own.chain(mutants.map(|mutant| mutant.model.as_ref()));
        all.find(|model| model.name() == name)
    }
}

/// Does what the arguments ask.
pub fn run(args: &ModelArgs, models: &Models) -> Result<Exit, Failure> {
    interrupt::listen();
    match &args.what {
        Some(ModelCommand::Mutants(mutants)) => mutants::run(mutants, models),
        Some(ModelCommand::Table(table)) => table::run(table, models),
        Some(ModelCommand::Simulate(simulate)) => simulate::run(simulate, models),
        Some(ModelCommand::Estimate(estimate)) => estimate::run(estimate, models),
        Some(ModelCommand::Replay(replay)) => replay::run(replay, models),
        Some(ModelCommand::New(new)) => new::run(new),
        None if args.ask.workload.iter().any(|name| name == "help") => setups::help(),
        // A program with one protocol of its own is about that one.
        None if args.ask.protocols.is_empty() && models.entries.len() != 1 => {
            list::run(models, args.ask.json)
        }
        None => ask::run(&args.ask, models),
    }
}

/// The world that the arguments describe.
fn world(args: &WorldArgs) -> World {
    World {
        faults: Faults {
            lose: args.lose,
            double: args.double,
            crash: args.crash,
            cut: args.cut,
        },
        fifo: args.fifo,
        network_to_self: args.network_to_self,
        ..World::default()
    }
}

/// What limits an exploration, and who is told of it.
struct Effort {
    limits: Limits,
    progress: Progress,
    threads: usize,
    states_max: u64,
    memory_max: u64,
    reduction: bool,
}

impl Effort {
    fn new(args: &EffortArgs) -> Effort {
        let threads = args.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        );
        const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
        let memory_max = args
            .memory
            .map_or_else(memory_to_use, |gib| (gib * GIB) as u64);
        output::detail(|| {
            let gib = memory_max as f64 / GIB;
            format!("{threads} threads, {gib:.1} GiB for the table of states")
        });
        Effort {
            limits: Limits::new(args.timeout, args.memory),
            progress: Progress::start(),
            threads,
            states_max: args.states.unwrap_or(u64::MAX),
            memory_max,
            reduction: !args.no_reduction,
        }
    }

    /// Tells how far it got; whether to go on.
    fn tell(&self, name: &str, told: &protocol::Progress) -> bool {
        self.progress.stage(&format!(
            "{name}: {} of {} initial states, {} states",
            told.setups, told.setups_all, told.states
        ));
        self.limits.reached().is_none()
    }

    fn request<'a>(
        &self,
        progress: &'a (dyn Fn(&protocol::Progress) -> bool + Sync),
    ) -> Request<'a> {
        Request {
            threads: self.threads,
            states_max: self.states_max,
            memory_max: self.memory_max,
            partial_order: self.reduction,
            symmetry: self.reduction,
            progress,
            ..Request::default()
        }
    }
}

/// Most of the memory that is free, where the system tells; else two GiB.
fn memory_to_use() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse::<u64>().ok());
    kilobytes.map_or(2 << 30, |kilobytes| kilobytes * 1024 / 5 * 4)
}

/// Prints one object on a line.
fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    output::print_plain(&format!("{value}\n"))
}
