//! As much of the databases' protocols as it takes to ask a server whether it is ready.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);
const ANSWER_MAX: usize = 64 * 1024;

/// Sends a request and reads until the answer is complete or the server ends it.
fn ask(
    address: SocketAddr,
    request: &[u8],
    is_complete: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| format!("{address} does not answer: {error}");
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(said)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(said)?;
    stream.set_write_timeout(Some(TIMEOUT)).map_err(said)?;
    stream.write_all(request).map_err(said)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !is_complete(&answer) && answer.len() < ANSWER_MAX {
        match stream.read(&mut buffer).map_err(said)? {
            0 => break,
            length => answer.extend_from_slice(&buffer[..length]),
        }
    }
    Ok(answer)
}

/// What an HTTP server says to a GET, headers included.
pub(super) fn http_get(address: SocketAddr, path: &str) -> Result<String, String> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    let answer = ask(address, request.as_bytes(), |_| false)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What Redis says to a command without arguments that hold spaces.
pub(super) fn redis(address: SocketAddr, command: &str) -> Result<String, String> {
    let request = format!("{command}\r\nQUIT\r\n");
    let answer = ask(address, request.as_bytes(), |_| false)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Whether MariaDB greets, even if only to say that it has no connection left.
pub(super) fn mariadb_greets(address: SocketAddr) -> Result<(), String> {
    let answer = ask(address, &[], |answer| answer.len() > 4)?;
    match answer.get(4) {
        Some(10 | 0xff) => Ok(()),
        _ => Err(format!("{address} is not a MariaDB server")),
    }
}

/// The first column of what PostgreSQL answers to a query, sent without a password as `postgres`.
pub(super) fn postgres(address: SocketAddr, sql: &str) -> Result<Vec<String>, String> {
    let mut request = Vec::new();
    let parameters = b"user\0postgres\0database\0postgres\0\0";
    request.extend_from_slice(&(8 + parameters.len() as u32).to_be_bytes());
    request.extend_from_slice(&196_608_u32.to_be_bytes());
    request.extend_from_slice(parameters);
    // Sent at once: the server reads the query when it has let us in.
    request.push(b'Q');
    request.extend_from_slice(&(5 + sql.len() as u32).to_be_bytes());
    request.extend_from_slice(sql.as_bytes());
    request.push(0);
    request.extend_from_slice(b"X\0\0\0\x04");
    let answer = ask(address, &request, |_| false)?;
    let mut rows = Vec::new();
    let mut ready_count = 0;
    let mut rest = answer.as_slice();
    while let Some((kind, body, behind)) = message(rest) {
        rest = behind;
        match kind {
            b'E' => return Err(error_text(body)),
            b'Z' => ready_count += 1,
            b'D' => rows.push(first_column(body)),
            _ => {}
        }
    }
    match ready_count {
        // Once after the login and once after the query.
        2 => Ok(rows),
        _ => Err(format!("{address} ended the connection")),
    }
}

/// Splits off a message: its kind and body.
fn message(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let length = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
    let body = rest.get(4..length)?;
    Some((*kind, body, &rest[length..]))
}

fn first_column(body: &[u8]) -> String {
    let length = body.get(2..6).and_then(|bytes| bytes.first_chunk());
    let length = length.map_or(0, |bytes| u32::from_be_bytes(*bytes)) as usize;
    let text = body.get(6..6 + length).unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn error_text(body: &[u8]) -> String {
    let fields = body.split(|byte| *byte == 0);
    let text = fields
        .filter_map(|field| field.strip_prefix(b"M"))
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .next();
    text.unwrap_or_else(|| "an error without text".to_owned())
}
