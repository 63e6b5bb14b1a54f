//! As much of HTTP/1.1 as talking to one server takes: requests with a body, answers with a length or in
//! chunks, one connection for all of them.
//!
//! Written by hand because the crate `ureq` takes 16 s of processor time to build, without TLS, for what
//! is a page of code.

use crate::drivers::wire::Wire;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::Duration;

/// Headers of an answer; nobody sends more.
const HEADERS_MAX: usize = 200;

/// A connection.
pub struct Client {
    wire: Wire<TcpStream>,
    address: String,
    /// The server said that it would close the connection.
    closing: bool,
}

/// What the server answered.
pub struct Response {
    /// 200 if all is well.
    pub status: u16,
    /// As it came.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects to `host:port`.
    pub fn connect(address: &str, patience: Duration) -> io::Result<Client> {
        Ok(Client {
            wire: Wire::connect(address, patience)?,
            address: address.to_string(),
            closing: false,
        })
    }

    /// Whether the server has closed the connection, as far as we know without asking.
    pub fn is_closed(&mut self) -> bool {
        self.closing || self.wire.unasked().is_err()
    }

    /// Sends a request and waits for the answer.
    pub fn request(&mut self, method: &str, path: &str, body: &str) -> io::Result<Response> {
        if self.closing {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let (address, len) = (&self.address, body.len());
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {len}\r\n\r\n{body}"
        );
        self.wire.send(text.as_bytes())?;
        loop {
            let response = self.response()?;
            // "Continue" and the like come before the answer.
            if response.status >= 200 {
                return Ok(response);
            }
        }
    }

    fn response(&mut self) -> io::Result<Response> {
        let first = self.text_line()?;
        let status = first
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.get(2..5));
        let Some(status) = status.and_then(|digits| digits.parse().ok()) else {
            return Err(wrong(&first));
        };
        let (mut len, mut chunked) = (None, false);
        for _ in 0..HEADERS_MAX {
            let line = self.text_line()?;
            if line.is_empty() {
                let body = self.body(status, len, chunked)?;
                return Ok(Response { status, body });
            }
            let (name, value) = line.split_once(':').ok_or_else(|| wrong(&line))?;
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => len = Some(value.parse().map_err(|_| wrong(&line))?),
                "transfer-encoding" => chunked = value.contains("chunked"),
                "connection" => self.closing = value.contains("close"),
                _ => {}
            }
        }
        Err(wrong("too many headers"))
    }

    fn body(&mut self, status: u16, len: Option<usize>, chunked: bool) -> io::Result<Vec<u8>> {
        if status < 200 || status == 204 || status == 304 {
            return Ok(Vec::new());
        }
        if chunked {
            return self.chunks();
        }
        match len {
            Some(len) => self.wire.block(len),
            None => Err(wrong("neither a length nor chunks")),
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.text_line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let len = usize::from_str_radix(digits, 16).map_err(|_| wrong(&line))?;
            if len == 0 {
                // What may follow the last chunk ends with an empty line.
                while !self.text_line()?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.wire.block(len)?);
            if !self.text_line()?.is_empty() {
                return Err(wrong("a chunk that is longer than it says"));
            }
        }
    }

    fn text_line(&mut self) -> io::Result<String> {
        let line = self.wire.line()?;
        String::from_utf8(line).map_err(|_| wrong("not UTF-8"))
    }
}

fn wrong(what: &str) -> io::Error {
    let start: String = what.chars().take(80).collect();
    io::Error::new(
        ErrorKind::InvalidData,
        format!("not an answer by HTTP: {start}"),
    )
}
