//! `convert`: lossless, or refused.

use super::{Folder, corpus, isolde, isolde_reading};
use history::format::Format;

/// What a format's file is called here.
fn file_name(format: Format) -> String {
    let ending = format.extensions().first().unwrap_or(&"logs");
    format!("{}.{ending}", format.name())
}

fn convert(from: &str, to: &str, format: Format) -> super::Run {
    isolde(&["convert", from, to, "--to", format.name()])
}

/// From every format to every other and back to JSON lines: the same operations.
#[test]
fn every_format_converts_to_every_other() {
    let folder = Folder::new("all-to-all");
    let lines = |file: &str| {
        isolde(&["convert", file, "-", "--to", "awdit"])
            .exits(0)
            .out
    };
    let expected = lines(&corpus("formats/same.txt"));
    // This history has no times, without which TimeKiller's format is nothing.
    let formats = || Format::all().filter(|format| *format != Format::TimeKiller);
    for first in formats() {
        let one = folder.path(&file_name(first));
        convert(&corpus("formats/same.txt"), &one, first).exits(0);
        for second in formats() {
            let two = folder.path(&format!("{}-{}", first.name(), file_name(second)));
            convert(&one, &two, second).exits(0);
            assert_eq!(lines(&two), expected, "{first} to {second}");
        }
    }
}

/// Timestamps are the times of transactions, on the way there and back.
#[test]
fn a_history_with_times_goes_through_timekiller_unchanged() {
    let folder = Folder::new("timekiller");
    let [first, stamped, back] =
        ["a.jsonl", "b.timekiller.json", "c.jsonl"].map(|n| folder.path(n));
    let generate = ["generate", "--times", "--sessions", "3", "--txns", "20"];
    isolde(&[&generate[..], &["-o", &first]].concat()).exits(0);
    isolde(&["convert", &first, &stamped]).exits(0);
    isolde(&["convert", &stamped, &back]).exits(0);
    isolde(&["check", "--level", "sser", &stamped])
        .exits(0)
        .says(&["(timekiller)"]);
    let ops = |file: &str| {
        let text = std::fs::read_to_string(file).expect("a file");
        let after = |line: &str| {
            line.split_once("\"start\"")
                .map(|(_, rest)| rest.to_string())
        };
        text.lines().filter_map(after).collect::<Vec<String>>()
    };
    assert_eq!(ops(&back), ops(&first));
    assert_eq!(ops(&first).len(), 60);
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let folder = Folder::new("cannot-hold");
    let keeps_all = [
        Format::Isolde,
        Format::Parquet,
        Format::JepsenEdn,
        Format::JepsenJson,
        Format::JepsenStore,
    ];
    for (name, what) in [
        ("lists/lost-update.jsonl", "list"),
        ("outcomes/indeterminate-read.jsonl", "indeterminate"),
    ] {
        for format in Format::all() {
            let out = folder.path(&format!("{what}-{}", file_name(format)));
            let run = convert(&corpus(name), &out, format);
            if keeps_all.contains(&format) {
                run.exits(0);
                let verdict = |file: &str| isolde(&["check", file]).code;
                assert_eq!(verdict(&out), verdict(&corpus(name)), "{name} as {format}");
            } else {
                run.exits(2).complains(&[&out]);
                assert!(
                    !std::path::Path::new(&out).is_file(),
                    "{out} was left behind"
                );
            }
        }
    }
}

/// Viper takes a value that nobody wrote for the initial one: the violation would be gone.
#[test]
fn a_read_out_of_thin_air_does_not_become_one_of_the_initial_version() {
    let folder = Folder::new("viper-thin-air");
    let file = folder.file("h.jsonl", "{\"session\":0,\"ops\":[[\"r\",1,5]]}\n");
    isolde(&["check", "-l", "rc", &file]).exits(1);
    convert(&file, &folder.path("logs"), Format::Viper)
        .exits(2)
        .complains(&["r(1, 5) of s0n0", "nobody wrote that value"]);
}

#[test]
fn verdicts_survive_a_conversion() {
    let folder = Folder::new("verdicts-survive");
    let verdicts = |file: &str| {
        let json = isolde(&["check", "--json", file]).json();
        let kinds = |result: &serde_json::Value| {
            let names = result["anomalies"].as_array().expect("anomalies").iter();
            names
                .map(|anomaly| anomaly["kind"].to_string())
                .collect::<Vec<_>>()
        };
        let results = json["results"].as_array().expect("results").iter();
        results
            .map(|result| format!("{} {:?}", result["verdict"], kinds(result)))
            .collect::<Vec<_>>()
    };
    for name in [
        "patterns/l-table-6.txt",
        "patterns/b-aborted-read.txt",
        "patterns/g0-dirty-write.edn",
    ] {
        let expected = verdicts(&corpus(name));
        for ending in ["jsonl", "parquet", "edn", "json"] {
            let out = folder.path(&format!("out.{ending}"));
            isolde(&["convert", &corpus(name), &out]).exits(0);
            assert_eq!(verdicts(&out), expected, "{name} as {ending}");
        }
    }
}

#[test]
fn pipes_work_at_both_ends() {
    let text = std::fs::read(corpus("formats/same.txt")).expect("a file");
    let run = isolde_reading(&["convert", "-", "-", "--to", "dbcop-hist"], &text).exits(0);
    let back = isolde_reading(&["convert", "-", "-", "--to", "text"], run.out.as_bytes()).exits(0);
    assert_eq!(back.out.lines().count(), 8);
    isolde_reading(&["convert", "-", "-"], &text)
        .exits(2)
        .complains(&["--to"]);
}

#[test]
fn a_directory_with_something_in_it_is_not_overwritten() {
    let folder = Folder::new("occupied");
    folder.file("letter.txt", "dear");
    isolde(&[
        "convert",
        &corpus("formats/same.txt"),
        &folder.path(""),
        "--to",
        "cobra",
    ])
    .exits(2)
    .complains(&["not empty"]);
}
