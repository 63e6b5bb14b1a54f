//! Why a server could not be started, stopped or hurt.

use std::fmt;

/// Why something could not be done to a server, with the end of its log where that may tell more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    message: String,
    cause: Cause,
    log: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    Missing(&'static str),
    PortTaken,
    Interrupted,
    Other,
}

impl Error {
    pub(super) fn new(message: impl Into<String>) -> Error {
        Error {
            message: message.into(),
            cause: Cause::Other,
            log: String::new(),
        }
    }

    pub(super) fn missing(what: &str, package: &'static str) -> Error {
        Error {
            cause: Cause::Missing(package),
            ..Error::new(format!("{what} was not found"))
        }
    }

    pub(super) fn interrupted() -> Error {
        Error {
            cause: Cause::Interrupted,
            ..Error::new("interrupted")
        }
    }

    /// Adds the end of the server's log, which may say that another process has the port.
    pub(super) fn with_log(mut self, log: String) -> Error {
        let lower = log.to_lowercase();
        let taken = lower.contains("address already in use")
            || lower.contains("is another mysqld server running on port")
            || lower.contains("could not create any tcp/ip sockets");
        if taken && self.cause == Cause::Other {
            self.cause = Cause::PortTaken;
        }
        self.log = log;
        self
    }

    /// Puts what was being done in front.
    pub(super) fn context(mut self, doing: &str) -> Error {
        self.message = format!("{doing}: {}", self.message);
        self
    }

    /// The Debian package that would have what was not found.
    pub fn missing_package(&self) -> Option<&'static str> {
        match self.cause {
            Cause::Missing(package) => Some(package),
            _ => None,
        }
    }

    /// Whether the user asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.cause == Cause::Interrupted
    }

    pub(super) fn is_port_taken(&self) -> bool {
        self.cause == Cause::PortTaken
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(package) = self.missing_package() {
            write!(f, "; install it: apt install {package}")?;
        }
        if !self.log.trim().is_empty() {
            write!(f, "\nthe end of the log:")?;
            for line in self.log.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
