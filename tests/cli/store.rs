//! Directories of Jepsen's store, `test.jepsen`, and results as EDN.

#[allow(dead_code)]
#[path = "../../crates/history/tests/all/store/encode.rs"]
mod encode;

use super::{Folder, VIOLATED, corpus, isolde};
use encode::{BIG_VECTOR, FRESSIAN, File, Micro, Op, STREAM, Writer, big_vector, test_map};

const EDN: &str = "{:type :invoke, :process 0, :f :txn, :value [[:append 1 1]], :time 1, :index 0}
{:type :ok, :process 0, :f :txn, :value [[:append 1 1]], :time 2, :index 1}
{:type :invoke, :process 1, :f :txn, :value [[:r 1 nil]], :time 3, :index 2}
{:type :ok, :process 1, :f :txn, :value [[:r 1 [1]]], :time 4, :index 3}\n";

/// The same as a file of Jepsen.
fn store() -> Vec<u8> {
    let append = [("append", 1, Micro::Int(1))];
    let asked = [("r", 1, Micro::Nil)];
    let read = [("r", 1, Micro::List(&[1]))];
    let mut file = File::new(1, 28);
    let mut w = Writer::default();
    let mut op = |index, phase, process, value: &[(&str, i64, Micro)]| {
        w.op(&Op {
            index,
            time: index + 1,
            phase,
            process,
            value,
        });
    };
    op(0, "invoke", 0, &append);
    op(1, "ok", 0, &append);
    op(2, "invoke", 1, &asked);
    op(3, "ok", 1, &read);
    file.block(3, STREAM, &w.bytes);
    file.block(1, BIG_VECTOR, &big_vector(4, &[(0, 3)]));
    file.block(2, FRESSIAN, &test_map(1)).index(2);
    file.bytes
}

/// A folder of the given files.
fn run(folder: &Folder, name: &str, files: &[(&str, &[u8])]) -> String {
    let path = folder.path(name);
    std::fs::create_dir_all(&path).expect("a folder");
    for (file, bytes) in files {
        folder.file(&format!("{name}/{file}"), bytes);
    }
    path
}

#[test]
fn a_run_is_read_from_its_best_file() {
    let folder = Folder::new("store-runs");
    let log: (&str, &[u8]) = ("jepsen.log", b"INFO nothing\n");
    let both = run(
        &folder,
        "both",
        &[("test.jepsen", &store()), ("history.edn", b"x"), log],
    );
    isolde(&["check", &both])
        .exits(0)
        .says(&["2 transactions", "(jepsen-store)"]);
    let edn = run(&folder, "edn", &[("history.edn", EDN.as_bytes()), log]);
    isolde(&["check", &edn])
        .exits(0)
        .says(&["2 transactions", "(jepsen-edn)"]);
    let out = folder.path("out.edn");
    isolde(&["convert", &both, &out]).exits(0);
    isolde(&[
        "convert",
        &format!("{both}/test.jepsen"),
        &folder.path("same.edn"),
    ])
    .exits(0);
    let written = std::fs::read_to_string(&out).expect("written");
    let same = std::fs::read_to_string(folder.path("same.edn")).expect("written");
    assert_eq!(written, same);
    let edn_run = isolde(&["convert", &edn, "-", "--to", "jepsen-edn"]).exits(0);
    assert_eq!(written, edn_run.out);
    isolde(&["check", "--format", "jepsen-edn", &both])
        .exits(2)
        .complains(&["history.edn"]);
}

#[test]
fn a_damaged_file_gives_way_to_the_next() {
    let folder = Folder::new("store-damaged");
    let good = store();
    let mut flipped = good.clone();
    flipped[60] ^= 1;
    let cases: [(&str, &[u8], &str); 5] = [
        ("flipped", &flipped, "checksum"),
        (
            "cut",
            &good[..good.len() - 9],
            "the file ends within the block",
        ),
        ("empty", b"", "empty"),
        ("magic", b"JEPSON and more", "expected `JEPSEN`"),
        ("short", b"JEP", "ends within its header"),
    ];
    for (name, bytes, problem) in cases {
        let both = run(
            &folder,
            name,
            &[("test.jepsen", bytes), ("history.edn", EDN.as_bytes())],
        );
        isolde(&["check", &both])
            .exits(0)
            .says(&["2 transactions", "(jepsen-edn)"])
            .complains(&["history.edn is read instead", "test.jepsen", problem]);
        let alone = run(&folder, &format!("{name}-alone"), &[("test.jepsen", bytes)]);
        let alone = isolde(&["check", &alone]);
        match name {
            "cut" => alone.exits(0).complains(&["cut off", "4 whole operations"]),
            _ => alone.exits(2).complains(&["test.jepsen", problem, "hint"]),
        };
    }
    let none = run(
        &folder,
        "none",
        &[("test.jepsen", &flipped), ("history.edn", b"{:type")],
    );
    isolde(&["check", &none])
        .exits(2)
        .complains(&["checksum", "history.edn", "the text ends"]);
    let worse = run(
        &folder,
        "worse",
        &[("test.jepsen", &flipped), ("history.edn", b"prose")],
    );
    isolde(&["check", &worse]).exits(2).complains(&[
        "checksum",
        "history.edn",
        "format is unknown",
    ]);
}

#[test]
fn every_cut_of_a_run_gets_an_answer() {
    let folder = Folder::new("store-cuts");
    let good = store();
    for end in (0..good.len()).step_by(17) {
        let path = folder.file("test.jepsen", &good[..end]);
        let run = isolde(&["check", &path]);
        assert!(run.code == 0 || run.code == 2, "cut at {end}: {}", run.err);
    }
}

#[test]
#[cfg(unix)]
fn a_store_of_several_runs_is_refused_by_name() {
    let folder = Folder::new("store-several");
    let edn: &[(&str, &[u8])] = &[("history.edn", EDN.as_bytes())];
    let one = run(&folder, "store/append/20200101T000000", edn);
    isolde(&["check", &folder.path("store")])
        .exits(0)
        .says(&["2 transactions"]);
    run(&folder, "store/append/20200102T000000", edn);
    std::os::unix::fs::symlink(&one, folder.path("store/latest")).expect("a link");
    for place in ["store", "store/append"] {
        isolde(&["check", &folder.path(place)])
            .exits(2)
            .complains(&["2 runs", "20200101T000000", "20200102T000000", "hint"]);
    }
    isolde(&["check", &folder.path("store")])
        .exits(2)
        .complains(&["store/latest"]);
    isolde(&["check", &folder.path("store/latest")]).exits(0);
}

/// The map as a value in a history that the EDN reader takes.
fn is_edn(map: &str) {
    let text = format!("{{:type :info :process :nemesis :f :result :value {map}}}\n{EDN}");
    let read = history::format::jepsen::read_edn(text.as_bytes(), &mut Vec::new());
    read.unwrap_or_else(|error| panic!("{error}\n{map}"));
}

#[test]
fn results_are_edn() {
    let violated = isolde(&["check", "--edn", &corpus(VIOLATED)]).exits(1);
    is_edn(&violated.out);
    assert_eq!(violated.out.lines().count(), 1);
    violated.says(&[
        "{:valid? false",
        ":anomaly-types [",
        ":fractured-read [{:kind :fractured-read, :breaks :read-atomic",
        ":not #{",
        ":also-not #{",
        ":steps [{:from ",
        ":explanation \"",
        ":causal-cerone",
    ]);
    let folder = Folder::new("store-edn");
    let file = folder.file("odd \"name\".edn", EDN.replace("1]", "\"a\\\"\\n{\"]"));
    let good = isolde(&["check", "--edn", "-l", "serializable", &file, &file]).exits(0);
    assert_eq!(good.out.lines().count(), 2);
    good.out.lines().for_each(is_edn);
    good.says(&[
        "{:valid? true",
        ":anomaly-types []",
        ":anomalies {}",
        ":holds #{:serializable}",
    ]);
    let thin = folder.file(
        "thin.edn",
        EDN.replace("[[:r 1 [1]]]", "[[:r :k/x \"q\\\"\"] [:r \"a key\" nil]]"),
    );
    let thin = isolde(&["check", "--edn", "-l", "rc", &thin]).exits(1);
    is_edn(&thin.out);
    thin.says(&[":not #{:read-committed}", ":strict-serializable"]);
    let limit = isolde(&["check", "--edn", "--memory", "0.000001", &corpus(VIOLATED)]).exits(3);
    is_edn(&limit.out);
    limit.says(&["{:valid? :unknown", ":unknown {:"]);
    isolde(&["check", "--edn", "--json", &corpus(VIOLATED)]).exits(2);
}
