//! The JSON gateway of etcd: requests and answers of its key-value service, whose keys and values are bytes in
//! base 64 and whose numbers are texts.

use super::http::Client;
use crate::driver::{Error, Fate};
use serde_json::{Value, json};
use std::io;

/// A key that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its value.
    pub value: String,
    /// The revision that it was written at.
    pub revision: u64,
}

/// An answer to reads: for each key what is there, and the revision of the whole store.
pub struct Reading {
    /// In the order of the keys asked for.
    pub entries: Vec<Option<Entry>>,
    /// The revision of the store when it was read.
    pub revision: u64,
}

/// How keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As all members agree.
    Linearizable,
    /// As the member asked has it, perhaps late.
    Local,
    /// As of a revision.
    At(u64),
}

/// What went wrong with a request.
pub enum Failure {
    /// The connection, before or after the request was sent.
    Broken(io::Error),
    /// The server answered with an error.
    Refused {
        /// Of HTTP.
        status: u16,
        /// In words.
        message: String,
    },
}

impl Failure {
    /// The error for it, where nothing can have been committed.
    pub fn harmless(self, shown: &str) -> Error {
        match self {
            Failure::Broken(error) => Error::new(Fate::Lost, format!("{shown}: {error}")),
            Failure::Refused { status, message } => {
                let fate = if may_pass(status, &message) {
                    Fate::Aborted
                } else {
                    Fate::Hopeless
                };
                refused(fate, status, &message, shown)
            }
        }
    }

    /// The error for it, where the request may have been carried out.
    pub fn of_commit(self, shown: &str) -> Error {
        match self {
            Failure::Broken(error) => Error::new(Fate::Unknown, format!("{shown}: {error}")),
            // Refused before it was proposed to the other members.
            Failure::Refused {
                status: 429,
                message,
            } => refused(Fate::Aborted, 429, &message, shown),
            Failure::Refused { status, message } => {
                let fate = if is_unclear(status) {
                    Fate::Unknown
                } else {
                    Fate::Hopeless
                };
                refused(fate, status, &message, shown)
            }
        }
    }
}

fn refused(fate: Fate, status: u16, message: &str, shown: &str) -> Error {
    Error::new(fate, format!("{shown}: {message}")).with_code(status.to_string())
}

/// Whether the server gave up on the request without saying what became of it: an error of its own, a
/// timeout, a request that was cancelled.
fn is_unclear(status: u16) -> bool {
    status >= 500 || status == 408 || status == 499
}

/// Whether it may go better another time: no leader, too busy, or a revision too old to be read.
fn may_pass(status: u16, message: &str) -> bool {
    is_unclear(status) || status == 429 || message.contains("compacted")
}

/// Sends a request to the gateway.
pub fn post(client: &mut Client, path: &str, body: &Value) -> Result<Value, Failure> {
    let response = client
        .request("POST", path, &body.to_string())
        .map_err(Failure::Broken)?;
    let parsed: Option<Value> = serde_json::from_slice(&response.body).ok();
    match (response.status, parsed) {
        (200, Some(answer)) => Ok(answer),
        (status, parsed) => {
            let message = parsed.as_ref().and_then(|answer| {
                let said = answer.get("message").or_else(|| answer.get("error"));
                said.and_then(Value::as_str).map(str::to_string)
            });
            let start: String = String::from_utf8_lossy(&response.body)
                .chars()
                .take(200)
                .collect();
            // An answer that is not JSON says nothing about what was done.
            let status = if status == 200 { 500 } else { status };
            Err(Failure::Refused {
                status,
                message: message.unwrap_or(start),
            })
        }
    }
}

/// Reads keys, all at one moment.
pub fn read(client: &mut Client, keys: &[String], fresh: Freshness) -> Result<Reading, Failure> {
    if let [key] = keys {
        let answer = post(client, "/v3/kv/range", &range(key, fresh))?;
        return reading(&answer, std::slice::from_ref(&&answer));
    }
    let ranges: Vec<Value> = keys
        .iter()
        .map(|key| json!({"request_range": range(key, fresh)}))
        .collect();
    let answer = post(client, "/v3/kv/txn", &json!({"success": ranges}))?;
    let parts = answer["responses"].as_array().map(Vec::as_slice);
    let parts: Vec<&Value> = parts
        .unwrap_or_default()
        .iter()
        .map(|part| &part["response_range"])
        .collect();
    if parts.len() != keys.len() {
        return Err(nonsense("fewer answers than keys"));
    }
    reading(&answer, &parts)
}

/// The request for a key.
pub fn range(key: &str, fresh: Freshness) -> Value {
    match fresh {
        Freshness::Linearizable => json!({"key": encode(key.as_bytes())}),
        Freshness::Local => json!({"key": encode(key.as_bytes()), "serializable": true}),
        Freshness::At(revision) => {
            json!({"key": encode(key.as_bytes()), "revision": revision.to_string()})
        }
    }
}

fn reading(answer: &Value, parts: &[&Value]) -> Result<Reading, Failure> {
    let entries = parts.iter().map(|part| {
        let Some(entry) = part["kvs"].get(0) else {
            return Ok(None);
        };
        let value = entry["value"].as_str().unwrap_or_default();
        let value = decode(value).and_then(|bytes| String::from_utf8(bytes).ok());
        let revision = number(&entry["mod_revision"]);
        match (value, revision) {
            (Some(value), Some(revision)) => Ok(Some(Entry { value, revision })),
            _ => Err(nonsense("a value without a revision, or not of letters")),
        }
    });
    let revision = number(&answer["header"]["revision"]);
    Ok(Reading {
        entries: entries.collect::<Result<_, Failure>>()?,
        revision: revision.ok_or_else(|| nonsense("no revision"))?,
    })
}

/// An answer that is none says nothing about what was done.
fn nonsense(what: &str) -> Failure {
    Failure::Refused {
        status: 500,
        message: format!("an answer that is none: {what}"),
    }
}

/// A number, which the gateway writes as a text.
pub fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base 64 (RFC 4648, section 4).
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= three.len() {
                letter.into()
            } else {
                '='
            });
        }
    }
    out
}

/// The bytes of a text in base 64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let place = LETTERS.iter().position(|&known| known == letter)?;
        bits = bits << 6 | u32::try_from(place).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_that_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(decode("?"), None);
    }
}
