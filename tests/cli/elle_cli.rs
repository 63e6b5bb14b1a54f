//! `isolde elle-cli` in place of elle-cli: its line a file, its options, its exit codes.

use super::{Folder, Run, isolde};
use std::path::PathBuf;
use std::process::Command;

const BANK: &str = "{:type :invoke :f :read :process 0 :time 1 :index 0}
{:type :ok :f :read :process 0 :time 2 :value {0 10, 1 10} :index 1}
{:type :invoke :f :transfer :process 0 :time 3 :value {:from 0 :to 1 :amount 11} :index 2}
{:type :ok :f :transfer :process 0 :time 4 :value {:from 0 :to 1 :amount 11} :index 3}
{:type :invoke :f :read :process 0 :time 5 :index 4}
{:type :ok :f :read :process 0 :time 6 :value {0 -1, 1 21} :index 5}\n";

const SKEW: &str = "[{:type :ok, :process 0, :value [[:r :x []] [:append :y 1]]}
{:type :ok, :process 1, :value [[:r :y nil] [:append :x 1]]}
{:type :ok, :process 2, :value [[:r :x [1]] [:r :y [1]]]}]\n";

const FORK: &str = "{:type :ok, :f :read, :process 0, :value [[:r 0 1] [:r 1 nil]]}
{:type :ok, :f :read, :process 1, :value [[:r 1 1] [:r 0 nil]]}\n";

/// Standard output of a run that exits so.
fn lines(args: &[&str], code: i32) -> String {
    let args: Vec<&str> = std::iter::once("elle-cli")
        .chain(args.iter().copied())
        .collect();
    isolde(&args).exits(code).out
}

#[test]
fn one_line_a_file() {
    let folder = Folder::new("elle-lines");
    let good = folder.file(
        "good.edn",
        "{:type :ok, :process 0, :f :txn, :value [[:append 1 1]]}\n",
    );
    let skew = folder.file("skew.edn", SKEW);
    let expected = format!("{good}\ttrue\n{skew}\tfalse\n");
    assert_eq!(
        lines(&["--model", "list-append", &good, &skew], 1),
        expected
    );
    assert_eq!(
        lines(&["-m", "list-append", &good], 0),
        format!("{good}\ttrue\n")
    );
    let weaker = ["-m", "list-append", "-c", "snapshot-isolation", &skew];
    assert_eq!(lines(&weaker, 0), format!("{skew}\ttrue\n"));
    let stricter = [&weaker[..], &["--anomalies", "G1a,G2-item"]].concat();
    assert_eq!(lines(&stricter, 1), format!("{skew}\tfalse\n"));
    let two = [
        "--model=list-append",
        "--consistency-models=read-committed,serializable",
        &skew,
    ];
    assert_eq!(lines(&two, 1), format!("{skew}\tfalse\n"));
}

#[test]
fn options_of_plots_are_taken_with_a_note() {
    let folder = Folder::new("elle-plots");
    let skew = folder.file("skew.edn", SKEW);
    let out = folder.path("out");
    let args = [
        "elle-cli",
        &skew,
        "--model",
        "list-append",
        "--plot-format",
        "svg",
        "-t",
        "5",
        "-b",
        "6",
    ];
    let more = ["--cycle-search-timeout", "1000", "--directory", &out];
    isolde(&[&args[..], &more[..]].concat())
        .exits(1)
        .complains(&["nothing is plotted", "cycle-search-timeout"])
        .says(&["\tfalse\n"]);
    let written: Vec<_> = std::fs::read_dir(&out).expect("a folder").collect();
    assert!(!written.is_empty());
}

#[test]
fn wrong_options_exit_with_1_and_wrong_files_with_255() {
    let folder = Folder::new("elle-wrong");
    let skew = folder.file("skew.edn", SKEW);
    assert!(lines(&[], 0).contains("--model"));
    assert!(lines(&["--help"], 0).contains("--consistency-models"));
    assert!(lines(&[&skew], 0).contains("--model"));
    assert!(lines(&["--modell", "x"], 1).contains("--modell"));
    assert!(lines(&["-m", "queue", &skew], 1).contains("list-append"));
    let model = ["-m", "list-append", "-c", "1SR", &skew];
    assert!(lines(&model, 1).contains("1SR is not supported"));
    let anomaly = ["-m", "list-append", "-a", "G9", &skew];
    assert!(lines(&anomaly, 1).contains("G9 is not supported"));
    assert!(lines(&["-m", "list-append", "-f", "xml", &skew], 1).contains("edn or json"));
    let missing = folder.path("missing.edn");
    isolde(&["elle-cli", "-m", "bank", &missing])
        .exits(255)
        .complains(&["missing.edn"]);
    let broken = folder.file("broken.edn", "{:type :ok :value [[:x 1]]}");
    isolde(&["elle-cli", "-m", "list-append", &broken])
        .exits(255)
        .complains(&["broken.edn", "line 1"]);
}

#[test]
fn balances_are_checked() {
    let folder = Folder::new("elle-bank");
    let bank = folder.file("bank.edn", BANK);
    isolde(&["elle-cli", "-m", "bank", &bank])
        .exits(1)
        .says(&["bank.edn\tfalse\n"])
        .complains(&["1 of 2 reads", "operation 5", "overdrawn"]);
    assert!(lines(&["-m", "bank", "-n", &bank], 0).ends_with("\ttrue\n"));
    assert!(lines(&["-m", "bank", "-n", "-o", "20", &bank], 0).ends_with("\ttrue\n"));
    assert!(lines(&["-m", "bank", "-n", "-o", "21", &bank], 1).ends_with("\tfalse\n"));
    let run = isolde(&["elle-cli", "-m", "bank", "--verbose", &bank]).exits(1);
    assert_eq!(run.json()["errors"][0]["type"], "negative-value");
    // No level is asked about balances; the refusal says what can be done.
    isolde(&["check", &bank])
        .exits(2)
        .complains(&["bank", "elle-cli"]);
}

#[test]
fn sets_and_counters_are_checked_as_jepsen_does() {
    let folder = Folder::new("elle-sets");
    let set = "{:type :invoke :process 0 :f :add :value 1}
        {:type :ok :process 0 :f :add :value 1}
        {:type :invoke :process 0 :f :read}
        {:type :ok :process 0 :f :read :value [1]}\n";
    let good = folder.file("set.edn", set);
    let lost = folder.file("lost.edn", set.replace("[1]", "[]"));
    let never = folder.file(
        "never.edn",
        set.replace(":ok :process 0 :f :read", ":fail :f :read"),
    );
    for model in ["set", "set-full"] {
        let expected = format!("{good}\ttrue\n{lost}\tfalse\n{never}\tunknown\n");
        assert_eq!(lines(&["-m", model, &good, &lost, &never], 1), expected);
        assert!(lines(&["-m", model, &never], 0).ends_with("\tunknown\n"));
    }
    let count = folder.file("count.edn", set.replace("[1]", "1"));
    let over = folder.file("over.edn", set.replace("[1]", "2"));
    let expected = format!("{count}\ttrue\n{over}\tfalse\n");
    assert_eq!(lines(&["-m", "counter", &count, &over], 1), expected);
}

/// What Knossos decides for elle-cli: whether the calls on one object are linearizable.
#[test]
fn a_mutex_and_a_register_are_linearizable() {
    let folder = Folder::new("elle-calls");
    let twice = "{:type :invoke, :f :acquire, :process 0, :index 0}
        {:type :ok, :f :acquire, :process 0, :index 1}
        {:type :invoke, :f :acquire, :process 1, :index 2}
        {:type :ok, :f :acquire, :process 1, :index 3}\n";
    let bad = folder.file("twice.edn", twice);
    let good = folder.file(
        "once.edn",
        twice.replace(
            ":ok, :f :acquire, :process 1",
            ":fail, :f :acquire, :process 1",
        ),
    );
    isolde(&["elle-cli", "-m", "mutex", &bad, &good])
        .exits(1)
        .says(&["twice.edn\tfalse\n", "once.edn\ttrue\n"])
        .complains(&["operation 2", "process 1 took the mutex", "was held"]);
    let cas = "{\"type\":\"invoke\",\"f\":\"write\",\"process\":0,\"value\":1}
        {\"type\":\"ok\",\"f\":\"write\",\"process\":0,\"value\":1}
        {\"type\":\"invoke\",\"f\":\"cas\",\"process\":0,\"value\":[1,2]}
        {\"type\":\"ok\",\"f\":\"cas\",\"process\":0,\"value\":[1,2]}\n";
    let good = folder.file("cas.json", cas);
    let bad = folder.file("bad.json", cas.replace("[1,2]", "[3,2]"));
    let expected = format!("{good}\ttrue\n{bad}\tfalse\n");
    assert_eq!(lines(&["-m", "cas-register", &good, &bad], 1), expected);
    let run = isolde(&["elle-cli", "-m", "cas-register", "-v", &bad]).exits(1);
    assert_eq!(run.json()["valid?"], false);
    isolde(&["elle-cli", "-m", "mutex", &good])
        .exits(0)
        .says(&["\tunknown\n"])
        .complains(&["another object"]);
}

/// Keys that one client writes in turn, read in the opposite order by another.
#[test]
fn what_was_written_first_is_seen_first() {
    let folder = Folder::new("elle-sequential");
    let read = "{:type :invoke, :f :read, :process 0, :value [7 nil]}
        {:type :ok, :f :read, :process 0, :value [7 [nil \"7_1\" \"7_0\"]]}\n";
    let good = folder.file("good.edn", read);
    let bad = folder.file("bad.edn", read.replace("\"7_0\"", "nil"));
    let expected = format!("{good}\ttrue\n{bad}\tfalse\n");
    assert_eq!(lines(&["-m", "sequential", &good, &bad], 1), expected);
}

/// Models of which Elle finds no more than of a weaker one are taken, and that is said.
#[test]
fn models_without_a_level_are_asked_as_elle_does() {
    let folder = Folder::new("elle-stand-ins");
    let skew = folder.file("skew.edn", SKEW);
    for model in [
        "update-serializable",
        "forward-consistent-view",
        "monotonic-view",
    ] {
        isolde(&["elle-cli", "-m", "list-append", "-c", model, &skew])
            .exits(0)
            .says(&["\ttrue\n"])
            .complains(&[model, "is checked as"]);
    }
    let anomalies = [
        "-m",
        "list-append",
        "-c",
        "",
        "-a",
        "G1c-process,G-single-realtime",
        &skew,
    ];
    assert!(lines(&anomalies, 0).ends_with("\ttrue\n"));
}

#[test]
fn long_forks_are_found_without_the_writes() {
    let folder = Folder::new("elle-fork");
    let fork = folder.file("fork.edn", FORK);
    let args = ["--model", "long-fork", "--group-size", "3", &fork];
    assert_eq!(lines(&args, 1), format!("{fork}\tfalse\n"));
    let fine = folder.file("fine.edn", FORK.replace("[:r 0 nil]", "[:r 0 1]"));
    assert!(lines(&["--model", "long-fork", &fine], 0).ends_with("\ttrue\n"));
}

/// Every anomaly that elle-cli's manual names is taken, for lists and for registers.
#[test]
fn every_anomaly_of_the_manual_is_taken() {
    let folder = Folder::new("elle-anomalies");
    let text = "[{:process 1, :type :ok, :f :txn, :value [[:r :x 1] [:w :y 1]], :index 2}
        {:process 2, :type :ok, :f :txn, :value [[:r :y 1]], :index 4}
        {:process 2, :type :ok, :f :txn, :value [[:w :x 1]], :index 6}]";
    let registers = folder.file("registers.edn", text);
    let lists = text.replace("x 1", "x [1]").replace("r :y 1", "r :y [1]");
    let lists = lists
        .replace("w :x [1]", "append :x 1")
        .replace("w :y", "append :y");
    let lists = folder.file("lists.edn", lists);
    let ask = |model: &str, file: &str, anomaly: &str| {
        isolde(&["elle-cli", "-m", model, "-c", "", "-a", anomaly, file])
    };
    let manual = "G0 G0-process G0-realtime G1a G1b G1c G1c-process G-single G-single-process \
        G-single-realtime G-nonadjacent G-nonadjacent-process G-nonadjacent-realtime G2-item \
        G2-item-process G2-item-realtime G2-process GSIa GSIb incompatible-order dirty-update \
        lost-update write-skew";
    for anomaly in manual.split_whitespace() {
        for (model, file) in [("list-append", &lists), ("rw-register", &registers)] {
            let out = ask(model, file, anomaly).out;
            assert!(out.starts_with(&format!("{file}\t")), "{anomaly}: {out}");
        }
    }
    for (model, file) in [("list-append", &lists), ("rw-register", &registers)] {
        ask(model, file, "G0-process").exits(0).says(&["\ttrue\n"]);
        ask(model, file, "G1c-process")
            .exits(1)
            .says(&["\tfalse\n"]);
        ask(model, file, "GSIa")
            .exits(0)
            .complains(&["GSIa is not looked for"]);
    }
    // Of the cycles with real time one is found, of another kind: it may hide what was asked for.
    ask("rw-register", &registers, "G-single-realtime")
        .exits(0)
        .says(&["\tunknown\n"]);
}

/// Elle takes a read of a register that nobody wrote for granted.
#[test]
fn registers_are_judged_as_elle_does() {
    let folder = Folder::new("elle-registers");
    let text = "{:type :ok, :process 0, :f :txn, :value [[:w :x 2]]}
        {:type :ok, :process 0, :f :txn, :value [[:r :x 3]]}
        {:type :ok, :process 0, :f :txn, :value [[:r :x 2]]}";
    let file = folder.file("thin-air.edn", text);
    isolde(&["elle-cli", "-m", "rw-register", &file])
        .exits(0)
        .says(&["thin-air.edn\ttrue\n"])
        .complains(&["nobody wrote", "r(:x, 3)"]);
    isolde(&["check", "-l", "serializable", &file]).exits(1);
    // But not that a transaction overlooks what it wrote or read itself.
    for txn in [
        "[:w :y 1] [:r :y 3]",
        "[:r :y nil] [:r :y 3]",
        "[:r :y 3] [:r :y nil]",
    ] {
        let text = format!("{{:type :ok, :process 0, :f :txn, :value [{txn}]}}");
        let internal = folder.file("internal.edn", text);
        let lines = lines(&["-m", "rw-register", "-c", "read-atomic", &internal], 1);
        assert!(lines.ends_with("\tfalse\n"), "{txn}");
    }
    let stale = folder.file("stale.edn", text.replace("3", "nil"));
    assert!(lines(&["-m", "rw-register", &stale], 1).ends_with("\tfalse\n"));
    let weak = ["-m", "rw-register", "-c", "read-committed", &stale];
    assert!(lines(&weak, 0).ends_with("\ttrue\n"));
}

/// Under the name of elle-cli the binary is elle-cli.
#[test]
#[cfg(unix)]
fn a_link_takes_the_place_of_elle_cli() {
    let folder = Folder::new("elle-link");
    let skew = folder.file("skew.edn", SKEW);
    let link = folder.path("elle-cli");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_isolde"), &link).expect("a link");
    let output = Command::new(&link)
        .args(["--model", "list-append", &skew])
        .output();
    let run = Run::of(output.expect("the binary starts")).exits(1);
    assert_eq!(run.out, format!("{skew}\tfalse\n"));
}

/// The files that elle-cli's own test runs, where they are at hand, with its exit codes.
#[test]
fn the_files_of_elle_cli_get_its_answers() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/elle-cli");
    if !corpus.is_dir() {
        eprintln!("skipped: there is no {}", corpus.display());
        return;
    }
    let table: &[(&str, &str, i32)] = &[
        ("rw-register", "elle/rw-register.edn", 0),
        ("rw-register", "elle/rw-register.json", 0),
        ("list-append", "elle/paper-example.edn", 1),
        ("list-append", "elle/paper-example.json", 1),
        ("list-append", "elle/list-append-gh-30.edn", 1),
        ("bank", "jepsen/bank.edn", 0),
        ("bank", "jepsen/bank.json", 0),
        ("bank", "jepsen/bank-neg.edn", 0),
        ("bank", "jepsen/bank-negative-balances.json", 1),
        ("counter", "jepsen/counter.json", 0),
        ("set", "jepsen/set.edn", 0),
        ("long-fork", "jepsen/long-fork.edn", 1),
        ("comments", "custom/comments.edn", 1),
    ];
    for (model, file, code) in table {
        let path = corpus.join(file);
        let file = path.to_str().expect("text");
        let out = lines(&["--model", model, file], *code);
        assert_eq!(out.lines().count(), 1, "{out}");
        let word = out.trim_end().rsplit('\t').next().unwrap_or_default();
        assert_eq!(word, if *code == 1 { "false" } else { "true" }, "{out}");
    }
}
