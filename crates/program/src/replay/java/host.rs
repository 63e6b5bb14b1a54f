//! The process that runs the application, and the sockets of its threads.

use super::actor::{Conversation, JavaActor, Silent, Start, still};
use super::compile::{JavaApplication, joined};
use crate::expr::Value;
use crate::ir::{Program, Transaction};
use crate::replay::dialect::Dialect;
use crate::replay::error::ReplayError;
use crate::replay::level::ServerLevel;
use crate::replay::played::PlayedInstance;
use crate::replay::server::Server;
use crate::scenario::Scenario;
use crate::sql::split::one_line;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use workload::drivers::jdbc_url;

/// How long Java may take to start and to connect.
const START: Duration = Duration::from_secs(60);

/// An application that is compiled, and runs.
pub struct JavaHost {
    java: PathBuf,
    class_path: OsString,
    directory: PathBuf,
    instances: usize,
    /// None after something went wrong, until it is needed again.
    process: Option<Process>,
    seats: Vec<Conversation>,
    silent: Silent,
}

/// Java, which runs as long as its input is open.
struct Process {
    child: Child,
    _input: ChildStdin,
}

impl JavaHost {
    /// Compiles an application into a new directory inside `scratch` and starts it, ready for so many
    /// instances at a time on a server.
    pub fn start(
        application: &JavaApplication,
        server: &Server,
        instances: usize,
        scratch: &Path,
    ) -> Result<JavaHost, ReplayError> {
        let mut path = application.with_driver(server.dialect())?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        let directory = scratch.join(format!("isolde-java-{}-{nanos}", std::process::id()));
        let failed = |error: std::io::Error| ReplayError::new(format!("starting Java: {error}"));
        let (classes, drivers) = (directory.join("classes"), directory.join("drivers"));
        std::fs::create_dir_all(&classes).map_err(failed)?;
        match application.compile(&path, &classes, &drivers) {
            Ok(resources) => path.extend(resources),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&directory);
                return Err(error);
            }
        }
        path.insert(0, classes);
        path.push(drivers);
        let mut host = JavaHost {
            java: application.program("java"),
            class_path: joined(&path),
            directory,
            instances,
            process: None,
            seats: Vec::new(),
            silent: Silent::default(),
        };
        host.run(server)?;
        Ok(host)
    }

    /// Starts the application where it does not run, and connects its threads to the server.
    pub(super) fn run(&mut self, server: &Server) -> Result<(), ReplayError> {
        if self.process.is_some() {
            return Ok(());
        }
        let failed = |error: std::io::Error| ReplayError::new(format!("starting Java: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let word = format!("{:x}", since.unwrap_or_default().as_nanos());
        let mut child = Command::new(&self.java)
            // Short runs: quick to start is all that counts.
            .args([
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "-cp",
            ])
            .arg(&self.class_path)
            .arg("isolde.replay.Replayer")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| ReplayError::new(format!("{}: {error}", self.java.display())))?;
        let Some(mut input) = child.stdin.take() else {
            return Err(ReplayError::new("Java takes no input"));
        };
        let classes = encoded(&self.directory.join("classes").to_string_lossy());
        let told = writeln!(input, "{port}\t{word}\t{}\t{classes}", self.instances);
        let process = self.process.insert(Process {
            child,
            _input: input,
        });
        let told = told.map_err(failed);
        let seats = told.and_then(|()| greet(&mut process.child, &listener, &word, self.instances));
        let ready = seats.and_then(|seats| {
            self.seats = seats;
            self.open(server)
        });
        if ready.is_err() {
            self.stop();
        }
        ready
    }

    /// Connects every thread to the server.
    fn open(&mut self, server: &Server) -> Result<(), ReplayError> {
        let question = match server.dialect() {
            Dialect::Postgres => "select pg_backend_pid()",
            Dialect::MariaDb => "select connection_id()",
        };
        let mut line = format!(
            "OPEN\t{}\t{}",
            encoded(&jdbc_url(server.url())?),
            encoded(question)
        );
        for text in server.setup() {
            line.push_str(&format!("\t{}", encoded(&text)));
        }
        for seat in &mut self.seats {
            seat.tell(&line)?;
            let answer = seat.hear(START)?;
            let answer = answer.ok_or_else(|| ReplayError::new("Java does not connect"))?;
            let fields: Vec<&str> = answer.split('\t').collect();
            seat.session = match fields.as_slice() {
                ["OPENED", id] => id.parse().unwrap_or(0),
                _ => return Err(problem(&fields).during("Java, connecting to the server")),
            };
        }
        Ok(())
    }

    /// An actor for each instance of a scenario.
    pub(super) fn seat(
        &mut self,
        server: &Server,
        program: &Program,
        scenario: &Scenario,
        levels: &[ServerLevel],
    ) -> Result<Vec<JavaActor>, ReplayError> {
        let (count, room) = (scenario.instances.len(), self.seats.len());
        if count > room || levels.len() != count {
            let problem = format!("{count} instances, but room for {room} in Java");
            return Err(ReplayError::new(problem));
        }
        let mut starts = Vec::new();
        for (at, instance) in scenario.instances.iter().enumerate() {
            let Some(transaction) = program.transactions.get(instance.transaction) else {
                return Err(ReplayError::new(
                    "an instance of a transaction that is not there",
                ));
            };
            let silent = self.silent.lock();
            if silent.is_ok_and(|silent| silent.contains(&transaction.name)) {
                return Err(still(&transaction.name));
            }
            let line = start_line(server, transaction, (scenario, at), levels[at]);
            let statements = transaction.statements().into_iter();
            starts.push(Start {
                line,
                name: &transaction.name,
                thinking: server.options.deadline / 3,
                statements: statements.map(|one| one_line(&one.sql)).collect(),
            });
        }
        let seats = self.seats.drain(..count);
        let actors = seats.zip(starts);
        let mut actors: Vec<JavaActor> = actors
            .map(|(seat, start)| JavaActor::new(seat, start, &self.silent))
            .collect();
        // What methods do before the transaction that is played is done before all, one by one.
        let mut refused = None;
        for (actor, instance) in actors.iter_mut().zip(&scenario.instances) {
            let transaction = &program.transactions[instance.transaction];
            if refused.is_none() && part_of(&transaction.name).1 {
                let statements = transaction.statements();
                let texts: Vec<String> = statements.iter().map(|one| one_line(&one.sql)).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let reason = actor.lead(&texts)?;
                refused = reason.map(|reason| (transaction.name.as_str(), reason));
            }
        }
        if let Some((name, reason)) = refused {
            let deadline = server.options.deadline;
            let mut free = Vec::new();
            for actor in actors {
                free.push(actor.free(deadline)?);
            }
            free.append(&mut self.seats);
            self.seats = free;
            return Err(ReplayError::unplayable(format!(
                "what the method does before {name} does not get there: {reason}; without --java its \
                 statements are played"
            )));
        }
        Ok(actors)
    }

    /// Whether somebody still has threads of it, after an error.
    pub(super) fn lacks_threads(&self) -> bool {
        self.seats.len() < self.instances
    }

    /// Ends the application: after an error nobody knows what its threads wait for.
    pub(super) fn stop(&mut self) {
        self.seats.clear();
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }

    /// Takes the threads back when their methods have ended.
    pub(super) fn unseat(
        &mut self,
        actors: Vec<JavaActor>,
        deadline: Duration,
    ) -> Result<Vec<PlayedInstance>, ReplayError> {
        let mut played = Vec::new();
        let mut seats = Vec::new();
        for actor in actors {
            let (seat, instance) = actor.end(deadline)?;
            seats.push(seat);
            played.push(instance);
        }
        seats.append(&mut self.seats);
        self.seats = seats;
        Ok(played)
    }
}

impl Drop for JavaHost {
    fn drop(&mut self) {
        self.stop();
        // What cannot be removed is left to whoever gave the directory.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The line that starts the method of an instance.
fn start_line(
    server: &Server,
    transaction: &Transaction,
    (scenario, at): (&Scenario, usize),
    level: ServerLevel,
) -> String {
    let dialect = server.dialect();
    let instance = &scenario.instances[at];
    let first = match scenario.begins_early(at) {
        true => level.snapshot(dialect),
        false => String::new(),
    };
    let before = level.session(dialect, server.has_snapshot()).join("\n");
    let name = encoded(part_of(&transaction.name).0);
    let file = encoded(&transaction.place.file);
    let (before, first) = (encoded(&before), encoded(&first));
    let mut line = format!("RUN\t{name}\t{file}\t{before}\t{first}");
    for (parameter, value) in transaction.parameters.iter().zip(&instance.arguments) {
        line.push_str(&format!(
            "\t{}\t{}",
            encoded(&parameter.name),
            written(value)
        ));
    }
    line
}

/// Waits for the threads of the application.
fn greet(
    child: &mut Child,
    listener: &TcpListener,
    word: &str,
    count: usize,
) -> Result<Vec<Conversation>, ReplayError> {
    let failed = |error: std::io::Error| ReplayError::new(format!("waiting for Java: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let until = Instant::now() + START;
    let mut found: Vec<Option<Conversation>> = (0..count).map(|_| None).collect();
    while found.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some((at, seat)) = hello(stream, word).map_err(failed)?
                    && let Some(slot) = found.get_mut(at)
                {
                    *slot = Some(seat);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if let Ok(Some(status)) = child.try_wait() {
                    return Err(ReplayError::new(format!("Java ended at once ({status})")));
                }
                if Instant::now() > until {
                    return Err(ReplayError::new(format!(
                        "Java did not start within {START:?}"
                    )));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(found.into_iter().flatten().collect())
}

/// The method that a transaction is of, and whether it is what that does after a commit of its own
/// (`name.2`).
fn part_of(name: &str) -> (&str, bool) {
    match name.rsplit_once('.') {
        Some((method, number)) if number.parse::<u32>().is_ok() => (method, true),
        _ => (name, false),
    }
}

/// The thread that connected, and its number; none if it is a stranger.
fn hello(stream: TcpStream, word: &str) -> std::io::Result<Option<(usize, Conversation)>> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(START))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let fields: Vec<&str> = line.trim_end().split('\t').collect();
    let ["HELLO", given, at] = fields.as_slice() else {
        return Ok(None);
    };
    let (true, Ok(at)) = (*given == word, at.parse()) else {
        return Ok(None);
    };
    stream.set_read_timeout(None)?;
    Ok(Some((at, Conversation::new(stream, reader))))
}

/// The error in a line that says what is broken.
pub(super) fn problem(fields: &[&str]) -> ReplayError {
    match fields {
        ["BROKEN", text] => ReplayError::new(decoded(text)),
        _ => ReplayError::new(format!("Java says {}", fields.join(" "))),
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Null => "n".to_string(),
        Value::Boolean(truth) => format!("b{}", u8::from(*truth)),
        Value::Integer(number) => format!("i{number}"),
        Value::Real(number) => format!("r{number}"),
        Value::Text(text) => format!("t{}", encoded(text)),
        Value::List(all) => {
            let all: Vec<String> = all.iter().map(written).collect();
            format!("[{}]", all.join(","))
        }
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 (RFC 4648).
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            match place <= chunk.len() {
                true => out.push(char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

/// The text of base 64; what is none is left out.
pub(super) fn decoded(text: &str) -> String {
    let digit = |byte: u8| DIGITS.iter().position(|one| *one == byte);
    let digits: Vec<u32> = text.bytes().filter_map(digit).map(|d| d as u32).collect();
    let mut bytes = Vec::new();
    for chunk in digits.chunks(4) {
        let bits = chunk.iter().fold(0, |sum, one| sum << 6 | one) << (6 * (4 - chunk.len()));
        let all = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        bytes.extend_from_slice(&all[..chunk.len().saturating_sub(1)]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_base_64() {
        for text in ["", "a", "ab", "abc", "abcd", "tab\tline\nä€𝄞"] {
            assert_eq!(decoded(&encoded(text)), text);
        }
        assert_eq!(encoded("select 1"), "c2VsZWN0IDE=");
        assert_eq!(decoded("!"), "");
    }

    #[test]
    fn values_are_written_for_java() {
        let list = Value::List(vec![Value::Integer(-1), Value::Text("a,b".to_string())]);
        assert_eq!(written(&list), "[i-1,tYSxi]");
        let nested = Value::List(vec![Value::Null, list]);
        assert_eq!(written(&nested), "[n,[i-1,tYSxi]]");
        assert_eq!(written(&Value::Boolean(true)), "b1");
    }
}
