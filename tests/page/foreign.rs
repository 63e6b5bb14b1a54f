//! What a history, a run or a file name says is shown as text, whatever it says.

use super::{Page, drop_file, install, look, no_complaints, one_at_a_time, skew};
use crate::driver::Browser;
use serde_json::{Value, json};
use std::process::Command;

/// Foreign text that would run if anything took it for HTML.
const EVIL: &str = "<script>window.broken=1</script><img src=x onerror=window.broken=2>";

#[test]
fn foreign_text_is_never_run() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("foreign");
    let browser = Browser::open();
    browser.go(&page.url);
    drop_file(
        &browser,
        "<img src=x onerror=window.broken=3>.jsonl",
        &skew(EVIL, "y", EVIL),
    );
    browser.sees("write-skew");
    harmless(&browser, "result");
    browser.click(".instances a");
    browser.sees("<script>");
    harmless(&browser, "anomaly");
    look(&browser, "foreign");
    browser.click(".edge");
    browser.wait(
        "the edge",
        "return document.querySelector('.edge-details h3')?.innerText",
    );
    harmless(&browser, "edge");
    browser.click(".card .button");
    browser.sees("all of this key");
    harmless(&browser, "transaction");
    browser.click(".neighbours .quiet");
    browser.wait(
        "rows",
        "return document.querySelectorAll('table.txns tbody tr').length > 0",
    );
    browser.sees("<script>");
    harmless(&browser, "transactions");
    browser.go(&format!("{}#/", page.url));
    browser.wait(
        "the list",
        "return document.querySelectorAll('li.item').length === 1",
    );
    harmless(&browser, "home");
    no_complaints(&browser);
}

/// Fails if anything of it was taken for HTML.
fn harmless(browser: &Browser, place: &str) {
    let broken = browser.run("return window.broken ?? null");
    assert_eq!(broken, Value::Null, "{place}");
    let scripts = browser.run("return document.querySelectorAll('script, img').length");
    assert_eq!(scripts, 2, "{place}: one script and the icon");
}

/// Two runs whose names, databases, statements, numbers and faults are such texts.
fn prepare_runs(page: &Page) {
    let evil = Value::from(EVIL);
    let head = json!({"isolde": "history", "version": 1, "run": {"statements": {"begin": EVIL, "commit": EVIL}}});
    let txn = |session: u32, write: &str| {
        format!(
            "{{\"session\":{session},\"txn\":{session},\"start\":1000,\"end\":9000,\"ops\":[[\"r\",\"x\",null],[\"r\",\"y\",null],             [\"w\",\"{write}\",{evil}]],\"info\":{{\"node\":{evil},{evil}:{evil}}}}}\n"
        )
    };
    let fault = format!("{{\"event\":{evil},\"at\":500,\"text\":\"begins\",\"node\":1}}\n");
    let history = format!("{head}\n{}{fault}{}", txn(0, "x"), txn(1, "y"));
    for number in [1, 2] {
        let run = page
            .directory
            .join(format!("<img src=x onerror=window.broken={number}>"));
        std::fs::create_dir(&run).expect("a directory");
        std::fs::write(run.join("history.jsonl"), &history).expect("a file");
        let checked = Command::new(env!("CARGO_BIN_EXE_isolde"))
            .args(["check", "--json"])
            .arg(run.join("history.jsonl"))
            .output()
            .expect("it starts");
        let mut report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
        report["run"] = json!({"product": EVIL, "isolation": EVIL, "workload": EVIL, "seed": EVIL});
        report["held_to"] = json!([{"level": EVIL, "verdict": EVIL}]);
        report["notes"] = json!([EVIL]);
        std::fs::write(run.join("report.json"), report.to_string()).expect("a file");
    }
}

/// Somebody else may have packed them.
#[test]
fn foreign_text_of_a_run_is_never_run() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("foreign-run");
    prepare_runs(&page);
    let browser = Browser::open();
    browser.go(&page.url);
    browser.sees("<script>");
    harmless(&browser, "list");
    browser.click(".item .name");
    browser.sees("write-skew");
    harmless(&browser, "result");
    browser.click(".instances a");
    browser.sees("What was said to the database");
    browser.sees("<img src=x");
    harmless(&browser, "anomaly");
    browser.go(&format!("{}#/", page.url));
    browser.wait(
        "two runs",
        "return document.querySelectorAll('li.item input').length === 2",
    );
    browser.run("document.querySelectorAll('li.item input').forEach((box) => box.click())");
    browser.click(".bar button");
    browser.sees("Still there");
    harmless(&browser, "comparison");
    no_complaints(&browser);
}
