//! A TCP proxy whose link can be slowed, held, swallowed or cut, in each direction.
//!
//! Each connection has a thread per direction, which reads, waits as its direction demands, and
//! writes. Nothing polls: a thread sleeps in a read or at the gate of its direction, and cutting
//! shuts the sockets down, which ends the reads.
//!
//! A held direction is what a partition is to TCP: bytes wait, and go on when it is healed, as
//! packets sent again would. A swallowing one loses bytes for good, so a connection that lost some
//! is closed when its direction passes again: a stream with a hole is not TCP. Delays are between
//! the one given and twice that, because bytes that come while others wait go on together.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const CHUNK: usize = 32 * 1024;
const STACK: usize = 128 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What happens to bytes on their way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Passage {
    /// They go on.
    #[default]
    Open,
    /// They wait until the direction is open again.
    Held,
    /// They are lost.
    Swallowed,
    /// Connections are closed, new ones at once.
    Cut,
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Direction {
    /// What happens to bytes.
    pub passage: Passage,
    /// How long those that go on wait first.
    pub delay: Duration,
}

/// The state of a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Link {
    /// From who connected to the server.
    pub forth: Direction,
    /// From the server back.
    pub back: Direction,
}

impl Link {
    /// The same in both directions.
    pub fn both(passage: Passage, delay: Duration) -> Link {
        let direction = Direction { passage, delay };
        Link {
            forth: direction,
            back: direction,
        }
    }

    fn is_cut(&self) -> bool {
        self.forth.passage == Passage::Cut || self.back.passage == Passage::Cut
    }
}

/// A listener on loopback that passes connections on to a server. Dropping it closes them.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    target: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    link: Link,
    is_closed: bool,
    /// The sockets of open connections, to shut them down.
    sockets: HashMap<u64, Vec<TcpStream>>,
    next_id: u64,
}

impl Proxy {
    /// Listens on the port of loopback, 0 for any that is free.
    pub fn start(port: u16, target: SocketAddr) -> io::Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        let listener = thread::Builder::new()
            .name(format!("proxy {}", target.port()))
            .stack_size(STACK)
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Proxy {
            address,
            shared,
            listener: Some(listener),
        })
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How the link is now.
    pub fn link(&self) -> Link {
        self.shared.lock().link
    }

    /// Changes the link for connections that are open and those to come.
    pub fn set(&self, link: Link) {
        self.change(|now| *now = link);
    }

    /// Changes something about the link.
    pub fn change(&self, change: impl FnOnce(&mut Link)) {
        let mut state = self.shared.lock();
        change(&mut state.link);
        if state.link.is_cut() {
            state.shut_down();
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        state.shut_down();
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the listener, which sees that all is over.
        let woken = TcpStream::connect_timeout(&self.address, CONNECT_TIMEOUT).is_ok();
        if let Some(listener) = self.listener.take().filter(|_| woken) {
            // A panic over there has ended it as well.
            let _ = listener.join();
        }
    }
}

impl State {
    fn shut_down(&self) {
        for socket in self.sockets.values().flatten() {
            // One that is closed already need not be.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Forth,
    Back,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Waits while the direction is held; how it is then, or nothing if the connection is over.
    fn gate(&self, way: Way) -> Option<Direction> {
        let mut state = self.lock();
        loop {
            if state.is_closed || state.link.is_cut() {
                return None;
            }
            let direction = match way {
                Way::Forth => state.link.forth,
                Way::Back => state.link.back,
            };
            if direction.passage != Passage::Held {
                return Some(direction);
            }
            state = match self.changed.wait(state) {
                Ok(state) => state,
                Err(held) => held.into_inner(),
            };
        }
    }

    /// Sleeps, but not longer than the connection lives.
    fn delay(&self, delay: Duration) -> bool {
        if delay.is_zero() {
            return true;
        }
        let over = |state: &mut State| !state.is_closed && !state.link.is_cut();
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, delay, over);
        waited.is_ok_and(|(_, result)| result.timed_out())
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let state = shared.lock();
        if state.is_closed {
            return;
        }
        let is_cut = state.link.is_cut();
        drop(state);
        let Ok(client) = client else {
            // Out of descriptors, most likely: give connections time to end.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if is_cut {
            continue;
        }
        let shared = Arc::clone(shared);
        // Without a thread the connection is closed, which is all that can be done.
        let _ = spawn(move || connect(client, &shared));
    }
}

fn spawn(body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().stack_size(STACK).spawn(body)
}

/// Connects to the server and carries bytes back; another thread carries them forth.
fn connect(client: TcpStream, shared: &Arc<Shared>) {
    // The handshake would need both directions.
    if shared.gate(Way::Forth).is_none() || shared.gate(Way::Back).is_none() {
        return;
    }
    let Ok(server) = TcpStream::connect_timeout(&shared.target, CONNECT_TIMEOUT) else {
        return;
    };
    // Requests and answers are small and waited for.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let Ok(sockets) = [&client, &server]
        .into_iter()
        .map(TcpStream::try_clone)
        .collect::<io::Result<Vec<_>>>()
    else {
        return;
    };
    let id = {
        let mut state = shared.lock();
        if state.is_closed || state.link.is_cut() {
            return;
        }
        let id = state.next_id;
        state.next_id += 1;
        state.sockets.insert(id, sockets);
        id
    };
    let forth = (client.try_clone(), server.try_clone());
    let carrier = match forth {
        (Ok(from), Ok(to)) => {
            let shared = Arc::clone(shared);
            spawn(move || carry(from, to, &shared, Way::Forth)).ok()
        }
        _ => None,
    };
    if let Some(carrier) = carrier {
        carry(server, client, shared, Way::Back);
        // A panic over there has ended it as well.
        let _ = carrier.join();
    }
    shared.lock().sockets.remove(&id);
}

/// Carries bytes until one side ends. An end goes on like bytes do; anything else that ends a
/// connection ends both its directions.
fn carry(mut from: TcpStream, mut to: TcpStream, shared: &Shared, way: Way) {
    let mut buffer = vec![0; CHUNK];
    let mut has_hole = false;
    let ended = loop {
        let length = match from.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break false,
        };
        let Some(direction) = shared.gate(way) else {
            break false;
        };
        if direction.passage == Passage::Swallowed {
            has_hole = true;
            if length == 0 {
                break false;
            }
            continue;
        }
        if has_hole || !shared.delay(direction.delay) {
            break false;
        }
        // The direction may have been held or begun to swallow while the bytes waited.
        if !direction.delay.is_zero() && shared.gate(way).is_none() {
            break false;
        }
        if length == 0 {
            break true;
        }
        if to.write_all(&buffer[..length]).is_err() {
            break false;
        }
    };
    // Sockets that are closed already need not be.
    if ended {
        let _ = to.shutdown(Shutdown::Write);
    } else {
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
