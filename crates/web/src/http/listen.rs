//! Listening: one thread a connection, and not more than so many.

use super::request::{self, Body, Request};
use super::{HttpLimits, Response};
use std::io::Result as IoResult;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// The answer to one. A body that is not read is not waited for.
    fn answer(&self, request: &Request, body: &mut Body<'_>) -> Response;
}

/// A server that listens until it is stopped.
pub struct Listening {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// So much of an unread body is taken before the connection is closed on its sender.
const DRAINED_MAX: u64 = 4 << 20;

/// Starts to listen.
pub fn listen(
    address: SocketAddr,
    limits: HttpLimits,
    handler: impl Handler,
) -> IoResult<Listening> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let thread = {
        let stopped = Arc::clone(&stopped);
        let handler = Arc::new(handler);
        std::thread::Builder::new()
            .name("listen".to_string())
            .spawn(move || accept(&listener, &limits, &handler, &stopped))?
    };
    Ok(Listening {
        address,
        stopped,
        thread: Some(thread),
    })
}

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        // Wakes the thread that waits for connections; if it is gone, there is none to wake.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            // It only passes connections on; a panic in it would lose nothing.
            let _ = thread.join();
        }
    }
}

/// One of the connections; counts down when it ends, however it ends.
struct Slot(Arc<AtomicUsize>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn accept<H: Handler>(
    listener: &TcpListener,
    limits: &HttpLimits,
    handler: &Arc<H>,
    stopped: &Arc<AtomicBool>,
) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stopped.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else {
            // Out of descriptors, most likely: others have to close first.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let count = open.fetch_add(1, Ordering::AcqRel) + 1;
        let slot = Slot(Arc::clone(&open));
        if count > limits.connections_max {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            let busy = Response::refusal(503, "too many connections");
            // Who does not take the refusal is cut off without.
            let _ = busy.send(&stream, &|| true);
            continue;
        }
        let (limits, handler, stopped) = (*limits, Arc::clone(handler), Arc::clone(stopped));
        // Without a thread the connection is closed, which says it all.
        let _ = std::thread::Builder::new()
            .name("connection".to_string())
            .spawn(move || {
                let _slot = slot;
                converse(&stream, &limits, handler.as_ref(), &stopped);
            });
    }
}

/// One request and its answer.
fn converse(stream: &TcpStream, limits: &HttpLimits, handler: &dyn Handler, stopped: &AtomicBool) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(limits.idle));
    let running = || !stopped.load(Ordering::Acquire);
    // Whoever is gone cannot be told anything: results of sending carry nothing.
    match request::read(stream, limits) {
        Ok(None) => {}
        Ok(Some((request, mut body))) => {
            let _ = handler.answer(&request, &mut body).send(stream, &running);
            let _ = stream.shutdown(Shutdown::Write);
            body.drain(DRAINED_MAX);
        }
        Err((status, reason)) => {
            let _ = Response::refusal(status, reason).send(stream, &running);
            let _ = stream.shutdown(Shutdown::Write);
            discard(stream);
        }
    }
}

/// Takes what is still on its way, so that a refusal is not lost in a reset.
fn discard(mut stream: &TcpStream) {
    use std::io::Read;
    let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
    let mut buffer = [0; 8192];
    for _ in 0..DRAINED_MAX / 8192 {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => {}
            _ => return,
        }
    }
}
