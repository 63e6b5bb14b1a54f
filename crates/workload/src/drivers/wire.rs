//! A connection to another program that answers when asked: bytes out, lines and blocks in, and a time by
//! which an answer must be there.
//!
//! Drivers without a crate of their own share it. The operating system's timeout bounds one read, the
//! deadline all reads of an answer, so that a peer that sends a byte now and then does not hold us.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// No answer of a database is longer; a peer that sends more has gone mad.
const ANSWER_BYTES_MAX: usize = 256 << 20;

const READ_BYTES: usize = 16 << 10;

/// A stream with timeouts.
pub trait Stream: Read + Write {
    /// Bounds each read and each write.
    fn set_timeout(&self, patience: Duration) -> io::Result<()>;

    /// Whether reads return at once.
    fn set_nonblocking(&self, at_once: bool) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn set_timeout(&self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))?;
        self.set_write_timeout(Some(patience))
    }

    fn set_nonblocking(&self, at_once: bool) -> io::Result<()> {
        TcpStream::set_nonblocking(self, at_once)
    }
}

impl Stream for UnixStream {
    fn set_timeout(&self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))?;
        self.set_write_timeout(Some(patience))
    }

    fn set_nonblocking(&self, at_once: bool) -> io::Result<()> {
        UnixStream::set_nonblocking(self, at_once)
    }
}

/// A stream and what has come of it but was not asked for yet.
pub struct Wire<S> {
    stream: S,
    buffer: Vec<u8>,
    /// What stands before it was handed out.
    start: usize,
    patience: Duration,
    deadline: Instant,
}

impl Wire<TcpStream> {
    /// Connects to `host:port`, trying all addresses of the name.
    pub fn connect(address: &str, patience: Duration) -> io::Result<Wire<TcpStream>> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for one in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&one, patience) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Wire::new(stream, patience);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl<S: Stream> Wire<S> {
    /// Takes over a stream.
    pub fn new(stream: S, patience: Duration) -> io::Result<Wire<S>> {
        let patience = patience.max(Duration::from_millis(1));
        stream.set_timeout(patience)?;
        Ok(Wire {
            stream,
            buffer: Vec::new(),
            start: 0,
            patience,
            deadline: Instant::now() + patience,
        })
    }

    /// The stream itself.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Sends a request; its answer is due within the patience from now.
    pub fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.deadline = Instant::now() + self.patience;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.named(error)),
            }
            self.in_time()?;
        }
        Ok(())
    }

    /// The next line, without its end.
    pub fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            let waiting = &self.buffer[self.start..];
            let found = waiting[searched..].iter().position(|&byte| byte == b'\n');
            if let Some(at) = found {
                let mut line = waiting[..searched + at].to_vec();
                self.start += searched + at + 1;
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            searched = waiting.len();
            self.read_some()?;
        }
    }

    /// The next `len` bytes.
    pub fn block(&mut self, len: usize) -> io::Result<Vec<u8>> {
        if len > ANSWER_BYTES_MAX {
            return Err(too_long());
        }
        while self.buffer.len() - self.start < len {
            self.read_some()?;
        }
        let block = self.buffer[self.start..self.start + len].to_vec();
        self.start += len;
        Ok(block)
    }

    /// What has come though nothing was asked, without waiting for more; an error if the other end is
    /// closed.
    pub fn unasked(&mut self) -> io::Result<&[u8]> {
        if self.start == self.buffer.len() {
            self.stream.set_nonblocking(true)?;
            let read = self.read_some();
            self.stream.set_nonblocking(false)?;
            if let Err(error) = read
                && error.kind() != ErrorKind::TimedOut
            {
                return Err(error);
            }
        }
        Ok(&self.buffer[self.start..])
    }

    /// What has come and was not handed out, such as the beginning of a line that never ended.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn read_some(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.len() > ANSWER_BYTES_MAX {
            return Err(too_long());
        }
        let len = self.buffer.len();
        self.buffer.resize(len + READ_BYTES, 0);
        let read = loop {
            match self.stream.read(&mut self.buffer[len..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer
            .truncate(len + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the other end closed the connection",
            )),
            Ok(_) => self.in_time(),
            Err(error) => Err(self.named(error)),
        }
    }

    fn in_time(&self) -> io::Result<()> {
        match Instant::now() > self.deadline {
            true => Err(self.named(ErrorKind::TimedOut.into())),
            false => Ok(()),
        }
    }

    /// A timeout is "would block" to the operating system.
    fn named(&self, error: io::Error) -> io::Error {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => io::Error::new(
                ErrorKind::TimedOut,
                format!("no answer within {:?}", self.patience),
            ),
            _ => error,
        }
    }
}

fn too_long() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("an answer of more than {ANSWER_BYTES_MAX} bytes"),
    )
}
