//! Everything the page works on, and the jobs it starts.

use crate::Limits;
use crate::browse::{Histories, Stamp};
use crate::folder::Folder;
use crate::guard::Guard;
use crate::jobs::{
    Ended, Job, JobKind, Jobs, Order, Outcome, Phase, RunOrder, check_arguments, run_child,
};
use crate::results::{Results, history_file};
use crate::routes::Refused;
use crate::uploads::Room;
use report::escape::cut;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The page's state.
pub(crate) struct App {
    pub folder: Folder,
    pub results: Arc<Results>,
    pub histories: Histories,
    pub jobs: Arc<Jobs>,
    pub program: PathBuf,
    pub version: String,
    pub limits: Limits,
    /// Known once the server listens.
    pub guard: Arc<OnceLock<Guard>>,
    pub workloads: OnceLock<Vec<(String, String)>>,
}

/// A child may end in good order for so long.
const CHECK_GRACE: Duration = Duration::from_secs(4);
/// A run may have servers to stop.
const RUN_GRACE: Duration = Duration::from_secs(20);
/// Where runs are recorded.
const RUNS: &str = "isolde-runs";
/// Servers take their time to start.
const START_SECONDS: f64 = 120.0;

impl App {
    /// Nobody asks before the server listens, and then it is there.
    pub fn guard(&self) -> &Guard {
        self.guard.wait()
    }

    pub fn upload_room(&self) -> Room {
        Room {
            file_bytes: self.limits.upload_bytes,
            total_bytes: self.limits.uploads_bytes,
        }
    }

    /// What the page has to know of this server.
    pub fn about(&self) -> Value {
        let workloads = self.workloads.get_or_init(|| self.ask_workloads());
        let workloads: Vec<Value> = workloads
            .iter()
            .map(|(name, meaning)| json!({"name": name, "meaning": meaning}))
            .collect();
        json!({
            "directory": self.folder.root().file_name().map(|name| name.to_string_lossy()),
            "version": self.version,
            "workloads": workloads,
            "upload_bytes": self.limits.upload_bytes,
            "run_seconds": self.limits.run_seconds,
        })
    }

    /// The workloads that the program lists.
    fn ask_workloads(&self) -> Vec<(String, String)> {
        let arguments = ["run", "--workload=help"].map(str::to_string);
        let order = Order {
            time: Duration::from_secs(20),
            ..self.order(&arguments, CHECK_GRACE)
        };
        let outcome = run_child(&order, &|| false, &mut |_| {});
        let text = outcome.map(|outcome| outcome.answer).unwrap_or_default();
        let line = |line: &str| {
            let (name, meaning) = line.split_once(' ')?;
            Some((name.to_string(), meaning.trim().to_string()))
        };
        text.lines().filter_map(line).take(100).collect()
    }

    fn order<'a>(&'a self, arguments: &'a [String], grace: Duration) -> Order<'a> {
        Order {
            program: &self.program,
            arguments,
            directory: self.folder.root(),
            time: Duration::from_secs(60),
            memory_bytes: (self.limits.check_memory_gib * 1.25 * 1024.0 * 1024.0 * 1024.0) as u64,
            grace,
        }
    }

    /// Texts of children name files by their full path; the page knows them within the directory.
    pub fn hide_root(&self, text: &str) -> String {
        let root = self.folder.root().display().to_string();
        text.replace(&format!("{root}/"), "").replace(&root, ".")
    }

    /// Starts the check of a file.
    pub fn check(&self, name: &str) -> Result<Value, Refused> {
        let path = self.folder.find(name).map_err(|why| (404, why))?;
        let file = history_file(&self.folder, &path).map_err(|why| (404, why))?;
        let file_name = self.folder.name(&file).unwrap_or_default();
        let arguments = check_arguments(
            &file_name,
            self.limits.check_seconds,
            self.limits.check_memory_gib,
        );
        let time = Duration::from_secs_f64(self.limits.check_seconds + 10.0);
        let results = Arc::clone(&self.results);
        let work = self.child(arguments, time, CHECK_GRACE, move |job, outcome| {
            let report = answer_of(&outcome)?;
            // A check that somebody replaced the file under is worth nothing.
            Stamp::of(&file)?;
            results.put(&file, report)?;
            job.end(Phase::Done, None, Some(&file_name));
            Ok(())
        });
        let title = name.rsplit('/').next().unwrap_or(name);
        let job = self.jobs.start(JobKind::Check, title, work);
        job.map(|job| job.json()).map_err(|why| (429, why))
    }

    /// Starts a run.
    pub fn run(&self, order: &Value) -> Result<Value, Refused> {
        let order = RunOrder::of(order, self.limits.run_seconds).map_err(|why| (400, why))?;
        if !self.folder.keeps(RUNS) {
            return Err((400, format!("{RUNS} leads out of the directory")));
        }
        let name = run_name(self.folder.root(), &order.databases[0]);
        // The check after a run has half of the time that a check has.
        let judging = self.limits.check_seconds / 2.0;
        let arguments = order.arguments(&name, judging);
        let time = Duration::from_secs_f64(order.seconds + 2.0 * judging + START_SECONDS);
        let work = self.child(arguments, time, RUN_GRACE, move |job, outcome| {
            answer_of(&outcome)?;
            job.end(Phase::Done, None, Some(&name));
            Ok(())
        });
        let job = self.jobs.start(JobKind::Run, &order.title(), work);
        job.map(|job| job.json()).map_err(|why| (429, why))
    }

    /// The work of a job that is a child of ours.
    fn child<F>(
        &self,
        arguments: Vec<String>,
        time: Duration,
        grace: Duration,
        finish: F,
    ) -> impl FnOnce(&Job) + Send + 'static + use<F>
    where
        F: FnOnce(&Job, Outcome) -> Result<(), String> + Send + 'static,
    {
        let program = self.program.clone();
        let directory = self.folder.root().to_path_buf();
        let memory_bytes = self.order(&[], grace).memory_bytes;
        move |job| {
            let order = Order {
                program: &program,
                arguments: &arguments,
                directory: &directory,
                time,
                memory_bytes,
                grace,
            };
            let is_cancelled = || job.is_cancelled();
            let outcome = run_child(&order, &is_cancelled, &mut |value| job.progress(value));
            match outcome {
                Ok(outcome) if outcome.ended == Ended::Cancelled => {
                    job.end(Phase::Cancelled, None, None);
                }
                Ok(outcome) => {
                    if let Err(why) = finish(job, outcome) {
                        job.end(Phase::Failed, Some(&why), None);
                    }
                }
                Err(why) => job.end(Phase::Failed, Some(&why), None),
            }
        }
    }
}

/// The JSON that a child answered, or why it did not.
fn answer_of(outcome: &Outcome) -> Result<Value, String> {
    let limit = match outcome.ended {
        Ended::Time => "it took too long and was ended",
        Ended::Memory => "it took too much memory and was ended",
        _ => "",
    };
    if let Ok(value) = serde_json::from_str::<Value>(&outcome.answer)
        && value.get("results").is_some()
    {
        return Ok(value);
    }
    if !limit.is_empty() {
        return Err(limit.to_string());
    }
    let said = outcome.remarks.join("\n");
    Err(match (said.is_empty(), outcome.code) {
        (false, _) => cut_lines(said.trim_start_matches("error: ")),
        (true, Some(code)) => format!("it ended with code {code} and said nothing"),
        (true, None) => "it was ended by a signal".to_string(),
    })
}

/// The text, each line not longer than somebody would read.
fn cut_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().take(20).map(|line| cut(line, 300)).collect();
    lines.join("\n")
}

/// A directory for a run that is not there yet.
fn run_name(root: &Path, database: &str) -> String {
    let word: String = database
        .chars()
        .take_while(|letter| *letter != '/')
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = since.map_or(0, |since| since.as_secs());
    let names = (0..1000).map(|count| match count {
        0 => format!("{RUNS}/{word}-{time}"),
        more => format!("{RUNS}/{word}-{time}-{more}"),
    });
    let fallback = format!("{RUNS}/{word}-{time}-more");
    let mut free = names.filter(|name| !root.join(name).exists());
    free.next().unwrap_or(fallback)
}
