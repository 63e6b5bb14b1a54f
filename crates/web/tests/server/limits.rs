//! How much and how long a client may send.

use crate::client::{connect, get, post, read, send};
use crate::site;
use std::io::Write;
use std::time::{Duration, Instant};
use web::{HttpLimits, Limits};

#[test]
fn what_is_too_long_is_refused() {
    let site = site::start();
    let here = site.address;
    let long = format!(
        "GET / HTTP/1.1\r\nHost: {here}\r\nX: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    assert_eq!(send(here, long.as_bytes()).status, 431);
    let many = format!(
        "GET / HTTP/1.1\r\nHost: {here}\r\n{}\r\n",
        "X: 1\r\n".repeat(100)
    );
    assert_eq!(send(here, many.as_bytes()).status, 431);
    let order = "x".repeat(20_000);
    assert_eq!(post(here, "/api/run", &order).status, 413);
}

#[test]
fn odd_requests_are_refused_and_the_server_lives() {
    let site = site::start();
    let here = site.address;
    let host = format!("Host: {here}\r\nOrigin: http://{here}");
    for (request, status) in [
        ("\r\n\r\n".to_string(), 400),
        ("GET\r\n\r\n".to_string(), 400),
        (format!("DELETE / HTTP/1.1\r\n{host}\r\n\r\n"), 405),
        (format!("GET / HTTP/9\r\n{host}\r\n\r\n"), 505),
        (format!("GET http://x/ HTTP/1.1\r\n{host}\r\n\r\n"), 400),
        (format!("POST /api/run HTTP/1.1\r\n{host}\r\n\r\n"), 411),
        (
            format!("POST /api/run HTTP/1.1\r\n{host}\r\nTransfer-Encoding: chunked\r\n\r\n"),
            411,
        ),
        (
            format!("POST /api/run HTTP/1.1\r\n{host}\r\nContent-Length: -1\r\n\r\n"),
            400,
        ),
        (
            format!(
                "POST /api/run HTTP/1.1\r\n{host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"
            ),
            400,
        ),
        (format!("GET / HTTP/1.1\r\n{host}\r\nbroken\r\n\r\n"), 400),
        (
            format!("GET /api/transactions?path=skew.jsonl&first=x HTTP/1.1\r\n{host}\r\n\r\n"),
            400,
        ),
    ] {
        assert_eq!(send(here, request.as_bytes()).status, status, "{request}");
    }
    assert_eq!(send(here, b"\xff\xfe\r\n\r\n").status, 400);
    assert_eq!(get(here, "/").status, 200);
}

#[test]
fn an_upload_that_is_too_large_is_refused_before_it_is_read() {
    let limits = Limits {
        upload_bytes: 1000,
        uploads_bytes: 1500,
        ..Limits::default()
    };
    let site = site::start_with(limits, None);
    let here = site.address;
    let announced = format!(
        "POST /api/upload?name=x.jsonl HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nContent-Length: 99999999999\r\n\r\n"
    );
    let began = Instant::now();
    let mut stream = connect(here);
    stream.write_all(announced.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read(stream).status, 413);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(
        post(here, "/api/upload?name=x.jsonl", &"x".repeat(1001)).status,
        413
    );
    assert_eq!(
        post(here, "/api/upload?name=x.jsonl", &"x".repeat(900)).status,
        200
    );
    assert_eq!(
        post(here, "/api/upload?name=x.jsonl", &"x".repeat(900)).status,
        413,
        "full"
    );
    assert_eq!(post(here, "/api/upload?name=x.jsonl", "").status, 400);
}

#[test]
fn an_upload_that_ends_early_leaves_nothing() {
    let site = site::start();
    let here = site.address;
    let mut stream = connect(here);
    let head = format!(
        "POST /api/upload?name=half.jsonl HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nContent-Length: 100\r\n\r\nhalf"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read(stream).status, 400);
    assert!(!site.served(".isolde/uploads/half.jsonl").exists());
}

/// Neither silence nor drops that come often enough keep an upload open longer than allowed.
#[test]
fn an_upload_that_takes_too_long_is_ended_and_leaves_nothing() {
    let limits = Limits {
        http: HttpLimits {
            body_time: Duration::from_millis(1500),
            idle: Duration::from_millis(500),
            ..HttpLimits::default()
        },
        ..Limits::default()
    };
    let site = site::start_with(limits, None);
    let here = site.address;
    for (name, pause, at_least) in [("silent", None, 400), ("slow", Some(100), 1400)] {
        let mut stream = connect(here);
        let head = format!(
            "POST /api/upload?name={name}.jsonl HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nContent-Length: 100000\r\n\r\nx"
        );
        let began = Instant::now();
        stream.write_all(head.as_bytes()).unwrap();
        let mut drops = stream.try_clone().unwrap();
        let dripping = std::thread::spawn(move || {
            // Ends when the server no longer listens, at the latest after ten seconds.
            for _ in 0..100 {
                let Some(pause) = pause else { return };
                std::thread::sleep(Duration::from_millis(pause));
                if drops.write_all(b"x").is_err() {
                    return;
                }
            }
        });
        assert_eq!(read(stream).status, 400, "{name}");
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(at_least), "{name}: {took:?}");
        assert!(took < Duration::from_secs(8), "{name}: {took:?}");
        dripping.join().unwrap();
        let kept = std::fs::read_dir(site.served(".isolde/uploads")).unwrap();
        assert_eq!(kept.count(), 0, "{name}");
    }
    assert_eq!(get(here, "/").status, 200);
}

#[test]
fn slow_and_many_clients_do_not_keep_others_out() {
    let limits = Limits {
        http: HttpLimits {
            connections_max: 4,
            head_time: Duration::from_millis(700),
            ..HttpLimits::default()
        },
        ..Limits::default()
    };
    let site = site::start_with(limits, None);
    let mut slow: Vec<_> = (0..4).map(|_| connect(site.address)).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HT").unwrap();
    }
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(get(site.address, "/").status, 503, "all places are taken");
    let statuses: Vec<u16> = slow.into_iter().map(|stream| read(stream).status).collect();
    assert_eq!(statuses, [408; 4]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(get(site.address, "/").status, 200);
}
