//! An instance that is a method of the application.

use super::host::{decoded, problem};
use crate::execute::ResultSet;
use crate::expr::{StatementId, Value};
use crate::replay::error::ReplayError;
use crate::replay::played::{Executed, Fate, PlayedInstance};
use crate::replay::schedule::{Actor, Began};
use crate::scenario::Event;
use crate::sql::split::one_line;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The transactions whose methods once did nothing for too long. They are not tried again.
pub(super) type Silent = Arc<Mutex<BTreeSet<String>>>;

/// What is known of a method before it runs.
pub(super) struct Start<'a> {
    /// The line that starts it.
    pub line: String,
    /// The transaction.
    pub name: &'a str,
    /// How long it may compute between its statements.
    pub thinking: Duration,
    /// The texts of its statements, each on one line.
    pub statements: Vec<String>,
}

/// The socket of a thread of the application.
pub(super) struct Conversation {
    /// The number by which the server knows its connection.
    pub session: u64,
    stream: TcpStream,
    lines: Receiver<String>,
}

impl Conversation {
    pub fn new(stream: TcpStream, reader: BufReader<TcpStream>) -> Conversation {
        let (say, lines) = channel();
        // It ends with the socket, or when nobody listens.
        thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        Conversation {
            session: 0,
            stream,
            lines,
        }
    }

    pub fn tell(&mut self, line: &str) -> Result<(), ReplayError> {
        let told = self.stream.write_all(format!("{line}\n").as_bytes());
        told.map_err(|error| ReplayError::new(format!("Java is gone: {error}")))
    }

    pub fn hear(&mut self, within: Duration) -> Result<Option<String>, ReplayError> {
        match self.lines.recv_timeout(within) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ReplayError::new("Java has ended")),
        }
    }
}

/// What the application asks for next.
enum Want {
    Statement(String),
    Commit,
    Rollback,
}

/// What is under way.
enum Sent {
    Begin,
    Statement(String),
    Commit,
    Rollback,
    /// The server refused something; the rollback is under way.
    Refusal(Fate),
}

/// A thread of the application that runs one transaction.
pub(super) struct JavaActor {
    talk: Conversation,
    /// The line that starts the method, until it is sent.
    start: Option<String>,
    want: Option<Want>,
    sent: Option<Sent>,
    executed: Vec<Executed>,
    begun: u32,
    fate: Option<Fate>,
    /// Whether the method has returned.
    is_back: bool,
    /// What it threw.
    thrown: Option<String>,
    name: String,
    thinking: Duration,
    statements: Vec<String>,
    silent: Silent,
    /// When it was last told to go on.
    since: Instant,
}

impl JavaActor {
    /// The thread that will run a method.
    pub fn new(talk: Conversation, start: Start<'_>, silent: &Silent) -> JavaActor {
        JavaActor {
            talk,
            start: Some(start.line),
            name: start.name.to_string(),
            thinking: start.thinking,
            statements: start.statements,
            want: None,
            sent: None,
            executed: Vec::new(),
            begun: 0,
            fate: None,
            is_back: false,
            thrown: None,
            silent: Arc::clone(silent),
            since: Instant::now(),
        }
    }

    /// The error of a method that does nothing, which is not tried again.
    fn is_silent(&self) -> ReplayError {
        if let Ok(mut silent) = self.silent.lock() {
            silent.insert(self.name.clone());
        }
        still(&self.name)
    }

    fn ended(&mut self, report: &str, thrown: &str) {
        self.saw(report);
        self.is_back = true;
        self.thrown = Some(decoded(thrown)).filter(|text| !text.is_empty());
    }

    /// Starts the method, and lets it run alone until it is behind a commit and asks for one of these
    /// statements: there the transaction begins that is played. Why it does not come there, else.
    pub fn lead(&mut self, statements: &[&str]) -> Result<Option<String>, ReplayError> {
        let Some(start) = self.start.take() else {
            return Ok(None);
        };
        self.talk.tell(&start)?;
        self.hear_led()?;
        let mut committed = false;
        loop {
            self.ask()?;
            let Some(want) = self.want.take() else {
                return Ok(Some("it ends before".to_string()));
            };
            if let (true, Want::Statement(text)) = (committed, &want)
                && statements.contains(&one_line(text).as_str())
            {
                self.fate = None;
                self.want = Some(want);
                return Ok(None);
            }
            committed |= matches!(want, Want::Commit);
            self.talk.tell("LEAD")?;
            if let Some(refused) = self.hear_led()? {
                return Ok(Some(refused));
            }
        }
    }

    /// Hears what came of a step of a method that runs alone; why the server refused it, if it did.
    fn hear_led(&mut self) -> Result<Option<String>, ReplayError> {
        let Some(line) = self.talk.hear(self.thinking)? else {
            return Err(self.is_silent());
        };
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["BEGUN"] | ["DONE", _] => Ok(None),
            ["FAIL", state, _, message] => {
                let said = format!("{} [{state}]", decoded(message));
                self.talk.tell("ROLLBACK")?;
                self.hear_led()?;
                Ok(Some(said))
            }
            _ => Err(problem(&fields)),
        }
    }

    /// The thread of a method, once that has ended; or that of one that was never started.
    pub fn free(self, deadline: Duration) -> Result<Conversation, ReplayError> {
        match self.start {
            Some(_) => Ok(self.talk),
            None => self.end(deadline).map(|(talk, _)| talk),
        }
    }

    /// Whether a statement is about no table and was not read, as a pool sends one to try a connection: it
    /// is none of those that have turns.
    fn is_aside(&self, text: &str) -> bool {
        let text = one_line(text);
        let lower = text.to_ascii_lowercase();
        let lower = lower.trim_end_matches(';').trim();
        let first = lower.split(' ').next().unwrap_or_default();
        let tries = matches!(lower, "select 1" | "select 1 from dual" | "values 1");
        (tries || matches!(first, "set" | "show")) && !self.statements.contains(&text)
    }

    /// Adds what the application saw to the statement it saw it after.
    fn saw(&mut self, report: &str) {
        if let Some(last) = self.executed.last_mut() {
            let lines = decoded(report);
            let row = |line: &str| vec![Value::Text(line.to_string())];
            last.result.rows.extend(lines.lines().map(row));
        }
    }

    /// Waits until the application asks for something.
    fn ask(&mut self) -> Result<(), ReplayError> {
        if self.want.is_some() || self.is_back {
            return Ok(());
        }
        let Some(line) = self.talk.hear(self.thinking)? else {
            return Err(self.is_silent());
        };
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["WANT", kind, text, report] => {
                self.saw(report);
                self.want = Some(match *kind {
                    "C" => Want::Commit,
                    "R" => Want::Rollback,
                    _ => Want::Statement(decoded(text)),
                });
            }
            ["END", report, thrown] => {
                self.ended(report, thrown);
                // A method that ended without a word of its end has done nothing that lasts.
                self.fate.get_or_insert(Fate::Undone);
            }
            _ => return Err(problem(&fields)),
        }
        Ok(())
    }

    /// Waits until the method has returned; its thread is free then.
    pub fn end(
        mut self,
        deadline: Duration,
    ) -> Result<(Conversation, PlayedInstance), ReplayError> {
        if self.want.take().is_some() {
            self.talk.tell("STOP")?;
        }
        while !self.is_back {
            let Some(line) = self.talk.hear(deadline)? else {
                return Err(ReplayError::new(
                    "a method does not return after its transaction",
                ));
            };
            let fields: Vec<&str> = line.split('\t').collect();
            match fields.as_slice() {
                ["END", report, thrown] => self.ended(report, thrown),
                ["WANT", ..] => self.talk.tell("STOP")?,
                _ => return Err(problem(&fields)),
            }
        }
        let played = PlayedInstance {
            executed: self.executed,
            fate: self.fate.unwrap_or(Fate::Undone),
            thrown: self.thrown,
        };
        Ok((self.talk, played))
    }

    fn done(&mut self, sent: Sent, count: &str) -> Event {
        match sent {
            Sent::Begin => Event::Begin,
            Sent::Statement(text) => {
                let position = self.executed.len() as u32;
                self.executed.push(Executed {
                    origin: StatementId(position),
                    text,
                    result: ResultSet {
                        rows: Vec::new(),
                        changed: count.parse().unwrap_or(0),
                    },
                    ordered: true,
                    accesses: vec![crate::replay::cells::Access::Unknown],
                });
                Event::Statement(position)
            }
            Sent::Commit => {
                self.fate = Some(Fate::Committed);
                Event::Commit
            }
            Sent::Rollback => {
                self.fate = Some(Fate::Undone);
                Event::Commit
            }
            Sent::Refusal(fate) => {
                self.fate = Some(fate);
                Event::Commit
            }
        }
    }

    /// The server said no.
    fn failed(&mut self, sent: &Sent, said: [&str; 3]) -> Result<(), ReplayError> {
        let [state, code, message] = said;
        let message = decoded(message);
        let (text, statement) = match sent {
            Sent::Statement(text) => (text.as_str(), Some(self.begun.saturating_sub(1))),
            _ => ("commit", None),
        };
        // Rights, names, syntax: nothing that the schedule brought about.
        let class = state.get(..2).unwrap_or_default();
        if matches!(class, "08" | "0A" | "26" | "28" | "3D" | "3F" | "42" | "nu") {
            return Err(ReplayError::new(format!("`{text}`: {message} [{state}]")));
        }
        let code = if code == "0" { state } else { code };
        self.sent = Some(Sent::Refusal(Fate::Refused {
            code: code.to_string(),
            message,
            statement,
        }));
        self.talk.tell("ROLLBACK")
    }
}

/// What is said of a transaction whose method does nothing.
pub(super) fn still(name: &str) -> ReplayError {
    ReplayError::unplayable(format!(
        "the code of {name} does nothing for long: it waits for something, or does not end; without \
         --java its statements are played"
    ))
}

impl Actor for JavaActor {
    fn session(&self) -> u64 {
        self.talk.session
    }

    fn perform(&mut self, event: Event) -> Result<Began, ReplayError> {
        if let Some(start) = self.start.take() {
            self.talk.tell(&start)?;
            (self.sent, self.since) = (Some(Sent::Begin), Instant::now());
            return Ok(match event {
                Event::Begin => Began::Turn,
                _ => Began::Before,
            });
        }
        if event == Event::Begin {
            // A method that was led here is in its transaction.
            return Ok(Began::Nothing);
        }
        self.ask()?;
        let (sent, began) = match (event, self.want.take()) {
            (_, Some(Want::Statement(text))) if self.is_aside(&text) => {
                (Sent::Statement(text), Began::Before)
            }
            (Event::Commit, Some(Want::Statement(text))) => (Sent::Statement(text), Began::Before),
            (_, Some(Want::Statement(text))) => (Sent::Statement(text), Began::Turn),
            (Event::Commit, Some(Want::Commit)) => (Sent::Commit, Began::Turn),
            (Event::Commit, Some(Want::Rollback)) => (Sent::Rollback, Began::Turn),
            (_, other) => {
                self.want = other;
                return Ok(Began::Nothing);
            }
        };
        self.begun += u32::from(matches!(sent, Sent::Statement(_)));
        self.sent = Some(sent);
        self.talk.tell("GO")?;
        Ok(began)
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Event>, ReplayError> {
        let Some(line) = self.talk.hear(within)? else {
            // Until then nothing was sent to the server that it could wait for.
            let slow =
                matches!(self.sent, Some(Sent::Begin)) && self.since.elapsed() > self.thinking;
            return if slow {
                Err(self.is_silent())
            } else {
                Ok(None)
            };
        };
        let Some(sent) = self.sent.take() else {
            return Ok(None);
        };
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["BEGUN"] => Ok(Some(self.done(sent, ""))),
            ["DONE", count] => Ok(Some(self.done(sent, count))),
            ["FAIL", state, code, message] => {
                self.failed(&sent, [*state, *code, *message])?;
                Ok(None)
            }
            _ => Err(problem(&fields)),
        }
    }

    fn has_ended(&self) -> bool {
        self.fate.is_some()
    }

    fn statements(&self) -> u32 {
        self.begun
    }

    fn doing(&self) -> String {
        match &self.sent {
            Some(Sent::Statement(text)) => format!("`{text}`"),
            Some(Sent::Begin) => "begin".to_string(),
            Some(Sent::Commit) => "commit".to_string(),
            Some(Sent::Rollback | Sent::Refusal(_)) => "rollback".to_string(),
            None => "nothing".to_string(),
        }
    }
}
