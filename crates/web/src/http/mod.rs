//! As much of HTTP/1.1 as a local page needs, with a limit on everything.
//!
//! One request a connection, one thread a connection. Written by hand because what matters here is
//! what a general server leaves to others: how long a head may be and may take, how many
//! connections there may be, that a body is a stream with a length, that events leave at once.

mod listen;
mod request;
mod response;
mod target;

pub use listen::{Handler, Listening, listen};
pub use request::{Body, Method, Request};
pub use response::{Events, Response};
pub use target::Query;

use std::time::Duration;

/// What a client may take.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections at a time; more are turned away.
    pub connections_max: usize,
    /// Bytes of a request line with its headers.
    pub head_bytes_max: usize,
    /// How long a client may take for that.
    pub head_time: Duration,
    /// How long a body may take altogether.
    pub body_time: Duration,
    /// How long a client may neither send nor take anything.
    pub idle: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            connections_max: 64,
            head_bytes_max: 16 << 10,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(600),
            idle: Duration::from_secs(20),
        }
    }
}
