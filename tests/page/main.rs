//! The page of `isolde serve` in a real browser: a file is dropped, an anomaly opened, an edge clicked, lists
//! are filtered, runs compared and started. Where there is no Chromium and none can be installed, the tests say
//! so and pass. With `ISOLDE_PICTURES=DIR` what the page looks like is kept there.
#![allow(missing_docs)]

mod driver;
mod foreign;
mod install;
mod keyboard;
#[path = "../databases/install.rs"]
mod servers;

use driver::Browser;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

/// A served directory and its server; both are gone in the end.
struct Page {
    directory: PathBuf,
    server: Child,
    url: String,
}

/// One browser at a time is enough for two cores.
static BROWSER: Mutex<()> = Mutex::new(());

fn one_at_a_time() -> MutexGuard<'static, ()> {
    BROWSER
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Two transactions that each read what the other overwrote, by some names of keys and a value.
fn skew(x: &str, y: &str, value: &str) -> String {
    let [x, y, value] = [x, y, value].map(Value::from);
    format!(
        "{{\"isolde\":\"history\",\"version\":1}}\n\
         {{\"session\":0,\"txn\":1,\"start\":1000000,\"end\":5000000,\"ops\":[[\"r\",{x},null],[\"r\",{y},null],[\"w\",{x},{value}]]}}\n\
         {{\"session\":1,\"txn\":2,\"start\":2000000,\"end\":6000000,\"ops\":[[\"r\",{x},null],[\"r\",{y},null],[\"w\",{y},2]]}}\n\
         {{\"session\":1,\"txn\":3,\"start\":7000000,\"end\":8000000,\"ops\":[[\"r\",{x},{value}],[\"r\",{y},2]]}}\n"
    )
}

/// Two updates of which one is lost.
const LOST: &str = "{\"isolde\":\"history\",\"version\":1}\n\
    {\"session\":0,\"txn\":1,\"start\":1,\"end\":5,\"ops\":[[\"r\",\"x\",null],[\"w\",\"x\",1]]}\n\
    {\"session\":1,\"txn\":2,\"start\":2,\"end\":6,\"ops\":[[\"r\",\"x\",null],[\"w\",\"x\",2]]}\n";

impl Page {
    fn serve(name: &str) -> Page {
        Page::serve_with(name, &[])
    }

    fn serve_with(name: &str, options: &[&str]) -> Page {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{name}"));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut server = Command::new(env!("CARGO_BIN_EXE_isolde"))
            .arg("serve")
            .arg(&directory)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut url = String::new();
        let output = server.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut url).expect("its URL");
        Page {
            directory,
            server,
            url: url.trim().to_string(),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Drops a file on the page, as a hand would.
fn drop_file(browser: &Browser, name: &str, text: &str) {
    let (name, text) = (Value::from(name), Value::from(text));
    browser.wait(
        "the place to drop files",
        "return document.querySelector('.drop') !== null",
    );
    browser.run(&format!(
        "const files = new DataTransfer(); files.items.add(new File([{text}], {name}));
         document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {{dataTransfer: files, bubbles: true, cancelable: true}}));"
    ));
}

/// Keeps pictures of the page as it is, if somebody wants them, and sees that nothing sticks out on a phone.
fn look(browser: &Browser, name: &str) {
    for (size, width, height) in [("desktop", 1280, 900), ("phone", 360, 740)] {
        for (scheme, is_dark) in [("light", false), ("dark", true)] {
            browser.screen(width, height, is_dark);
            if let Ok(directory) = std::env::var("ISOLDE_PICTURES") {
                let path = Path::new(&directory).join(format!("{name}-{size}-{scheme}.png"));
                browser.picture(&path);
            }
        }
        let wide = browser.run("return document.documentElement.scrollWidth");
        assert!(
            wide.as_u64() <= Some(width.into()),
            "{name} is {wide} wide on a {size}"
        );
    }
    browser.screen(1280, 900, false);
}

/// Fails if the browser complained, above all about the policy of the page.
fn no_complaints(browser: &Browser) {
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn a_dropped_file_is_checked_and_its_anomaly_opened() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("drop");
    let browser = Browser::open();
    browser.go(&page.url);
    browser.sees("Drop a history here");
    look(&browser, "home-empty");
    drop_file(&browser, "skew.jsonl", &skew("x", "y", "1"));
    browser.sees("The weakest levels that are violated");
    browser.sees("write-skew");
    look(&browser, "result");
    browser.click(".instances a");
    browser.sees("The dependencies");
    look(&browser, "anomaly");
    // An edge of the drawing.
    browser.sees("Choose an edge");
    browser.run("document.querySelector('a.arrow').focus()");
    browser.press(&["\u{e007}"]);
    let details = browser.wait(
        "the edge",
        "return document.querySelector('.edge-details h3')?.innerText",
    );
    assert!(
        details.as_str().unwrap_or_default().contains("rw"),
        "{details}"
    );
    let chosen = browser.run("return document.querySelectorAll('a.arrow.chosen').length");
    assert_eq!(chosen, 1);
    look(&browser, "edge");
    browser.press(&["\u{e00c}"]);
    browser.sees("Choose an edge");
    // From it to the neighbours.
    browser.click(".card .button");
    browser.sees("in session");
    browser.sees("read by");
    look(&browser, "transaction");
    browser.click(".others a");
    browser.sees("s1t3");
    browser.sees("read from");
    browser.press(&["\u{e012}"]);
    browser.wait(
        "the one before",
        "return document.querySelector('h1').innerText.includes('s1t2')",
    );
    browser.press(&["\u{e00c}"]);
    browser.wait(
        "the table",
        "return document.querySelectorAll('table.txns tbody tr').length === 2",
    );
    no_complaints(&browser);
}

#[test]
fn a_chosen_file_and_filters() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("filter");
    let file = page.file("lost.jsonl", LOST);
    page.file("skew.jsonl", &skew("x", "y", "1"));
    let browser = Browser::open();
    browser.go(&page.url);
    browser.type_into("#file", file.to_str().expect("a path"));
    browser.sees("lost-update");
    browser.go(&format!("{}#/", page.url));
    browser.wait(
        "three files",
        "return document.querySelectorAll('li.item').length === 3",
    );
    look(&browser, "home");
    browser.press(&["/"]);
    browser.press(&["s", "k", "e", "w"]);
    browser.wait(
        "one file",
        "return document.querySelectorAll('li.item').length === 1",
    );
    browser.click(".item .name");
    browser.sees("was not checked yet");
    browser.click(".actions a");
    browser.wait(
        "three rows",
        "return document.querySelectorAll('table.txns tbody tr').length === 3",
    );
    let rows = |count: u32| {
        format!("return document.querySelectorAll('table.txns tbody tr').length === {count}")
    };
    browser.type_into("[name=session]", "1");
    browser.click("form .primary");
    browser.wait("two rows", &rows(2));
    look(&browser, "transactions");
    browser.type_into("[name=from]", "6 ms");
    browser.click("form .primary");
    browser.wait("one row", &rows(1));
    browser.type_into("[name=key]", "nothing");
    browser.click("form .primary");
    browser.sees("there is no key 'nothing'");
    no_complaints_but(&browser, "404");
}

/// As [`no_complaints`], but an answer with this status was asked for.
fn no_complaints_but(browser: &Browser, status: &str) {
    let complaints = browser.complaints();
    let others: Vec<&String> = complaints
        .iter()
        .filter(|text| !text.contains(status))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_run_is_started_watched_and_compared() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("run");
    let browser = Browser::open();
    browser.go(&format!("{}#/run", page.url));
    browser.sees("Drives a database");
    look(&browser, "run");
    browser.run("document.querySelector('[name=seconds]').value = '3'; document.querySelector('[name=seed]').value = '7'; document.querySelector('[name=clients]').value = '4'");
    browser.click("form .primary");
    browser.sees("committed");
    browser.wait(
        "the rate",
        "return document.querySelector('.spark') !== null",
    );
    look(&browser, "job");
    browser.sees("promised: strict-serializable");
    look(&browser, "run-result");
    // The same at the weakest setting.
    browser.go(&format!("{}#/run", page.url));
    browser.type_into("[name=isolation]", "read uncommitted");
    browser.run("document.querySelector('[name=seconds]').value = '2'; document.querySelector('[name=seed]').value = '7'");
    browser.click("form .primary");
    browser.sees("promised: read-uncommitted");
    browser.go(&format!("{}#/", page.url));
    browser.wait(
        "two runs",
        "return document.querySelectorAll('li.item input').length === 2",
    );
    browser.run("document.querySelectorAll('li.item input').forEach((box) => box.click())");
    browser.click(".bar button");
    browser.sees("Still there");
    let new = browser.wait(
        "new anomalies",
        "return document.querySelectorAll('.change-new li').length",
    );
    assert!(
        new.as_u64() > Some(0),
        "the weaker setting has anomalies that the other has not"
    );
    browser.wait(
        "changed levels",
        "return document.querySelectorAll('tr.changed').length > 0",
    );
    look(&browser, "compare");
    no_complaints(&browser);
}

#[test]
fn a_server_is_driven_under_faults_and_watched() {
    if !install::has_browser() || !servers::has("postgres") {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("server");
    let browser = Browser::open();
    browser.go(&format!("{}#/run", page.url));
    browser.sees("Drives a database");
    browser.type_into("[name=isolation]", "read committed");
    browser.run(
        "const set = (name, value) => { document.querySelector(`[name=${name}]`).value = value; };
         set('database', 'postgres'); set('workload', 'lost-update'); set('seconds', '8'); set('seed', '7');
         document.querySelector('[name=fault][value=pause]').click()",
    );
    browser.click("form .primary");
    let fact = |name: &str| {
        format!(
            "return [...document.querySelectorAll('.fact')].some((fact) =>
               fact.innerText.includes('{name}') && Number.parseInt(fact.innerText, 10) > 0)"
        )
    };
    browser.wait("commits", &fact("committed"));
    browser.wait("a fault", &fact("faults"));
    look(&browser, "server-job");
    browser.sees("promised: read-committed");
    browser.sees("PostgreSQL");
    look(&browser, "server-result");
    browser.click(".instances a");
    browser.sees("What was said to the database");
    browser.sees("begin isolation level read committed");
    browser.sees("xid");
    look(&browser, "server-anomaly");
    no_complaints(&browser);
}

#[test]
fn a_run_can_be_cancelled() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("cancel");
    let browser = Browser::open();
    browser.go(&format!("{}#/run", page.url));
    browser.wait(
        "the form",
        "return document.querySelector('[name=seconds]') !== null",
    );
    browser.run("document.querySelector('[name=seconds]').value = '120'");
    browser.click("form .primary");
    browser.sees("committed");
    browser.click(".panel button");
    browser.sees("Cancelled");
    no_complaints(&browser);
}

#[test]
fn the_token_opens_the_page_and_leaves_the_address() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve_with("token", &["--token"]);
    let (bare, token) = page.url.split_once("?token=").expect("a token");
    assert_eq!(token.len(), 32);
    let browser = Browser::open();
    browser.go(bare);
    let text = browser.run("return document.body.innerText");
    assert!(
        text.as_str()
            .unwrap_or_default()
            .contains("it has the token"),
        "{text}"
    );
    browser.go(&page.url);
    browser.sees("Drop a history here");
    assert_eq!(browser.run("return location.href"), bare);
    drop_file(&browser, "lost.jsonl", LOST);
    browser.sees("lost-update");
}

#[test]
fn beyond_loopback_there_is_always_a_token() {
    let page = Page::serve_with("beyond", &["--listen", "0.0.0.0:0"]);
    assert!(page.url.contains("/?token="), "{}", page.url);
    let other = Page::serve("within");
    assert!(
        other.url.starts_with("http://127.0.0.1:") && other.url.ends_with('/'),
        "{}",
        other.url
    );
}

#[test]
fn an_address_that_is_none_is_refused() {
    for listen in ["nonsense", "127.0.0.1", "127.0.0.1:x"] {
        let output = Command::new(env!("CARGO_BIN_EXE_isolde"))
            .args(["serve", "--listen", listen])
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{listen}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("such as 127.0.0.1:8080"), "{said}");
    }
}
