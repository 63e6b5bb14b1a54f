//! Histories in pages, neighbours, anomalies, comparisons.

use crate::client::{get, post};
use crate::jobs::wait;
use crate::site::{self, SKEW, SKEW_REPORT, Site};
use serde_json::Value;
use std::fmt::Write;
use std::time::Instant;

fn ask(site: &Site, target: &str) -> Value {
    let answer = get(site.address, target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.body);
    answer.json()
}

#[test]
fn neighbours_lead_from_writer_to_reader_and_back() {
    let site = site::start();
    let reader = ask(&site, "/api/transaction?path=skew.jsonl&txn=s1t3");
    assert_eq!(reader["previous"], "s1t2");
    assert!(reader["next"].is_null());
    assert_eq!(reader["ops"][0]["from"]["transactions"][0]["txn"], "s0t1");
    assert_eq!(reader["ops"][1]["from"]["transactions"][0]["txn"], "s1t2");
    let writer = ask(&site, "/api/transaction?path=skew.jsonl&txn=s0t1");
    assert_eq!(writer["ops"][0]["note"], "the initial state");
    assert_eq!(
        writer["ops"][2]["readers"]["transactions"][0]["txn"],
        "s1t3"
    );
    assert_eq!(writer["ops"][2]["overwriters"]["count"], 0);
    for txn in ["s9t1", "s0t9", "init", "", "s0n7", "s0n99999999999"] {
        let target = format!("/api/transaction?path=skew.jsonl&txn={txn}");
        assert_eq!(get(site.address, &target).status, 404, "{txn}");
    }
}

#[test]
fn the_drawings_of_a_report_are_not_listed_as_histories() {
    let site = site::start();
    let report = site.served("drawn");
    std::fs::create_dir(&report).unwrap();
    for name in ["anomaly-1-write-skew.json", "anomaly-of-monday.jsonl"] {
        std::fs::write(report.join(name), SKEW).unwrap();
    }
    let list = ask(&site, "/api/list").to_string();
    assert!(list.contains("drawn/anomaly-of-monday.jsonl"), "{list}");
    assert!(!list.contains("anomaly-1-write-skew"), "{list}");
}

#[test]
fn who_overwrote_is_told_where_it_shows() {
    let site = site::start();
    let history = concat!(
        "{\"isolde\":\"history\",\"version\":1}\n",
        "{\"session\":0,\"txn\":0,\"ops\":[[\"w\",\"x\",1],[\"append\",\"l\",1]]}\n",
        "{\"session\":1,\"txn\":0,\"ops\":[[\"r\",\"x\",1],[\"w\",\"x\",2],[\"append\",\"l\",2]]}\n",
        "{\"session\":2,\"txn\":0,\"ops\":[[\"r\",\"l\",[1,2]]]}\n",
    );
    std::fs::write(site.served("list.jsonl"), history).unwrap();
    let first = ask(&site, "/api/transaction?path=list.jsonl&txn=s0t0");
    for op in 0..2 {
        let overwriters = &first["ops"][op]["overwriters"];
        assert_eq!(overwriters["transactions"][0]["txn"], "s1t0", "{first}");
    }
    let reader = ask(&site, "/api/transaction?path=list.jsonl&txn=s2t0");
    assert_eq!(reader["ops"][0]["from"]["transactions"][0]["txn"], "s1t0");
}

#[test]
fn an_anomaly_is_drawn_told_and_exported() {
    let site = site::start();
    let job = post(site.address, "/api/check?path=skew.jsonl", "").json();
    wait(&site, &job);
    let view = ask(&site, "/api/anomaly?path=skew.jsonl&id=0");
    assert_eq!(view["kind"], "write-skew");
    let graph = view["graph"].as_str().unwrap();
    assert_eq!(graph.matches("href=\"#edge-").count(), 2, "{graph}");
    assert!(view["lanes"].as_str().unwrap().contains("s0t1"));
    assert!(!view["story"]["happened"].as_array().unwrap().is_empty());
    let prevented = view["prevented"].as_array().unwrap();
    assert!(prevented.iter().any(|one| one["engine"] == "PostgreSQL"));
    let arrow = &view["picture"]["arrows"][0];
    assert_eq!(arrow["kind"], "rw");
    assert!(!arrow["operations"].as_array().unwrap().is_empty());
    for (format, part) in [
        ("svg", "<svg"),
        ("dot", "digraph"),
        ("mermaid", "s0t1"),
        ("tikz", "tikz"),
        ("json", "\"arrows\""),
    ] {
        let export = get(
            site.address,
            &format!("/api/export?path=skew.jsonl&id=0&format={format}"),
        );
        assert!(export.body.contains(part), "{format}: {}", export.body);
    }
    assert_eq!(
        get(site.address, "/api/anomaly?path=skew.jsonl&id=1").status,
        404
    );
    assert_eq!(
        get(site.address, "/api/export?path=skew.jsonl&id=0&format=exe").status,
        400
    );
}

#[test]
fn a_report_of_another_history_draws_nothing_and_breaks_nothing() {
    let site = site::start();
    let run = site.served("run");
    std::fs::create_dir(&run).unwrap();
    let other = "{\"isolde\":\"history\",\"version\":1}\n{\"session\":5,\"txn\":1,\"ops\":[[\"r\",\"z\",0]]}\n";
    std::fs::write(run.join("history.jsonl"), other).unwrap();
    std::fs::write(run.join("report.json"), SKEW_REPORT).unwrap();
    assert_eq!(
        ask(&site, "/api/anomaly?path=run&id=0")["kind"],
        "write-skew"
    );
    std::fs::write(run.join("report.json"), "{\"results\":7,\"held_to\":{}}").unwrap();
    assert_eq!(ask(&site, "/api/result?path=run")["verdict"], "unknown");
    std::fs::write(run.join("report.json"), "[[[[").unwrap();
    assert!(ask(&site, "/api/result?path=run")["verdict"].is_null());
    ask(&site, "/api/list");
}

#[test]
fn two_reports_are_compared() {
    let site = site::start();
    for (name, report) in [
        ("old", SKEW_REPORT.to_string()),
        (
            "new",
            SKEW_REPORT
                .replace("write-skew", "lost-update")
                .replace("\"holds\"", "\"violated\""),
        ),
    ] {
        let run = site.served(name);
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("history.jsonl"), site::SKEW).unwrap();
        std::fs::write(run.join("report.json"), report).unwrap();
    }
    let found = ask(&site, "/api/compare?before=old&after=new");
    let change = |kind: &str| {
        let rows = found["structures"].as_array().unwrap();
        rows.iter().find(|row| row["kind"] == kind).unwrap()["change"].clone()
    };
    assert_eq!(change("write-skew"), "gone");
    assert_eq!(change("lost-update"), "new");
    assert_eq!(found["levels"][0]["changed"], true);
    let same = ask(&site, "/api/compare?before=old&after=old");
    assert_eq!(same["structures"][0]["change"], "still there");
    assert_eq!(
        get(site.address, "/api/compare?before=old&after=skew.jsonl").status,
        404
    );
}

/// A history of so many transactions of four operations, in twenty sessions.
fn large(txns: u32) -> String {
    let mut text = String::from("{\"isolde\":\"history\",\"version\":1}\n");
    for txn in 0..txns {
        let (session, key, start) = (txn % 20, txn % 1000, u64::from(txn) * 100);
        writeln!(
            text,
            "{{\"session\":{session},\"txn\":{txn},\"start\":{start},\"end\":{},\"ops\":[[\"r\",{key},{}],[\"w\",{key},{}],[\"r\",{},0],[\"w\",\"hot\",{txn}]]}}",
            start + 150,
            txn.saturating_sub(1000),
            txn,
            key + 5000,
        )
        .unwrap();
    }
    text
}

#[test]
fn a_large_history_is_paged_and_sliced() {
    let site = site::start();
    let count = 60_000;
    std::fs::write(site.served("large.jsonl"), large(count)).unwrap();
    let about = ask(&site, "/api/history?path=large.jsonl");
    assert_eq!(about["transactions"], count);
    let began = Instant::now();
    let pages = |filter: &str| {
        ask(
            &site,
            &format!("/api/transactions?path=large.jsonl{filter}"),
        )
    };
    let all = pages("&first=59990&rows=50");
    assert_eq!(all["total"], count);
    assert_eq!(all["rows"].as_array().unwrap().len(), 10);
    assert_eq!(pages("&rows=100000")["rows"].as_array().unwrap().len(), 100);
    let session = pages("&session=7");
    assert_eq!(session["total"], count / 20);
    assert_eq!(session["rows"][0]["txn"], "s7t7");
    let key = pages("&key=5003");
    assert_eq!(key["total"], count / 1000);
    assert_eq!(pages("&key=hot")["total"], count);
    let slice = pages("&from=100000&to=100999&order=time");
    assert_eq!(slice["total"], 11, "{slice}");
    assert_eq!(
        pages("&from=100000&to=100999&session=1&key=1&status=aborted")["total"],
        0
    );
    let both = pages("&session=3&key=hot&first=5&rows=1&order=time");
    assert_eq!(both["rows"][0]["txn"], "s3t103");
    let hot = ask(&site, "/api/transaction?path=large.jsonl&txn=s3t103");
    assert_eq!(hot["ops"].as_array().unwrap().len(), 4);
    assert!(began.elapsed().as_secs() < 30);
    for filter in ["&session=99", "&key=nothing", "&status=odd"] {
        let target = format!("/api/transactions?path=large.jsonl{filter}");
        assert_eq!(get(site.address, &target).status, 404, "{filter}");
    }
}

#[test]
fn whoever_waits_for_a_history_is_told_how_far_it_is() {
    let site = site::start();
    std::fs::write(site.served("slowly-read.jsonl"), SKEW).expect("a file");
    let target = "/api/opening?path=slowly-read.jsonl";
    assert_eq!(ask(&site, target), Value::Null, "nobody reads it yet");
    let address = site.address;
    let reader =
        std::thread::spawn(move || get(address, "/api/history?path=slowly-read.jsonl").status);
    let told = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        Some(ask(&site, target)).filter(|told| told["done"] == 1)
    });
    let told = told.expect("it is being read");
    assert_eq!(
        (&told["stage"], &told["total"]),
        (&"reading".into(), &2.into())
    );
    assert_eq!(reader.join().expect("an answer"), 200);
    assert_eq!(ask(&site, target), Value::Null, "it is open");
}

#[test]
fn more_histories_than_are_kept_open_can_be_asked_for() {
    let site = site::start();
    let text = std::fs::read_to_string(site.served("skew.jsonl")).unwrap();
    for round in 0..2 {
        for number in 0..7 {
            let name = format!("copy{number}.jsonl");
            if round == 0 {
                std::fs::write(site.served(&name), &text).unwrap();
            }
            assert_eq!(
                ask(&site, &format!("/api/transactions?path={name}"))["total"],
                3
            );
        }
    }
}
