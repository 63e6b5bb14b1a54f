//! `program`, `explain` and the pages of `check --report`.

use super::{Folder, isolde};
use serde_json::Value;

const LOST_UPDATE: &str = "programs/micro/lost_update.sql";

/// For what must be decided, on the slowest machine as well.
const FOREVER: [&str; 2] = ["--timeout", "0"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn an_anomaly_is_found_written_and_played_again() {
    let folder = Folder::new("program-tests");
    let directory = folder.path("tests");
    let args = [
        "program",
        LOST_UPDATE,
        "--instances",
        "2",
        "--out",
        &directory,
    ];
    isolde(&args).exits(1).says(&[
        "lost update: deposit / deposit",
        "No serial order of these gives the same results and rows.",
        "lost_update.sql:8",
    ]);
    let test = format!("{directory}/001-lost-update");
    for file in [
        "README.md",
        "scenario.json",
        "expected.json",
        "rows.sql",
        "steps.sql",
        "run.sh",
    ] {
        let text = std::fs::read_to_string(format!("{test}/{file}"));
        assert!(text.is_ok_and(|text| !text.is_empty()), "{file}");
    }
    let played = isolde(&["program", "replay", &test, "--json"]).exits(1);
    let played = json(&played.out);
    let outcome = &played["tests"][0]["played"][0];
    assert_eq!(outcome["outcome"], "manifested", "{played}");
    assert_eq!(outcome["serializable"], "violated", "{played}");
}

#[test]
fn a_schedule_that_somebody_changed_into_a_serial_one_shows_nothing() {
    let folder = Folder::new("program-serial");
    let directory = folder.path("tests");
    isolde(&[
        "program",
        LOST_UPDATE,
        "-l",
        "rc",
        "--instances",
        "2",
        "--out",
        &directory,
    ])
    .exits(1);
    let test = format!("{directory}/001-lost-update");
    let file = format!("{test}/scenario.json");
    let mut scenario = json(&std::fs::read_to_string(&file).expect("a file"));
    let turns = scenario["schedule"].as_array_mut().expect("turns");
    turns.sort_by_key(|turn| turn["instance"].as_u64());
    for turn in turns {
        turn.as_object_mut().expect("a turn").remove("sees");
    }
    std::fs::write(&file, scenario.to_string()).expect("written");
    isolde(&["program", "replay", &test])
        .exits(0)
        .says(&["not manifested"]);
}

#[test]
fn answers_say_within_which_bounds_they_are_complete() {
    let asked = ["program", LOST_UPDATE, "-l", "serializable", "--json"];
    let run = isolde(&[&asked[..], &FOREVER].concat()).exits(0);
    let answer = json(&run.out);
    assert_eq!(answer["anomalies"].as_array().map(Vec::len), Some(0));
    assert_eq!(answer["scope"]["length"], 4);
    assert_eq!(answer["scope"]["decided"], true, "{answer}");
}

#[test]
fn what_is_found_only_beyond_the_bounds_is_not_called_safe() {
    // The write skew of SmallBank has more edges than the search looks at, and a reader that only
    // somebody outside sees.
    let smallbank = ["program", "programs/smallbank.sql", "-l", "si"];
    let short = [&smallbank[..], &["--length", "3"], &FOREVER].concat();
    isolde(&short).exits(1).says(&[
        "No anomaly within the bounds below",
        "some run there is not serializable",
        "NOT ROBUST",
        "WriteCheck / TransactSavings / Balance",
        "No serial order of these gives the same results and rows.",
    ]);
    let answer = json(&isolde(&[&short[..], &["--json"]].concat()).exits(1).out);
    assert_eq!(answer["anomalies"].as_array().map(Vec::len), Some(0));
    assert_eq!(answer["beyond"][0]["answer"], "not robust", "{answer}");
    // Who asks only for what the database notices gets just that, with the warning.
    isolde(&[&short[..], &["--internal"]].concat())
        .exits(0)
        .says(&["NOT ROBUST"]);
    let skew = [LOST_UPDATE, "-l", "si", "--length", "3"];
    isolde(&[&["program"][..], &skew, &FOREVER].concat())
        .exits(0)
        .says(&[
            "snapshot-isolation  yes        every run is serializable",
            "At snapshot-isolation every run is serializable",
        ]);
}

#[test]
fn there_is_an_end_to_every_question() {
    let tpcc = ["program", "programs/tpcc.sql", "--timeout", "0.000001"];
    isolde(&[&tpcc[..], &["-l", "rc"]].concat()).says(&["NOT all decided", "not tried"]);
    let robust = ["program", "robust", "programs/tpcc.sql", "-l", "rc"];
    let hurried = [
        &robust[..],
        &["--subsets", "--advice", "--timeout", "0.000001"],
    ]
    .concat();
    isolde(&hurried).exits(3).says(&[
        "not decided within 0.000001 seconds",
        "No sets at read-committed within the time given",
        "Run everything at serializable",
    ]);
    let whole = [&robust[..], &["--subsets", "--timeout", "0", "--json"]].concat();
    let whole = json(&isolde(&whole).exits(1).out);
    assert_eq!(whole["subsets"][0]["open"], 0, "{whole}");
}

#[test]
fn robustness_is_proved_refuted_and_repaired() {
    let tpcc = ["program", "robust", "programs/tpcc.sql", "-l", "si"];
    isolde(&[&tpcc[..], &FOREVER].concat())
        .exits(0)
        .says(&["ROBUST", "every run is serializable"]);
    isolde(&[
        "program",
        "robust",
        "programs/smallbank.sql",
        "-l",
        "si",
        "--subsets",
        "--advice",
        "--timeout",
        "0",
    ])
    .exits(1)
    .says(&[
        "Is it safe?\n  snapshot-isolation  no         a run that is not serializable is below",
        "serializable        yes",
        "NOT ROBUST",
        "{Balance, TransactSavings, WriteCheck}",
        "for update",
        "run everything at serializable",
    ]);
    let auction = ["program", "robust", "programs/auction.sql", "-l", "rc"];
    isolde(&[&auction[..], &FOREVER].concat()).exits(0);
}

#[test]
fn what_cannot_be_read_is_said_with_its_place() {
    let folder = Folder::new("program-bad");
    let bad = folder.path("bad.sql");
    std::fs::write(
        &bad,
        "create table t (a int primary key);\ntransaction f(x int)\n  selec a;\nend;\n",
    )
    .expect("written");
    isolde(&["program", &bad])
        .exits(2)
        .complains(&["bad.sql:3"]);
    isolde(&["program", "missing.sql"])
        .exits(2)
        .complains(&["missing.sql"]);
    isolde(&["program", LOST_UPDATE, "--transaction", "nobody"])
        .exits(2)
        .complains(&["nobody", "deposit"]);
    isolde(&["program", LOST_UPDATE, "-l", "strongest"])
        .exits(2)
        .complains(&["strongest"]);
    isolde(&["program", "robust", LOST_UPDATE, "-l", "ec"])
        .exits(2)
        .complains(&["robustness"]);
    isolde(&["program", "replay", "programs"])
        .exits(2)
        .complains(&["scenario.json"]);
}

#[test]
fn sources_are_shown_as_they_are_understood() {
    isolde(&["program", "show", LOST_UPDATE, "--paths"])
        .exits(0)
        .says(&["deposit(", "path 1:"]);
}

#[test]
fn anomalies_are_explained() {
    isolde(&["explain"])
        .exits(0)
        .says(&["write-skew", "lost-update"]);
    isolde(&["explain", "write-skew"]).exits(0).says(&[
        "The smallest example",
        "What prevents it",
        "PostgreSQL",
    ]);
    isolde(&["check", "--explain", "G2-item"])
        .exits(0)
        .says(&["Why it matters"]);
    isolde(&["explain", "nonsense"])
        .exits(2)
        .complains(&["nonsense", "lists them"]);
}

#[test]
fn a_report_is_one_small_page_that_loads_nothing() {
    let folder = Folder::new("report");
    let directory = folder.path("page");
    let history = folder.path("history.jsonl");
    let lines = [
        r#"{"session": 0, "txn": 0, "ops": [["r", "<script>alert(1)</script>", 0], ["w", "<script>alert(1)</script>", 1]]}"#,
        r#"{"session": 1, "txn": 1, "ops": [["r", "<script>alert(1)</script>", 0], ["w", "<script>alert(1)</script>", 2]]}"#,
    ];
    std::fs::write(&history, lines.join("\n")).expect("written");
    isolde(&["check", &history, "--report", &directory]).exits(1);
    let page = std::fs::read_to_string(format!("{directory}/index.html")).expect("a page");
    assert!(page.len() < 1_000_000);
    assert!(page.contains("lost-update"));
    assert!(
        !page.contains("<script>alert"),
        "what a history holds is never code"
    );
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"));
    let drawings = std::fs::read_dir(&directory).expect("a directory").count();
    assert!(drawings > 5, "{drawings} files");
}

#[test]
fn the_page_of_a_program_shows_source_and_schedule() {
    let folder = Folder::new("program-page");
    let directory = folder.path("page");
    let args = [
        "program",
        LOST_UPDATE,
        "--instances",
        "2",
        "--report",
        &directory,
        "--replay",
        "store",
    ];
    isolde(&args).exits(1).says(&["manifested"]);
    let page = std::fs::read_to_string(format!("{directory}/index.html")).expect("a page");
    for part in [
        "What happens",
        "Dependencies",
        "Where",
        "update accounts",
        "Played",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// A payment reads and writes what a customer paid, and adds to the till.
const TILL: &str = "
create table customer (id int primary key, paid int not null);
create table till (id int primary key, total int not null);
-- invariant till: select t.id, t.total - (select sum(paid) from customer) from till t
--   where t.total <> (select sum(paid) from customer);
transaction pay(c int, t int, amount int)
  select paid into :paid from customer where id = :c;
  if not found then abort; end if;
  update customer set paid = :paid + :amount where id = :c;
  update till set total = total + :amount where id = :t;
end;
";

#[test]
fn what_an_anomaly_can_break_is_told_and_plays_again() {
    let folder = Folder::new("consequences");
    let (file, tests) = (folder.path("till.sql"), folder.path("tests"));
    std::fs::write(&file, TILL).expect("written");
    let asked = [
        "program",
        &file,
        "-l",
        "read-committed",
        "--instances",
        "2",
        "--consequences",
        "--out",
        &tests,
        "--timeout",
        "0",
    ];
    isolde(&asked).exits(1).says(&["till"]);
    std::fs::remove_dir_all(&tests).expect("removed");
    let answer = isolde(&[&asked[..], &["--json"]].concat()).exits(1).json();
    let found = &answer["anomalies"][0]["consequences"];
    assert_eq!(found[0]["invariant"], "till", "{found}");
    let scenario = found[0]["file"].as_str().expect("a file");
    assert!(scenario.ends_with("breaks-till.json"), "{scenario}");
    isolde(&["program", "replay", scenario, "--on", "store"])
        .exits(1)
        .says(&["manifested", "till"]);
}

/// Transactions of tests are none of the application's.
#[test]
fn tests_of_an_application_are_passed_over() {
    let folder = Folder::new("program-with-tests");
    for part in ["src/main", "src/test"] {
        std::fs::create_dir_all(folder.path(part)).expect("a directory");
    }
    let class = |name: &str, sql: &str| {
        format!(
            "class {name} {{ JdbcTemplate jdbc; public void {name}1(int key) {{ jdbc.update(\"{sql}\", key); }} }}"
        )
    };
    let write =
        |path: &str, text: String| std::fs::write(folder.path(path), text).expect("written");
    write(
        "src/main/tables.sql",
        "create table item (id int primary key, stock int not null);".to_string(),
    );
    write(
        "src/main/Items.java",
        class("take", "update item set stock = 1 where id = ?"),
    );
    write(
        "src/test/ItemsTest.java",
        class("clear", "delete from item where id = ?"),
    );
    let shown = isolde(&["program", "show", &folder.path("")]).exits(0);
    let shown = shown
        .says(&["take1("])
        .complains(&["src/test: tests are passed over"]);
    assert!(!shown.out.contains("clear1("), "{}", shown.out);
    let named = [
        &folder.path("src/test"),
        &folder.path("src/main/tables.sql"),
    ];
    isolde(&["program", "show", named[0], named[1]])
        .exits(0)
        .says(&["clear1("]);
}

/// The answer is not pushed off the screen by what was not understood.
#[test]
fn a_few_notes_come_before_the_answer() {
    let folder = Folder::new("program-notes");
    let mut java = String::from("class Items {\n    private JdbcTemplate template;\n");
    for at in 0..20 {
        java.push_str(&format!(
            "    public void take{at}(int key) {{ template.update(\"update lost{at} set a = 1 where b = ?\", key); }}\n"
        ));
    }
    java.push_str("}\n");
    let (source, tables) = (folder.path("Items.java"), folder.path("tables.sql"));
    std::fs::write(&source, java).expect("written");
    std::fs::write(&tables, "create table item (id int primary key);\n").expect("written");
    let told = isolde(&["program", "robust", &source, &tables]).exits(3);
    let told = told
        .says(&["Is it safe?"])
        .complains(&["12 more; 'isolde program show' lists them"]);
    assert_eq!(told.err.matches("no table lost").count(), 8, "{}", told.err);
    isolde(&["program", "show", &source, &tables]).says(&["no table lost19"]);
}

/// A directory as it is: files for several databases, keys before tables, and a name in Latin-1.
#[test]
fn a_directory_is_read_as_it_is() {
    let folder = Folder::new("program-as-it-is");
    for part in ["sql.postgres", "sql.oracle"] {
        std::fs::create_dir_all(folder.path(part)).expect("a directory");
    }
    let write = |path: &str, text: &[u8]| std::fs::write(folder.path(path), text).expect("written");
    write(
        "sql.postgres/keys.sql",
        b"alter table item add primary key (id);",
    );
    write(
        "sql.postgres/tables.sql",
        b"create table item (id int, stock int not null);",
    );
    write(
        "sql.oracle/extra.sql",
        b"create trigger t before insert on item begin update item set stock = 0; end;",
    );
    let java = "// caf\u{e9}\nclass Shop { JdbcTemplate jdbc; public void take(int key) { \
                jdbc.update(\"update item set stock = 1 where id = ?\", key); } }";
    let latin: Vec<u8> = java.chars().map(|c| c as u8).collect();
    write("Shop.java", &latin);
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(
            "create table wide (id int primary key);"
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    write("wide.sql", &wide);
    isolde(&["program", "show", &folder.path("")])
        .exits(0)
        .says(&[
            "table item(id int, stock int) key (id)",
            "table wide(",
            "take(",
        ])
        .complains(&[
            "Shop.java: byte 6 is not UTF-8: read as Latin-1",
            "sql.oracle/extra.sql is for another database and is passed over",
        ]);
    write("Shop.java", b"class\0");
    isolde(&["program", "show", &folder.path("")])
        .exits(2)
        .complains(&["Shop.java: not a text"]);
}
