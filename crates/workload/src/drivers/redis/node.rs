//! Where a Redis server is, how to get there, and what its errors mean.

use super::resp::{Client, Reply};
use crate::driver::{Error, Fate};
use crate::drivers::address::Address;
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
        let parts = Address::parse(url)?;
        let database = parts.database.clone().unwrap_or_default();
        if !database.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(parts.hopeless("after the slash comes the number of a database"));
        }
        Ok(Node {
            address: parts.place(6379)?,
            user: parts.user.unwrap_or_default(),
            password: parts.password.unwrap_or_default(),
            database,
            shown: parts.shown,
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
