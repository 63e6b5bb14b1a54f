//! Messages of PostgreSQL's protocol, version 3, over a blocking stream: a request goes out in one write,
//! and one buffer takes all answers.
//!
//! A message is a letter, its length as four bytes (without the letter), and a body. Source: the
//! PostgreSQL manual, chapter "Frontend/Backend Protocol".

use std::io::{self, Read, Write};
use std::ops::Range;
use std::time::Duration;

/// What messages go through: a TCP connection or a socket file.
pub trait Channel: Read + Write + Send {}

impl<T: Read + Write + Send> Channel for T {}

/// A stream of messages in both directions.
pub struct Wire {
    channel: Box<dyn Channel>,
    out: Vec<u8>,
    input: Vec<u8>,
    /// What of `input` was received and not yet taken.
    unread: Range<usize>,
}

/// Why a request did not go out.
pub struct Unsent {
    /// Whether the server can have seen a part of it.
    pub partly: bool,
    /// What the system said.
    pub error: io::Error,
}

/// More than PostgreSQL puts in one message.
const BODY_MAX: usize = 1 << 30;
const INPUT_START: usize = 8 << 10;

impl Wire {
    /// A stream that nothing was sent through yet.
    pub fn new(channel: Box<dyn Channel>) -> Wire {
        Wire {
            channel,
            out: Vec::with_capacity(256),
            input: vec![0; INPUT_START],
            unread: 0..0,
        }
    }

    /// Adds a message to the next request.
    pub fn put(&mut self, letter: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(letter);
        self.put_plain(body);
    }

    /// Adds a message that has no letter, as the first one is.
    pub fn put_plain(&mut self, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        body(&mut self.out);
        let len = (self.out.len() - start) as u32;
        self.out[start..start + 4].copy_from_slice(&len.to_be_bytes());
    }

    /// Sends what was put.
    pub fn send(&mut self) -> Result<(), Unsent> {
        let mut sent = 0;
        while sent < self.out.len() {
            let partly = sent > 0;
            match self.channel.write(&self.out[sent..]) {
                Ok(0) => {
                    let error = io::ErrorKind::WriteZero.into();
                    return Err(Unsent { partly, error });
                }
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Unsent { partly, error }),
            }
        }
        self.out.clear();
        Ok(())
    }

    /// The next message: its letter and its body.
    pub fn receive(&mut self) -> io::Result<(u8, &[u8])> {
        self.fill(5)?;
        let head = &self.input[self.unread.clone()];
        let letter = head[0];
        let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..=BODY_MAX).contains(&len) {
            return Err(garbage("a message of impossible length"));
        }
        self.fill(len + 1)?;
        let body = self.unread.start + 5..self.unread.start + 1 + len;
        self.unread.start = body.end;
        Ok((letter, &self.input[body]))
    }

    /// Waits until that many bytes are there. The buffer grows with what comes, not with what a
    /// message says of its length.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        }
        while self.unread.len() < wanted {
            if self.unread.end == self.input.len() {
                self.make_room();
            }
            match self.channel.read(&mut self.input[self.unread.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.unread.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn make_room(&mut self) {
        if self.unread.start > 0 {
            self.input.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        } else {
            self.input.resize(self.input.len() * 2, 0);
        }
    }
}

/// An error for what no PostgreSQL server says.
pub fn garbage(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not PostgreSQL's protocol: {what}"),
    )
}

/// What an error means, in words.
pub fn told(error: &io::Error, patience: Duration) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("no answer within {patience:?}")
        }
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_string(),
        _ => error.to_string(),
    }
}

/// Adds a text with the zero byte that ends it. A zero inside, which would start another field, is left out.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|&byte| byte != 0));
    out.push(0);
}

/// Takes a text with its zero byte from the front.
pub fn take_text<'a>(body: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let end = body.iter().position(|&byte| byte == 0);
    let end = end.ok_or_else(|| garbage("a text without an end"))?;
    let (text, rest) = body.split_at(end);
    *body = &rest[1..];
    Ok(text)
}

/// Takes four bytes as a number from the front.
pub fn take_i32(body: &mut &[u8]) -> io::Result<i32> {
    let (head, rest) = body
        .split_first_chunk::<4>()
        .ok_or_else(|| garbage("a message that is too short"))?;
    *body = rest;
    Ok(i32::from_be_bytes(*head))
}

/// The fields of a row, each a text or null.
pub struct Fields<'a> {
    body: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields in the body of a DataRow message.
    pub fn new(body: &'a [u8]) -> Fields<'a> {
        // Two bytes tell the number of fields, which the readers know.
        Fields {
            body: body.get(2..).unwrap_or_default(),
        }
    }

    /// Whether there is no field any more.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The next field.
    pub fn text(&mut self) -> io::Result<Option<&'a str>> {
        let Ok(len) = usize::try_from(take_i32(&mut self.body)?) else {
            return Ok(None);
        };
        let (field, rest) = self
            .body
            .split_at_checked(len)
            .ok_or_else(|| garbage("a field that is too short"))?;
        self.body = rest;
        let text = std::str::from_utf8(field).map_err(|_| garbage("a text that is not UTF-8"))?;
        Ok(Some(text))
    }

    /// The next field as a number.
    pub fn number(&mut self) -> io::Result<Option<i64>> {
        let parse = |text: &str| text.parse().map_err(|_| garbage("not an integer"));
        self.text()?.map(parse).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what it holds a few bytes at a time, and takes a few.
    struct Slow {
        given: Vec<u8>,
        at: usize,
        step: usize,
        taken: usize,
        room: usize,
    }

    impl Read for Slow {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.step.min(out.len()).min(self.given.len() - self.at);
            out[..count].copy_from_slice(&self.given[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.taken == self.room {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let count = self.step.min(bytes.len()).min(self.room - self.taken);
            self.taken += count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn wire(given: Vec<u8>, step: usize, room: usize) -> Wire {
        Wire::new(Box::new(Slow {
            given,
            at: 0,
            step,
            taken: 0,
            room,
        }))
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let mut maker = wire(Vec::new(), 1, 0);
        let sizes = [0usize, 3, 20_000, 1, 9_000];
        for size in sizes {
            maker.put(b'D', |out| out.resize(out.len() + size, 7));
        }
        let bytes = maker.out;
        for step in [1, 2, 7, 4096, usize::MAX] {
            let mut wire = wire(bytes.clone(), step, 0);
            for size in sizes {
                let (letter, body) = wire.receive().expect("a message");
                assert_eq!((letter, body.len()), (b'D', size), "step {step}");
            }
            let end = wire.receive().expect_err("the end");
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn garbage_is_an_error() {
        for bytes in [
            &b"HTTP/1.1 400"[..],
            &[b'D', 0, 0, 0, 3],
            &[b'D', 255, 255, 255, 255],
        ] {
            assert!(wire(bytes.to_vec(), 100, 0).receive().is_err());
        }
        assert!(Fields::new(&[]).text().is_err());
        assert!(Fields::new(&[0, 1, 0, 0, 0, 9, 1]).text().is_err());
        assert!(Fields::new(&[0, 1, 0, 0, 0, 1, b'x']).number().is_err());
        let mut endless: &[u8] = b"endless";
        assert!(take_text(&mut endless).is_err());
    }

    #[test]
    fn a_send_that_fails_tells_whether_anything_went_out() {
        for (room, partly) in [(0, false), (3, true)] {
            let mut wire = wire(Vec::new(), 2, room);
            wire.put(b'S', |_| {});
            let unsent = wire.send().expect_err("no room");
            assert_eq!(unsent.partly, partly);
        }
    }
}
