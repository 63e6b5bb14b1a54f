//! Answers: status, content, and the headers that keep a page to itself.

use serde_json::Value;
use std::io::{Result as IoResult, Write};
use std::net::TcpStream;

/// What may be loaded and run: what this server sent as a file of its own. Nothing inline, nothing
/// from elsewhere, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What an answer consists of.
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// A file of the page itself.
    Fixed(&'static [u8]),
    /// Events, as they come.
    Events(Box<dyn Events>),
}

/// A source of events for `EventSource`.
pub trait Events: Send {
    /// The next event, as lines of the protocol; empty if there was none for a while, nothing if
    /// there will be no more.
    fn next(&mut self) -> Option<String>;
}

/// An answer.
pub struct Response {
    /// The status.
    pub status: u16,
    /// The type of the content.
    pub kind: &'static str,
    /// The content.
    pub content: Content,
    /// Further headers. Values are ours, without line ends.
    pub headers: Vec<(&'static str, String)>,
}

impl Response {
    /// A file of the page.
    pub fn fixed(kind: &'static str, bytes: &'static [u8]) -> Response {
        Response::new(200, kind, Content::Fixed(bytes))
    }

    /// Data.
    pub fn json(value: &Value) -> Response {
        let text = value.to_string();
        Response::new(200, "application/json", Content::Bytes(text.into_bytes()))
    }

    /// Something to keep as a file.
    pub fn download(kind: &'static str, name: &str, text: String) -> Response {
        let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let name: String = name.chars().filter(|&letter| safe(letter)).collect();
        let mut response = Response::new(200, kind, Content::Bytes(text.into_bytes()));
        let disposition = format!("attachment; filename=\"{name}\"");
        response.headers.push(("Content-Disposition", disposition));
        response
    }

    /// Events as they come.
    pub fn events(source: impl Events + 'static) -> Response {
        Response::new(200, "text/event-stream", Content::Events(Box::new(source)))
    }

    /// A refusal with its reason, as data.
    pub fn refusal(status: u16, reason: &str) -> Response {
        let mut response = Response::json(&serde_json::json!({"error": reason}));
        response.status = status;
        response
    }

    fn new(status: u16, kind: &'static str, content: Content) -> Response {
        Response {
            status,
            kind,
            content,
            headers: Vec::new(),
        }
    }

    /// Sends the answer. `running` turns false when the server stops.
    pub(super) fn send(self, mut stream: &TcpStream, running: &dyn Fn() -> bool) -> IoResult<()> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}; charset=utf-8\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             X-Frame-Options: DENY\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n",
            self.status,
            phrase(self.status),
            self.kind
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let bytes: &[u8] = match &self.content {
            Content::Bytes(bytes) => bytes,
            Content::Fixed(bytes) => bytes,
            Content::Events(_) => &[],
        };
        if !matches!(self.content, Content::Events(_)) {
            head.push_str(&format!("Content-Length: {}\r\n", bytes.len()));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(bytes)?;
        if let Content::Events(mut events) = self.content {
            while running()
                && let Some(event) = events.next()
            {
                // A comment tells whether the other side is still there.
                let text = if event.is_empty() { ":\n\n" } else { &event };
                stream.write_all(text.as_bytes())?;
            }
        }
        stream.flush()
    }
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}
