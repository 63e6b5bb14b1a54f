//! Where a Redis server is, how to get there, and what its errors mean.

use super::super::{wire_address, without_password};
use super::resp::{Client, Reply};
use crate::driver::{Error, Fate};
use std::io;
use std::time::Duration;

/// Where a node is.
pub struct Node {
    address: String,
    user: String,
    password: String,
    database: String,
    /// The URL without the password.
    pub shown: String,
}

impl Node {
    /// The node of a URL.
    pub fn of_url(url: &str) -> Result<Node, Error> {
        let shown = without_password(url);
        let wrong = || {
            Error::hopeless(format!(
                "{shown}: not of the form redis://[user:password@]host[:port][/db]"
            ))
        };
        let rest = url.strip_prefix("redis://").ok_or_else(wrong)?;
        let (login, place) = match rest.rfind('@') {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => ("", rest),
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, database) = place.split_once('/').unwrap_or((place, ""));
        if !database.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        Ok(Node {
            address: wire_address(host, 6379).ok_or_else(wrong)?,
            user: user.to_string(),
            password: percent_decoded(password),
            database: database.to_string(),
            shown: shown.clone(),
        })
    }

    /// Connects, logs in and chooses the database.
    pub fn connect(&self, patience: Duration) -> Result<Client, Error> {
        let lost = |error: io::Error| Error::new(Fate::Lost, format!("{}: {error}", self.shown));
        let mut client = Client::connect(&self.address, patience).map_err(lost)?;
        if !self.password.is_empty() {
            let words = ["AUTH", &self.user, &self.password];
            // An old server knows no users, and takes the password alone.
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            self.expect_ok(client.ask(&words).map_err(lost)?)?;
        }
        if !self.database.is_empty() {
            let reply = client.ask(&["SELECT", &self.database]).map_err(lost)?;
            self.expect_ok(reply)?;
        }
        Ok(client)
    }

    /// An error, if the reply is one.
    pub fn expect_ok(&self, reply: Reply) -> Result<(), Error> {
        match reply {
            Reply::Error(text) if self.password.is_empty() || !text.contains(&self.password) => {
                let fate = if may_pass(&text) {
                    Fate::Lost
                } else {
                    Fate::Hopeless
                };
                Err(coded(fate, &text, &self.shown))
            }
            Reply::Error(_) => Err(Error::hopeless(format!("{}: refused", self.shown))),
            _ => Ok(()),
        }
    }
}

/// A text in which `%2F` and the like stand for letters.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The code of an error.
pub fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Whether an error says that the server is not ready, or not the one to ask, now.
pub fn may_pass(text: &str) -> bool {
    let passing = [
        "LOADING",
        "BUSY",
        "MASTERDOWN",
        "READONLY",
        "TRYAGAIN",
        "CLUSTERDOWN",
        "OOM",
        "NOREPLICAS",
        "MISCONF",
        "UNBLOCKED",
    ];
    passing.contains(&first_word(text))
}

/// An error with the server's code and what the server said.
pub fn coded(fate: Fate, text: &str, shown: &str) -> Error {
    Error::new(fate, format!("{shown}: {text}")).with_code(first_word(text))
}

/// An error for a reply that makes no sense.
pub fn unexpected(reply: &Reply, shown: &str) -> Error {
    let text: String = format!("{reply:?}").chars().take(200).collect();
    Error::hopeless(format!("{shown}: an answer that is none: {text}"))
}
