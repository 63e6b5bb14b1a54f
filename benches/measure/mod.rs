//! What the benchmarks share: generated files and the cost of a process.
#![allow(dead_code)] // Each benchmark uses its part.

use history::format::{self, Format};
use history::{History, Level};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wait4::Wait4;
use workload::{Config, generate};

/// Any failure; a benchmark ends with its text.
pub type Failure = Box<dyn std::error::Error>;

/// A directory that is removed with everything in it.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Scratch, Failure> {
        let unique = format!("isolde-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing is lost if the system has to remove it later.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A history of `txns` transactions in all.
pub fn history(config: &Config, txns: u64) -> Result<History, Failure> {
    let config = Config {
        txns_per_session: (txns / u64::from(config.sessions)).max(1).try_into()?,
        ..config.clone()
    };
    Ok(generate(&config)?.history)
}

/// Writes a history in the text format of the peers.
pub fn write(history: &History, path: &Path) -> Result<(), Failure> {
    write_as(history, Format::Text, path)
}

/// Writes a history in any format.
pub fn write_as(history: &History, format: Format, path: &Path) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    format::write(history, format, &mut out)?;
    std::io::Write::flush(&mut out)?;
    Ok(())
}

/// A history in the formats of the peers.
pub struct Files {
    pub text: PathBuf,
    pub dbcop: PathBuf,
}

impl Files {
    /// Writes both, over those written before.
    pub fn write(history: &History, scratch: &Scratch) -> Result<Files, Failure> {
        let files = Files {
            text: scratch.file("history.txt"),
            dbcop: scratch.file("history.bincode"),
        };
        write(history, &files.text)?;
        write_as(history, Format::DbcopBincode, &files.dbcop)?;
        Ok(files)
    }
}

/// What a process used, and its exit code.
pub struct Cost {
    pub cpu_seconds: f64,
    pub peak_mebibytes: f64,
    pub code: Option<i32>,
}

/// Short runs are repeated up to so often, as long as they take less than so many CPU seconds together.
const RUNS_MAX: usize = 5;
const RUNS_SECONDS_MAX: f64 = 1.0;

/// The cheapest of several runs, where they are short: one is at the mercy of whatever else goes on.
pub fn best(mut run: impl FnMut() -> Result<Cost, Failure>) -> Result<Cost, Failure> {
    let mut best = run()?;
    let mut spent = best.cpu_seconds;
    for _ in 1..RUNS_MAX {
        if spent > RUNS_SECONDS_MAX {
            break;
        }
        let cost = run()?;
        spent += cost.cpu_seconds;
        if cost.cpu_seconds < best.cpu_seconds {
            best = cost;
        }
    }
    Ok(best)
}

/// Runs a command to its end, its output thrown away.
pub fn run(program: &str, arguments: &[String]) -> Result<Cost, Failure> {
    run_into(program, arguments, Stdio::null())
}

/// As the first argument: the others are a command to run, for [`run_into`].
const RUNNER: &str = "--run-and-tell-cost";

/// Whether this process was started by [`run_into`], whose work is done then. Every benchmark that runs commands asks
/// this first.
pub fn is_runner() -> Result<bool, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [first, program, arguments @ ..] = &words[..] else {
        return Ok(false);
    };
    if first != RUNNER {
        return Ok(false);
    }
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stderr(Stdio::null()).spawn()?;
    let used = child.wait4()?;
    let cpu = used.rusage.utime + used.rusage.stime;
    let code = used
        .status
        .code()
        .map_or(String::new(), |code| code.to_string());
    eprintln!("{} {} {code}", cpu.as_secs_f64(), used.rusage.maxrss);
    Ok(true)
}

/// Runs a command to its end.
///
/// A new process counts the peak of the one that starts it as its own, until it has one that is higher, and a benchmark
/// holds whole histories. So this program is started once more, with nothing in its memory, to start the command.
pub fn run_into(program: &str, arguments: &[String], output: Stdio) -> Result<Cost, Failure> {
    let told = Command::new(std::env::current_exe()?)
        .args([RUNNER, program])
        .args(arguments)
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    let told = String::from_utf8_lossy(&told.stderr);
    let mut words = told.split_whitespace();
    let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
    let (Some(cpu_seconds), Some(peak)) = (number(), number()) else {
        return Err(format!("{program}: {told}").into());
    };
    Ok(Cost {
        cpu_seconds,
        peak_mebibytes: peak / f64::from(1 << 20),
        code: number().map(|code| code as i32),
    })
}

/// Runs `isolde check` on a file.
pub fn check(level: Level, file: &Path) -> Result<Cost, Failure> {
    let file = file.display().to_string();
    let level = level.to_string();
    let arguments = ["check".into(), "--level".into(), level, file];
    let cost = run(env!("CARGO_BIN_EXE_isolde"), &arguments)?;
    if !matches!(cost.code, Some(0 | 1)) {
        return Err(format!("{arguments:?} ended with {:?}", cost.code).into());
    }
    Ok(cost)
}

/// Runs `isolde check` on a file with a time limit in seconds, whatever comes of it.
pub fn try_check(level: Level, file: &Path, timeout: u64) -> Result<Cost, Failure> {
    let (file, level) = (file.display().to_string(), level.to_string());
    let timeout = timeout.to_string();
    let (check, for_level, limit) = ("check".into(), "--level".into(), "--timeout".into());
    let arguments = [check, for_level, level, limit, timeout, file];
    run(env!("CARGO_BIN_EXE_isolde"), &arguments)
}

/// A list of numbers from the environment.
pub fn numbers(variable: &str, default: &[u64]) -> Result<Vec<u64>, Failure> {
    match std::env::var(variable) {
        Ok(text) => Ok(text
            .split(',')
            .map(|number| number.trim().parse())
            .collect::<Result<_, _>>()?),
        Err(_) => Ok(default.to_vec()),
    }
}

/// The CPU time of this thread, where the system tells it, else none.
pub fn thread_cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}
