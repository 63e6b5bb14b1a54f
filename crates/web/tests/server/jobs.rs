//! Checks and runs: progress, ends, cancelling.

use crate::client::{connect, get, post, read};
use crate::site::{self, SKEW, Site};
use serde_json::Value;
use std::io::Write;
use std::time::{Duration, Instant};
use web::Limits;

/// The job when it is over.
pub fn wait(site: &Site, job: &Value) -> Value {
    let began = Instant::now();
    loop {
        let jobs = get(site.address, "/api/jobs").json();
        let found = jobs
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["job"] == job["job"]);
        let found = found.unwrap_or_else(|| panic!("no job {job}")).clone();
        if !matches!(found["phase"].as_str(), Some("waiting" | "working")) {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{found}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// All events of a job, as text.
fn events(site: &Site, job: &Value, more: &str) -> String {
    let mut stream = connect(site.address);
    let head = format!(
        "GET /api/events?job={} HTTP/1.1\r\nHost: {}\r\n{more}\r\n",
        job["job"], site.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read(stream);
    assert_eq!(
        answer.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    answer.body
}

fn pid(site: &Site) -> u32 {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(site.served("pid")).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            return pid;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "no child started"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_alive(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_check_tells_its_progress_and_leaves_a_report() {
    let site = site::start();
    assert!(get(site.address, "/api/result?path=skew.jsonl").json()["verdict"].is_null());
    let job = post(site.address, "/api/check?path=skew.jsonl", "").json();
    let text = events(&site, &job, "");
    let places: Vec<usize> = [
        "event: phase",
        "event: progress",
        "\"total\":10",
        "event: end",
        "\"phase\":\"done\"",
    ]
    .iter()
    .map(|part| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} in {text}"))
    })
    .collect();
    assert!(places.is_sorted(), "{text}");
    let result = get(site.address, "/api/result?path=skew.jsonl").json();
    assert_eq!(result["verdict"], "violated");
    assert_eq!(result["anomalies"][0]["kind"], "write-skew");
    assert!(result["lattice"].as_str().unwrap().contains("<svg"));
    // Who comes back hears only what is new.
    let rest = events(&site, &job, "Last-Event-ID: 1\r\n");
    assert!(!rest.contains("id: 0\n") && !rest.contains("id: 1\n") && rest.contains("event: end"));
    // A file that changed was not checked.
    std::fs::write(site.served("skew.jsonl"), format!("{SKEW}\n")).unwrap();
    assert!(get(site.address, "/api/result?path=skew.jsonl").json()["verdict"].is_null());
}

#[test]
fn an_upload_is_checked_at_once_and_listed() {
    let site = site::start();
    let job = post(site.address, "/api/upload?name=..%2F..%2Fmine.jsonl", SKEW).json();
    let end = wait(&site, &job);
    assert_eq!(end["phase"], "done", "{end}");
    assert_eq!(end["path"], ".isolde/uploads/mine.jsonl");
    assert!(!site.place.join("mine.jsonl").exists());
    let list = get(site.address, "/api/list").json();
    let items = list["items"].as_array().unwrap();
    let mine = items
        .iter()
        .find(|item| item["path"] == end["path"])
        .expect("listed");
    assert_eq!(mine["uploaded"], true);
    assert_eq!(mine["summary"]["verdict"], "violated");
}

#[test]
fn a_bad_file_fails_with_its_reason() {
    let site = site::start();
    let job = post(site.address, "/api/upload?name=bad.jsonl", "nonsense").json();
    let end = wait(&site, &job);
    assert_eq!(end["phase"], "failed");
    assert!(
        end["error"].as_str().unwrap().contains("line 1, column 1"),
        "{end}"
    );
}

#[test]
fn a_run_is_watched_and_then_opened() {
    let site = site::start();
    let order = r#"{"database":"sqlite","workload":"registers","isolation":"","seconds":1,"clients":2,"seed":7,"faults":[]}"#;
    let job = post(site.address, "/api/run", order).json();
    let text = events(&site, &job, "");
    assert!(
        text.contains("\"committed\":30") && text.contains("lost-update"),
        "{text}"
    );
    let end = wait(&site, &job);
    let path = end["path"].as_str().expect("a directory").to_string();
    assert!(path.starts_with("isolde-runs/sqlite-"), "{path}");
    let list = get(site.address, "/api/list").json();
    let items = list["items"].as_array().unwrap();
    assert!(
        items
            .iter()
            .any(|item| item["path"] == path.as_str() && item["kind"] == "run"),
        "{list}"
    );
    let view = get(site.address, &format!("/api/anomaly?path={path}&id=0"));
    assert_eq!(view.status, 200, "{view:?}");
    let page = get(site.address, &format!("/api/transactions?path={path}"));
    assert_eq!(page.json()["total"], 3);
}

#[test]
fn orders_that_name_commands_or_files_are_refused() {
    let site = site::start();
    for database in ["exec:touch x", "exec:touch", "sqlite:/tmp/x", "--help"] {
        let order = serde_json::json!({"database": database, "workload": "registers"});
        let answer = post(site.address, "/api/run", &order.to_string());
        assert_eq!(answer.status, 400, "{database}: {answer:?}");
    }
    assert_eq!(post(site.address, "/api/run", "{").status, 400);
    assert_eq!(
        get(site.address, "/api/jobs")
            .json()
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn cancelling_ends_the_child() {
    let site = site::start();
    let job = post(site.address, "/api/upload?name=slow.jsonl", SKEW).json();
    let pid = pid(&site);
    assert!(is_alive(pid));
    let began = Instant::now();
    assert_eq!(
        post(site.address, &format!("/api/cancel?job={}", job["job"]), "").status,
        200
    );
    assert_eq!(wait(&site, &job)["phase"], "cancelled");
    assert!(!is_alive(pid));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(
        get(site.address, "/api/result?path=.isolde/uploads/slow.jsonl").json()["verdict"]
            .is_null()
    );
}

#[test]
fn a_child_that_does_not_listen_is_killed() {
    let site = site::start();
    let job = post(site.address, "/api/upload?name=stubborn.jsonl", SKEW).json();
    let pid = pid(&site);
    post(site.address, &format!("/api/cancel?job={}", job["job"]), "");
    assert_eq!(wait(&site, &job)["phase"], "cancelled");
    assert!(!is_alive(pid));
}

#[test]
fn time_ends_a_child() {
    // The server waits ten seconds longer than the child is told to take.
    let limits = Limits {
        check_seconds: -9.0,
        ..Limits::default()
    };
    let site = site::start_with(limits, None);
    let job = post(site.address, "/api/upload?name=slow.jsonl", SKEW).json();
    let end = wait(&site, &job);
    assert_eq!(end["phase"], "failed", "{end}");
    assert!(end["error"].as_str().unwrap().contains("too long"), "{end}");
}

#[test]
fn stopping_the_server_ends_what_it_started() {
    let mut site = site::start();
    post(site.address, "/api/upload?name=slow.jsonl", SKEW);
    let pid = pid(&site);
    site.stop();
    assert!(!is_alive(pid));
    assert!(std::net::TcpStream::connect(site.address).is_err());
}

#[test]
fn children_wait_for_their_turn() {
    let limits = Limits {
        children_max: 1,
        ..Limits::default()
    };
    let site = site::start_with(limits, None);
    let slow = post(site.address, "/api/upload?name=slow.jsonl", SKEW).json();
    pid(&site);
    let next = post(site.address, "/api/check?path=skew.jsonl", "").json();
    std::thread::sleep(Duration::from_millis(600));
    let jobs = get(site.address, "/api/jobs").json();
    assert_eq!(jobs[0]["phase"], "waiting", "{jobs}");
    post(
        site.address,
        &format!("/api/cancel?job={}", slow["job"]),
        "",
    );
    assert_eq!(wait(&site, &next)["phase"], "done");
}
