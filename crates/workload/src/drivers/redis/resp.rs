//! The protocol of Redis, RESP2, as far as a workload needs it: commands out, replies in.
//!
//! Written by hand because the crate `redis` takes 42 s of processor time to build, without its default
//! features, for what is a page of code.

use crate::drivers::wire::Wire;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::Duration;

/// Replies nest no deeper: the results of a transaction, of which each may be a list.
const DEPTH_MAX: u32 = 6;

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+OK` and the like.
    Status(String),
    /// An error: a word in capitals, and a sentence.
    Error(String),
    /// A number.
    Integer(i64),
    /// A text; none where there is nothing.
    Text(Option<String>),
    /// Several replies; none where a transaction was not executed.
    Array(Option<Vec<Reply>>),
}

/// Commands in the form that the server reads.
#[derive(Default)]
pub struct Commands {
    bytes: Vec<u8>,
    count: usize,
}

impl Commands {
    /// Adds a command.
    pub fn add<W: AsRef<str>>(&mut self, words: &[W]) {
        self.bytes
            .extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            let word = word.as_ref();
            self.bytes
                .extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        self.count += 1;
    }
}

/// A connection.
pub struct Client {
    wire: Wire<TcpStream>,
}

impl Client {
    /// Connects to `host:port`.
    pub fn connect(address: &str, patience: Duration) -> io::Result<Client> {
        let wire = Wire::connect(address, patience)?;
        Ok(Client { wire })
    }

    /// Whether the server has closed the connection, as far as we know without asking.
    pub fn is_closed(&mut self) -> bool {
        self.wire.unasked().is_err()
    }

    /// Sends commands together and gives their replies in order.
    pub fn ask_all(&mut self, commands: &Commands) -> io::Result<Vec<Reply>> {
        self.wire.send(&commands.bytes)?;
        (0..commands.count).map(|_| self.reply(0)).collect()
    }

    /// Sends one command.
    pub fn ask<W: AsRef<str>>(&mut self, words: &[W]) -> io::Result<Reply> {
        let mut commands = Commands::default();
        commands.add(words);
        self.wire.send(&commands.bytes)?;
        self.reply(0)
    }

    fn reply(&mut self, depth: u32) -> io::Result<Reply> {
        let line = String::from_utf8(self.wire.line()?).map_err(|_| wrong("not UTF-8"))?;
        let Some(rest) = line.get(1..) else {
            return Err(wrong("an empty line"));
        };
        let number = || rest.parse::<i64>().map_err(|_| wrong(&line));
        match line.as_bytes()[0] {
            b'+' => Ok(Reply::Status(rest.to_string())),
            b'-' => Ok(Reply::Error(rest.to_string())),
            b':' => Ok(Reply::Integer(number()?)),
            b'$' => {
                let Ok(len) = usize::try_from(number()?) else {
                    return Ok(Reply::Text(None));
                };
                let mut text = self.wire.block(len.saturating_add(2))?;
                text.truncate(len);
                let text = String::from_utf8(text).map_err(|_| wrong("not UTF-8"))?;
                Ok(Reply::Text(Some(text)))
            }
            b'*' if depth < DEPTH_MAX => {
                let Ok(len) = usize::try_from(number()?) else {
                    return Ok(Reply::Array(None));
                };
                let items = (0..len).map(|_| self.reply(depth + 1));
                Ok(Reply::Array(Some(items.collect::<io::Result<_>>()?)))
            }
            _ => Err(wrong(&line)),
        }
    }
}

fn wrong(what: &str) -> io::Error {
    let start: String = what.chars().take(80).collect();
    io::Error::new(
        ErrorKind::InvalidData,
        format!("not an answer of Redis: {start}"),
    )
}
