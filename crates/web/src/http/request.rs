//! Reading a request: the head within limits, the body as a stream.

use super::HttpLimits;
use super::target::{self, Query};
use std::io::{Error, ErrorKind, Read, Result as IoResult};
use std::net::TcpStream;
use std::time::Instant;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// To show something.
    Get,
    /// To change something.
    Post,
}

/// A request without its body.
#[derive(Debug)]
pub struct Request {
    /// What is asked.
    pub method: Method,
    /// Of which of our paths.
    pub path: String,
    /// With which parameters.
    pub query: Query,
    headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header, by its name in small letters. One that occurs twice has none.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let first = found.next();
        match found.next() {
            None => first.map(|(_, value)| value.as_str()),
            Some(_) => None,
        }
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let pairs = self.header("cookie")?.split(';');
        let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }
}

/// The body of a request: so many bytes, one after another.
pub struct Body<'a> {
    begun: Vec<u8>,
    stream: &'a TcpStream,
    left: u64,
    until: Instant,
    limits: HttpLimits,
}

impl Body<'_> {
    /// How many bytes are left to read.
    pub fn len(&self) -> u64 {
        self.left
    }

    /// Whether nothing is left to read.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// All of a small body as text.
    pub fn text(&mut self, bytes_max: u64) -> Result<String, String> {
        if self.left > bytes_max {
            return Err(format!("more than {bytes_max} bytes"));
        }
        let mut text = String::new();
        self.read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        Ok(text)
    }

    /// Reads and forgets what a client still sends, so that it can read the answer. Not for long.
    pub(super) fn drain(&mut self, bytes_max: u64) {
        let mut buffer = [0; 8192];
        let mut drained = 0;
        while drained < bytes_max {
            match self.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => drained += count as u64,
            }
        }
    }
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let wanted = buffer.len().min(self.left.min(1 << 20) as usize);
        if wanted == 0 {
            return Ok(0);
        }
        let count = if self.begun.is_empty() {
            read_until(self.stream, &mut buffer[..wanted], self.until, &self.limits)?
        } else {
            let count = wanted.min(self.begun.len());
            buffer[..count].copy_from_slice(&self.begun[..count]);
            self.begun.drain(..count);
            count
        };
        if count == 0 {
            return Err(Error::new(ErrorKind::UnexpectedEof, "the body ends early"));
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// Reads something before a point in time.
fn read_until(
    mut stream: &TcpStream,
    buffer: &mut [u8],
    until: Instant,
    limits: &HttpLimits,
) -> IoResult<usize> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Error::new(ErrorKind::TimedOut, "it took too long"));
    }
    stream.set_read_timeout(Some(left.min(limits.idle)))?;
    stream.read(buffer)
}

/// Why there is no request: the status to answer with, and why.
pub(super) type Refused = (u16, &'static str);

const HEADERS_MAX: usize = 64;

/// Reads the head of a request. Nothing if the client went away before it said anything.
pub(super) fn read<'a>(
    stream: &'a TcpStream,
    limits: &HttpLimits,
) -> Result<Option<(Request, Body<'a>)>, Refused> {
    let until = Instant::now() + limits.head_time;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(end) = find_end(&bytes) {
            break end;
        }
        if bytes.len() >= limits.head_bytes_max {
            return Err((431, "the head of the request is too long"));
        }
        let room = buffer.len().min(limits.head_bytes_max - bytes.len());
        match read_until(stream, &mut buffer[..room], until, limits) {
            Ok(0) if bytes.is_empty() => return Ok(None),
            Ok(0) => return Err((400, "the request ends early")),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) if bytes.is_empty() => return Ok(None),
            Err(_) => return Err((408, "the request took too long")),
        }
    };
    let begun = bytes.split_off(end);
    let head = std::str::from_utf8(&bytes).map_err(|_| (400, "the head is no text"))?;
    let request = parse(head)?;
    let left = length(&request)?;
    if (begun.len() as u64) > left {
        return Err((400, "more is sent than announced"));
    }
    let body = Body {
        begun,
        stream,
        left,
        until: Instant::now() + limits.body_time,
        limits: *limits,
    };
    Ok(Some((request, body)))
}

/// Where the head ends, if it does.
fn find_end(bytes: &[u8]) -> Option<usize> {
    let place = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(place + 4)
}

fn parse(head: &str) -> Result<Request, Refused> {
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else {
        return Err((400, "no request line"));
    };
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        _ => return Err((405, "only GET and POST are known here")),
    };
    if version != "HTTP/1.1" && version != "HTTP/1.0" {
        return Err((505, "only HTTP/1.1 is spoken here"));
    }
    let (path, query) = target::split(target).map_err(|reason| (400, reason))?;
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or((400, "a broken header"))?;
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) || value.contains(['\r', '\n', '\0']) {
            return Err((400, "a broken header"));
        }
        if headers.len() == HEADERS_MAX {
            return Err((431, "too many headers"));
        }
        headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
    }
    Ok(Request {
        method,
        path,
        query,
        headers,
    })
}

/// How long the body is.
fn length(request: &Request) -> Result<u64, Refused> {
    if request.has("transfer-encoding") {
        return Err((411, "a body needs a Content-Length"));
    }
    if !request.has("content-length") {
        return match request.method {
            Method::Get => Ok(0),
            Method::Post => Err((411, "a body needs a Content-Length")),
        };
    }
    let text = request.header("content-length").unwrap_or_default();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(length) if is_number => Ok(length),
        _ => Err((400, "a broken Content-Length")),
    }
}
