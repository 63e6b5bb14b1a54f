//! Files that are wrong: each gives a verdict, or an error that says the place and what to do.

use super::{Folder, HOLDS, command, corpus, isolde};
use std::fs::File;
use std::process::Stdio;

/// Checks a file of these bytes.
fn refused(folder: &Folder, name: &str, bytes: impl AsRef<[u8]>, parts: &[&str]) {
    let file = folder.file(name, bytes);
    let run = isolde(&["check", &file]).exits(2).complains(parts);
    assert!(run.err.contains(name) && run.out.is_empty());
}

#[test]
fn malformed_files_are_refused_with_a_place_and_a_hint() {
    let folder = Folder::new("malformed");
    let refused = |name: &str, text: &str, parts: &[&str]| refused(&folder, name, text, parts);
    refused("empty.txt", "", &["empty", "hint"]);
    refused("blank.txt", "\n\n  \n", &["hint"]);
    refused(
        "prose.txt",
        "Dear reader,\n",
        &["format is unknown", "Dear reader", "hint"],
    );
    refused(
        "line.txt",
        "w(1,1,0,0)\nw(1,x,0,1)\n",
        &["line 2, column 5", "hint"],
    );
    refused(
        "reused.txt",
        "w(1,1,0,0)\nw(1,2,0,1)\nw(1,3,0,0)\n",
        &["line 3", "line 1", "hint"],
    );
    refused(
        "large.txt",
        "w(99999999999999999999,1,0,0)\n",
        &["line 1, column 3", "2^64"],
    );
    refused("negative.txt", "w(1,1,0,-7)\n", &["line 1"]);
    refused(
        "field.jsonl",
        "{\"session\":0,\"opps\":[]}\n",
        &["line 1", "opps"],
    );
    refused(
        "tag.jsonl",
        "{\"session\":0,\"ops\":[[\"put\",1,1]]}\n{\"session\":1}\n",
        &["line 1"],
    );
    refused(
        "process.edn",
        "{:type :ok :process 99999999999999999999 :f :txn :value []}\n",
        &["64 bits"],
    );
    refused(
        "deep.edn",
        &format!("{{:type {}", "[".repeat(100_000)),
        &["line 1"],
    );
    refused(
        "deep.json",
        &format!("{{\"type\": \"ok\", \"f\": {}", "[".repeat(100_000)),
        &["line 1"],
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let folder = Folder::new("bytes");
    let refused = |name: &str, bytes: &[u8], parts: &[&str]| refused(&folder, name, bytes, parts);
    refused(
        "latin.txt",
        b"w(1,1,0,0)\n\xff\xfe(1,1,0,1)\n",
        &["line 2", "\\xff"],
    );
    refused(
        "latin.jsonl",
        b"{\"session\":0,\"ops\":[[\"w\",\"\xff\",1]]}\n{\"session\":1}\n",
        &["line 1"],
    );
    refused(
        "latin.edn",
        b"{:type :ok :process 0 :f :txn :value [[:w \"\xff\" 1]]}\n",
        &["line 1"],
    );
    refused("zeros.txt", &[0; 4096], &["only zero bytes", "hint"]);
    refused(
        "cut.txt.gz",
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1],
        &["cut.txt.gz"],
    );
    refused("cut.parquet", b"PAR1....", &["cut.parquet"]);
}

#[test]
fn a_wrong_format_is_refused() {
    let file = corpus(HOLDS);
    for format in history::format::Format::all().map(|format| format.name()) {
        let run = isolde(&["check", &file, "--format", format]);
        match format {
            "text" => run.exits(0),
            _ => run.exits(2).complains(&["serial.txt"]),
        };
    }
}

#[test]
fn a_truncated_recording_is_checked_up_to_its_last_whole_transaction() {
    let folder = Folder::new("truncated");
    let file = folder.file("cut.txt", "w(1,1,0,0)\nr(1,1,1,1)\nr(1,9,1,2)\nr(1,1,1,");
    isolde(&["check", &file])
        .exits(0)
        .complains(&["note: ", "cut.txt"]);
    let lines = "{\"session\":0,\"ops\":[[\"w\",1,1]]}\n{\"session\":1,\"ops\":[[\"r\",1";
    let file = folder.file("cut.jsonl", lines);
    isolde(&["check", &file]).exits(0).complains(&["note: "]);
    let json = isolde(&["check", "--json", &file]).exits(0).json();
    assert_eq!(json["notes"].as_array().map(Vec::len), Some(1));
    let file = folder.file("all-cut.txt", "w(1,1,0,0)\nr(1,1,0,");
    isolde(&["check", &file])
        .exits(0)
        .complains(&["unknown outcome"]);
}

#[test]
fn odd_values_get_a_verdict() {
    let folder = Folder::new("odd-values");
    let file = folder.file("twice.txt", "w(1,1,0,0)\nw(1,1,1,1)\nr(1,1,2,2)\n");
    isolde(&["check", &file]).exits(0);
    let file = folder.file("never.txt", "w(1,1,0,0)\nr(1,5,1,1)\n");
    isolde(&["check", &file])
        .exits(1)
        .says(&["thin-air-read", "no transaction wrote that value"]);
}

#[test]
fn places_that_are_no_files_are_refused() {
    let folder = Folder::new("places");
    isolde(&["check", &folder.path("missing.txt")])
        .exits(2)
        .complains(&["missing.txt", "No such file"]);
    isolde(&["check", &folder.path("")])
        .exits(2)
        .complains(&["no file in this directory", "Cobra"]);
    folder.file("notes.md", "# Not a log\n");
    folder.file("T0.log", "nor this");
    isolde(&["check", &folder.path("")]).exits(2);
}

#[test]
fn outputs_that_cannot_be_written_are_errors() {
    let folder = Folder::new("outputs");
    let (file, nowhere) = (corpus(HOLDS), folder.path("no/such/folder/out.edn"));
    isolde(&["check", &file, "--certificate", &nowhere])
        .exits(2)
        .complains(&[&nowhere]);
    isolde(&["convert", &file, &nowhere])
        .exits(2)
        .complains(&[&nowhere]);
    isolde(&["generate", "-o", &nowhere])
        .exits(2)
        .complains(&[&nowhere]);
    isolde(&["convert", &file, &folder.path("out.xml")])
        .exits(2)
        .complains(&["--to"]);
    isolde(&["generate", "-o", "-", "--to", "text", "--check"]).exits(2);
}

/// A device takes what is written, or says that it is full; it is never replaced by a file.
#[test]
fn a_full_disk_is_an_error() {
    if !cfg!(target_os = "linux") {
        println!("skipped: there is no /dev/full");
        return;
    }
    let file = corpus(HOLDS);
    let full = ["No space left"];
    isolde(&["convert", &file, "/dev/full", "--to", "text"])
        .exits(2)
        .complains(&full);
    isolde(&["check", &file, "--certificate", "/dev/full"])
        .exits(2)
        .complains(&full);
    isolde(&["convert", &file, "/dev/null", "--to", "text"]).exits(0);
    assert!(!std::fs::metadata("/dev/null").expect("a device").is_file());
    for args in [
        &["check", &file][..],
        &["levels"],
        &["convert", &file, "-", "--to", "text"],
    ] {
        let device = File::options()
            .write(true)
            .open("/dev/full")
            .expect("a device");
        let output = command(args)
            .stdout(Stdio::from(device))
            .output()
            .expect("the binary starts");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains("No space left"), "{err}");
    }
}
