//! Programs as databases: one that works, and many that do not.

use crate::checks::*;
use crate::servers::{Directory, is_here};
use std::time::{Duration, Instant};
use workload::driver::{Database, Error, Fate, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::ListForm;

fn example(directory: &Directory) -> String {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/drivers/sqlite_driver.py"
    );
    format!("exec:python3 '{script}' '{}'", directory.file("test.db"))
}

#[test]
fn the_example_does_what_it_is_asked() {
    if !is_here("python3") {
        return;
    }
    let directory = Directory::new("exec");
    let database = prepared(&example(&directory), None);
    assert!(database.product().starts_with("SQLite 3."));
    assert_eq!(database.isolation().name, "serializable");
    registers_are_kept(&*database);
    groups_are_read(&*database);
    a_rollback_leaves_nothing(&*database);
    a_conflict_aborts_one(&*database);
    preparing_empties(&*database);
}

#[test]
fn the_example_keeps_lists_sets_and_counters() {
    if !is_here("python3") {
        return;
    }
    let directory = Directory::new("exec-kinds");
    let database = prepared(&example(&directory), None);
    // A counter that is not there yet is null to the example, which keeps no empty rows.
    answers(
        &mut *connect(&*database),
        &[Action::Increment(cell(COUNTERS, 2), 0)],
    );
    collections_are_kept(&*database);
}

/// A driver that describes itself, answers the first requests well, and then does as the script says.
const DESCRIPTION: &str =
    r#"{"ok":{"product":"Sham 1","isolations":[{"name":"Strong","promises":"serializable"}]}}"#;

/// The URL of a driver in shell: `after` runs for each request but "describe" and those in `good`.
fn sham(good: &str, after: &str) -> String {
    let script = format!(
        "while read -r line; do case \"$line\" in \
         *describe*) echo '{DESCRIPTION}';; {good}) echo '{{\"ok\":null}}';; \
         *) {after};; esac; done"
    );
    let quoted = script.replace('\\', "\\\\").replace('"', "\\\"");
    format!("exec:sh -c \"{quoted}\"")
}

fn impatient(url: &str) -> Result<Box<dyn Database>, Error> {
    let settings = Settings {
        patience: Duration::from_millis(1000),
        ..Settings::default()
    };
    drivers::open(&[url.to_string()], &settings)
}

/// What goes wrong when a driver fails at its first read.
fn failure_at_read(after: &str) -> Error {
    let database = impatient(&sham("*open*|*begin*", after)).expect("a description");
    let mut connection = connect(&*database);
    connection.begin().expect("a transaction");
    let asked = Instant::now();
    let error = connection.run(&Action::Read(x())).expect_err(after);
    assert!(asked.elapsed() < Duration::from_secs(8), "it hung: {after}");
    assert!(error.message.contains("driver 'sh -c"), "{error}");
    let again = connection.run(&Action::Read(x())).expect_err("it is gone");
    assert!(again.message.contains("has ended"), "{again}");
    error
}

#[test]
fn a_sham_driver_describes_itself() {
    let database = impatient(&sham("*open*|*begin*", "exit")).expect("a description");
    assert_eq!(database.product(), "Sham 1");
    assert_eq!(database.isolation().name, "strong");
    assert_eq!(database.isolations().len(), 1);
    let wanted = r#"{"do":"write","key":"isolde_r:1:v","value":3}"#;
    let shape = schema(ListForm::Native);
    assert_eq!(database.statement(&shape, &Action::Write(x(), 3)), wanted);
}

#[test]
fn a_driver_that_prints_garbage_ends_the_run() {
    let error = failure_at_read("echo 'Traceback: oops'");
    assert_eq!(error.fate, Fate::Hopeless);
    assert!(error.message.contains("Traceback: oops"), "{error}");
    for garbage in [
        "echo 5",
        "echo '{}'",
        r#"echo '{"ok":"five"}'"#,
        r#"echo '{"ok":1.5}'"#,
        r#"echo '{"later":true}'"#,
        r#"echo '{"ok":1,"id":99}'"#,
        r#"echo '{"error":"no","fate":"sealed"}'"#,
        r#"printf '\377\n'"#,
    ] {
        let error = failure_at_read(garbage);
        assert_eq!(error.fate, Fate::Hopeless, "{garbage}: {error}");
    }
}

#[test]
fn a_long_line_of_garbage_is_cut() {
    let error = failure_at_read("head -c 100000 /dev/zero | tr '\\0' x; echo");
    assert!(error.message.len() < 1500, "{}", error.message.len());
    assert!(error.message.contains("xxxx…"), "{error}");
}

#[test]
fn a_driver_that_hangs_loses_the_connection() {
    let error = failure_at_read("sleep 100");
    assert_eq!(error.fate, Fate::Lost);
    assert!(error.message.contains("no answer within"), "{error}");
    let error = failure_at_read("printf '{\"ok\":'; sleep 100");
    assert!(error.message.contains("after: {\"ok\":"), "{error}");
}

#[test]
fn a_driver_that_dribbles_is_not_waited_for() {
    let error = failure_at_read("while true; do printf x; sleep 0.05; done");
    assert_eq!(error.fate, Fate::Lost, "{error}");
}

#[test]
fn a_driver_that_dies_leaves_its_last_words() {
    let error = failure_at_read("echo first >&2; echo 'no more money' >&2; exit 3");
    assert_eq!(error.fate, Fate::Lost);
    assert!(error.message.contains("ended without an answer"), "{error}");
    assert!(error.message.contains("no more money"), "{error}");
}

#[test]
fn a_driver_that_floods_its_standard_error_is_drained() {
    let error = failure_at_read(
        "yes 0123456789012345678901234567890123456789 | head -c 300000 >&2; echo >&2; echo last >&2; exit",
    );
    assert!(error.message.ends_with("last"), "{error}");
}

#[test]
fn a_driver_that_speaks_out_of_turn_ends_the_run() {
    let error = failure_at_read(r#"printf '{"ok":1}\n{"ok":2}\n'"#);
    assert_eq!(error.fate, Fate::Hopeless, "{error}");
    assert!(error.message.contains(r#"{"ok":2}"#), "{error}");

    let url = sham(
        "*open*|*begin*",
        r#"echo '{"ok":1}'; sleep 0.1; echo '{"ok":2}'"#,
    );
    let database = impatient(&url).expect("a description");
    let mut connection = connect(&*database);
    connection.begin().expect("a transaction");
    connection.run(&Action::Read(x())).expect("the first line");
    std::thread::sleep(Duration::from_millis(500));
    let error = connection.run(&Action::Read(x())).expect_err("a second");
    assert_eq!(error.fate, Fate::Hopeless, "{error}");
    assert!(error.message.contains("without being asked"), "{error}");
}

#[test]
fn whatever_goes_wrong_at_a_commit_leaves_it_unknown() {
    let failures = [
        ("exit", "ended"),
        ("sleep 100", "no answer"),
        ("echo what", "what"),
        (r#"echo '{"error":"maybe"}'"#, "maybe"),
        (r#"echo '{"ok":1,"answers":[1]}'"#, "1 answers"),
    ];
    for (after, word) in failures {
        let url = sham("*open*|*begin*|*write*", after);
        let database = impatient(&url).expect("a description");
        let mut connection = connect(&*database);
        let error = transact(&mut *connection, &[Action::Write(x(), 1)]).expect_err(after);
        assert_eq!(error.fate, Fate::Unknown, "{after}: {error}");
        assert!(error.message.contains(word), "{error}");
    }
}

#[test]
fn the_driver_says_what_became_of_the_transaction() {
    let refusal = r#"echo '{"error":"deadlock","fate":"aborted","code":1213}'"#;
    let url = sham("*open*|*begin*|*write*|*rollback*", refusal);
    let database = impatient(&url).expect("a description");
    let mut connection = connect(&*database);
    for _ in 0..2 {
        let refused = transact(&mut *connection, &[Action::Write(x(), 1)]);
        let error = refused.expect_err("a refusal");
        assert_eq!(error.fate, Fate::Aborted);
        assert_eq!(error.to_string(), "deadlock [1213]");
        connection.rollback().expect("a rollback");
    }
}

#[test]
fn nothing_that_a_driver_started_stays() {
    let directory = Directory::new("exec-stay");
    let mark = directory.file("pid");
    // The sleep is a child of the driver, which does not end with its input.
    let url = sham("*open*", &format!("sleep 1000 & echo $! > {mark}; wait"));
    let database = impatient(&url).expect("a description");
    let mut connection = connect(&*database);
    connection.begin().expect_err("no answer");
    drop(connection);
    let pid = std::fs::read_to_string(&mark).expect("the number of the process");
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_gone(pid.trim())
    });
    assert!(gone, "{pid} still runs");
}

/// Whether there is no such process, or only its parent has not asked for its end.
fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn answers_may_come_with_the_commit() {
    let about = DESCRIPTION.replace("\"Sham 1\"", "\"Sham 1\",\"answers_at_once\":false");
    let good = format!(
        "*open*|*begin*) echo '{{\"ok\":null}}';; *describe*) echo '{about}';; \
         *read*|*rlist*) echo '{{\"later\":true}}';; *never*"
    );
    let commit = r#"echo '{"ok":null,"answers":[5,[1,2]],"version":9,"info":{"xid":742}}'"#;
    let url = sham(&good, commit).replacen("*describe*", "*nothing*", 1);
    let database = impatient(&url).expect("a description");
    assert!(!database.answers_at_once());
    let mut connection = connect(&*database);
    let reads = [Action::Read(x()), Action::ReadList(cell(LISTS, 1))];
    let (answers, commit) = transact(&mut *connection, &reads).expect("a commit");
    assert_eq!(answers, commit.answers);
    assert_eq!(commit.version, Some(9));
    assert_eq!(commit.info, [("xid", "742".to_string())]);
}

#[test]
fn a_driver_that_cannot_be_used_is_told_at_once() {
    let wrong = [
        ("exec:", "which program"),
        ("exec:'", "quote"),
        ("exec:/nowhere/driver", "cannot start"),
        ("exec:true", "ended"),
        ("exec:cat", "neither"),
        (r#"exec:sh -c "read l; echo '{\"ok\":{}}'""#, "isolations"),
        (
            r#"exec:sh -c "read l; echo '{\"error\":\"no db://me:geheim@host\"}'" db://me:geheim@host"#,
            "no db://me@host",
        ),
    ];
    for (url, word) in wrong {
        let error = impatient(url).err().expect(url);
        assert_eq!(error.fate, Fate::Hopeless, "{error}");
        assert!(error.message.contains(word), "{url}: {error}");
        assert!(!error.message.contains("geheim"), "{error}");
    }
}
