//! The links that can be slowed, held, swallowed and cut.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use workload::cluster::{Link, Passage, Proxy};

/// A server that sends everything back.
fn echo() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut from = stream.try_clone().expect("a second handle");
                let mut to = stream;
                let _ = std::io::copy(&mut from, &mut to);
            });
        }
    });
    address
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).expect("the proxy listens");
    let timeout = Some(Duration::from_millis(300));
    stream.set_read_timeout(timeout).expect("a timeout");
    stream
}

/// Whether the text comes back.
fn echoes(stream: &mut TcpStream, text: &str) -> bool {
    let mut answer = vec![0; text.len()];
    stream.write_all(text.as_bytes()).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer == text.as_bytes()
}

#[test]
fn an_open_link_carries_bytes_and_ends() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    let long = "x".repeat(3_000_000);
    let mut reader = stream.try_clone().expect("a second handle");
    let reader = thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text)
    });
    stream.write_all(long.as_bytes()).expect("a write");
    stream
        .shutdown(std::net::Shutdown::Write)
        .expect("an end that goes through");
    let text = reader.join().expect("no panic").expect("all comes back");
    assert_eq!(text.len(), long.len());
}

#[test]
fn a_link_carries_hundreds_of_connections() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut streams: Vec<TcpStream> = (0..300).map(|_| connect(&proxy)).collect();
    for (index, stream) in streams.iter_mut().enumerate() {
        let timeout = Some(Duration::from_secs(10));
        stream.set_read_timeout(timeout).expect("a timeout");
        assert!(echoes(stream, &format!("hello {index}")));
    }
}

#[test]
fn a_slow_link_delays_both_directions() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    assert!(echoes(&mut stream, "fast"));
    proxy.set(Link::both(Passage::Open, Duration::from_millis(50)));
    let begin = Instant::now();
    assert!(echoes(&mut stream, "slow"));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(100), "{took:?}");
    proxy.set(Link::default());
    let begin = Instant::now();
    assert!(echoes(&mut stream, "fast"));
    assert!(begin.elapsed() < Duration::from_millis(50));
}

#[test]
fn a_held_link_goes_on_with_nothing_lost() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    assert!(echoes(&mut stream, "before"));
    proxy.set(Link::both(Passage::Held, Duration::ZERO));
    assert!(!echoes(&mut stream, "during"));
    let mut late = connect(&proxy);
    assert!(!echoes(&mut late, "connected while held"));
    proxy.set(Link::default());
    let mut answer = [0; 6];
    stream.read_exact(&mut answer).expect("what was held");
    assert_eq!(&answer, b"during");
    assert!(echoes(&mut stream, "after"));
}

#[test]
fn one_direction_can_be_held_alone() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    assert!(echoes(&mut stream, "before"));
    proxy.change(|link| link.back.passage = Passage::Held);
    assert!(!echoes(&mut stream, "during"));
    proxy.change(|link| link.back.passage = Passage::Open);
    let mut answer = [0; 6];
    stream.read_exact(&mut answer).expect("what was held");
}

#[test]
fn a_link_that_swallowed_bytes_does_not_go_on_without_them() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    assert!(echoes(&mut stream, "before"));
    proxy.set(Link::both(Passage::Swallowed, Duration::ZERO));
    assert!(!echoes(&mut stream, "lost"));
    proxy.set(Link::default());
    assert!(!echoes(&mut stream, "after"), "a stream with a hole");
    assert!(echoes(&mut connect(&proxy), "a new connection"));
}

#[test]
fn a_cut_link_closes_old_and_new_connections() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    assert!(echoes(&mut stream, "before"));
    proxy.set(Link::both(Passage::Cut, Duration::ZERO));
    let begin = Instant::now();
    assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0);
    assert_eq!(connect(&proxy).read(&mut [0; 8]).unwrap_or(0), 0);
    assert!(
        begin.elapsed() < Duration::from_millis(250),
        "closed, not silent"
    );
    proxy.set(Link::default());
    assert!(echoes(&mut connect(&proxy), "after"));
}

#[test]
fn a_proxy_that_is_dropped_closes_what_it_held() {
    let proxy = Proxy::start(0, echo()).expect("a proxy");
    let mut stream = connect(&proxy);
    assert!(echoes(&mut stream, "before"));
    proxy.set(Link::both(Passage::Held, Duration::ZERO));
    let address = proxy.address();
    drop(proxy);
    assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_server_that_is_down_ends_connections() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = nobody.local_addr().expect("its address");
    drop(nobody);
    let proxy = Proxy::start(0, address).expect("a proxy");
    assert_eq!(connect(&proxy).read(&mut [0; 8]).unwrap_or(0), 0);
}
