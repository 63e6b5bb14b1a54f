//! Malformed files are refused where they are wrong, with what was expected; never by a panic.

use history::format::{FormatError, jepsen, jsonl, parquet};
use history::{History, OpKind, Status, ValueCode};

type Read = fn(&[u8], &mut Vec<String>) -> Result<History, FormatError>;

fn check_refused(read: Read, text: &str, pieces: &[&str]) {
    let error = match read(text.as_bytes(), &mut Vec::new()) {
        Ok(history) => panic!("accepted {text}: {} transactions", history.txn_count()),
        Err(error) => error.to_string(),
    };
    for piece in pieces {
        assert!(
            error.contains(piece),
            "no `{piece}` in `{error}` for {text}"
        );
    }
}

fn accepted(read: Read, text: &str) -> (History, Vec<String>) {
    let mut notes = Vec::new();
    let history =
        read(text.as_bytes(), &mut notes).unwrap_or_else(|error| panic!("{error}: {text}"));
    (history, notes)
}

#[test]
fn malformed_edn() {
    let table: &[(&str, &[&str])] = &[
        ("hello", &["line 1, column 1", "operation map"]),
        ("{:process 0}", &["`:type`", "hint"]),
        (
            "{:type :done}",
            &["column 8", ":invoke, :ok, :fail or :info", "done"],
        ),
        (
            "{:type :ok, :process 0, :value [[:x 1 2]]}",
            &["unknown micro-operation `x`", "column 34"],
        ),
        (
            "{:type :ok :f :txn :value [[:w 1 2 3]]}",
            &["expected `]`", "`3`"],
        ),
        (
            "{:type :ok :f :txn :value 3}",
            &["vector of micro-operations"],
        ),
        ("{:type :ok :f :txn :value [}", &["matching bracket"]),
        ("{:type :ok :f :enqueue :value 3}", &["`:f :enqueue`"]),
        ("{:type :ok :f :transfer :value {:from 1}}", &["bank"]),
        ("{:type :ok :f :write}", &["`:value`"]),
        ("{:type :ok :time 1.5}", &["integer as :time"]),
        ("{:type :ok :process 99999999999999999999}", &["64 bits"]),
        (
            "{:type :invoke :process 1}\n{:type :invoke :process 1}",
            &["line 2", "process 1 invokes"],
        ),
        ("[{:type :ok}] x", &["the end of the file", "`x`"]),
        ("{:type :ok :value [[:r 1 \"\\q\"]]}", &["unknown escape"]),
    ];
    for (text, pieces) in table {
        check_refused(jepsen::read_edn, text, pieces);
    }
    let deep = format!(
        "{{:type :ok :value {}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    check_refused(jepsen::read_edn, &deep, &["nest deeper"]);
}

#[test]
fn malformed_json() {
    let table: &[(&str, &[&str])] = &[
        ("3", &["operation map"]),
        ("{\"type\" \"ok\"}", &["`:` after a key"]),
        ("{type: \"ok\"}", &["a key in quotes"]),
        (
            "[{\"type\":\"ok\",\"value\":[[\"w\",1,nil]]}]",
            &["JSON value", "nil"],
        ),
        (
            "{\"type\":\"ok\",\"value\":[[\"w\",1,\"\\u12\"]]}",
            &["hexadecimal"],
        ),
    ];
    for (text, pieces) in table {
        check_refused(jepsen::read_json, text, pieces);
    }
}

#[test]
fn malformed_json_lines() {
    let head = "{\"isolde\":\"history\",\"version\":1}\n";
    let table: &[(&str, &[&str])] = &[
        (
            "{\"session\":0,\"ops\":[[\"w\",1,2]\n{}\n",
            &["line 3, column 1", "operation"],
        ),
        (
            "{\"ops\":[]}\n{\"session\":1}\n",
            &["line 2", "`session`", "hint"],
        ),
        ("{\"sesion\":0}\n", &["unknown field `sesion`", "known are"]),
        ("{\"session\":\"a\"}\n", &["integer as `session`"]),
        (
            "{\"session\":0,\"txn\":-1}\n",
            &["out of range", "from 0 to 18446744073709551615"],
        ),
        (
            "{\"session\":9223372036854775808}\n",
            &["out of range", "to 9223372036854775807"],
        ),
        (
            "{\"session\":170141183460469231731687303715884105728}\n",
            &["out of range", "to 9223372036854775807"],
        ),
        ("{\"session\":1.0}\n", &["integer as `session`", "`1.0`"]),
        (
            "{\"session\":0,\"status\":\"commited\"}\n",
            &["\"committed\"", "commited"],
        ),
        (
            "{\"session\":0,\"ops\":[[\"q\",1,2]]}\n",
            &["unknown operation `q`"],
        ),
        (
            "{\"session\":0,\"ops\":[[\"w\",[1],2]]}\n",
            &["an integer, a text or null"],
        ),
        (
            "{\"session\":0,\"ops\":[[\"rset\",1,2]]}\n",
            &["an array or null"],
        ),
        ("{\"session\":0,\"end\":2}\n", &["without a `start`"]),
        (
            "{\"session\":0} {\"session\":0}\n",
            &["the end of the line"],
        ),
        (
            "{\"session\":0\n{\"session\":1}\n",
            &["line 3, column 1", "field name"],
        ),
    ];
    for (text, pieces) in table {
        check_refused(jsonl::read, &format!("{head}{text}"), pieces);
    }
    check_refused(
        jsonl::read,
        "{\"isolde\":\"history\",\"version\":2}\n",
        &["version 2"],
    );
    check_refused(jsonl::read, "garbage", &["line 1, column 1"]);
    // Its operations would belong to no transaction.
    check_refused(
        jsonl::read,
        "{\"isolde\":\"history\",\"ops\":[[\"w\",\"y\",0]]}\n{\"session\":0}\n",
        &["line 1, column 1", "the header holds a transaction"],
    );
}

#[test]
fn a_cut_off_last_line_keeps_its_whole_operations() {
    let whole = "{\"isolde\":\"history\",\"version\":1}\n\
        {\"session\":0,\"ops\":[[\"w\",\"x\",1]]}\n{\"session\":1,\"ops\":[[\"r\",\"x\",null]]}";
    for cut in 70..whole.len() {
        let (history, notes) = accepted(jsonl::read, &whole[..cut]);
        let op_end = whole.len() - 2;
        let expected = if cut < op_end { (1, 1) } else { (2, 2) };
        assert_eq!(
            (history.txn_count(), history.op_count()),
            expected,
            "cut at {cut}"
        );
        if cut >= op_end {
            assert_eq!(history.status(history::TxnId(1)), Status::Indeterminate);
        }
        assert_eq!(
            notes.len(),
            usize::from(cut > 70 - 3 + 1),
            "cut at {cut}: {notes:?}"
        );
    }
    let edn =
        "{:type :invoke :process 0 :value [[:w 1 2]]}\n{:type :ok :process 0 :value [[:w 1 2]]}";
    let (history, notes) = accepted(jepsen::read_edn, &edn[..edn.len() - 5]);
    assert_eq!(history.status(history::TxnId(0)), Status::Indeterminate);
    assert!(notes[0].contains("ends in the middle"), "{notes:?}");
}

#[test]
fn a_last_line_that_fails_behind_its_operations_leaves_no_orphans() {
    let first =
        "{\"isolde\":\"history\",\"version\":1}\n{\"session\":0,\"ops\":[[\"w\",\"x\",1]]}\n";
    let table = [
        ("{\"session\":0,\"ops\":[[\"w\",\"x\",2]]} x", 2),
        ("{\"ops\":[[\"w\",\"x\",2]],\"session\":", 1),
        ("{\"session\":0,\"ops\":[[\"w\",\"x\",2]],\"st", 2),
    ];
    for (last, expected) in table {
        let (history, notes) = accepted(jsonl::read, &format!("{first}{last}"));
        let owned: u32 = history.txns().iter().map(|txn| txn.op_count).sum();
        let counts = (history.txn_count(), history.op_count(), owned as usize);
        assert_eq!(counts, (expected, expected, expected), "{last}");
        assert!(notes[0].contains("cut off"), "{notes:?}");
    }
}

#[test]
fn a_whole_last_line_that_is_wrong_is_refused_without_its_line_end() {
    let first = "{\"session\":0,\"ops\":[[\"w\",\"x\",1]]}\n";
    let table = [
        ("{\"ops\":[[\"w\",\"x\",2]]}", "`session`"),
        ("{\"session\":0,\"end\":3,\"ops\":[]}", "without a `start`"),
        (
            "{\"session\":0,\"start\":9,\"end\":3}",
            "the `end` 3 is before the `start` 9",
        ),
        (
            "{\"session\":0,\"ops\":[[\"w\",\"x\",1.5]]}",
            "an integer, a text or null",
        ),
    ];
    for (last, piece) in table {
        for end in ["", "\n", " \r\n"] {
            check_refused(
                jsonl::read,
                &format!("{first}{last}{end}"),
                &["line 2", piece],
            );
        }
    }
}

#[test]
fn an_end_before_its_start_is_refused() {
    check_refused(
        jsonl::read,
        "{\"session\":0,\"ops\":[[\"w\",\"x\",1]],\"start\":9,\"end\":3}\n\
         {\"session\":1,\"ops\":[[\"r\",\"x\",0]],\"start\":4,\"end\":5}\n",
        &["line 1", "the `end` 3 is before the `start` 9", "one clock"],
    );
    let same = "{\"session\":0,\"start\":3,\"end\":3}\n{\"session\":0,\"start\":4}\n";
    assert!(accepted(jsonl::read, same).0.has_intervals());
}

#[test]
fn a_field_that_is_there_twice_is_refused() {
    let fields = [
        "\"session\":1",
        "\"txn\":1",
        "\"status\":\"aborted\"",
        "\"start\":1",
        "\"end\":2",
        "\"ops\":[]",
        "\"info\":{}",
    ];
    for field in fields {
        let rest: Vec<&str> = fields.into_iter().filter(|other| *other != field).collect();
        let line = format!("{{{field},{},{field}}}\n", rest.join(","));
        check_refused(jsonl::read, &line, &["line 1", "is there twice"]);
    }
}

#[test]
fn only_results_of_reads_may_be_missing() {
    for tag in ["w", "append", "add", "inc"] {
        let line = format!("{{\"session\":0,\"ops\":[[\"{tag}\",\"x\"]]}}\n");
        check_refused(
            jsonl::read,
            &line,
            &["column 22", "a write without a value"],
        );
    }
    for tag in ["r", "rlist", "rset", "rcount"] {
        let line = format!("{{\"session\":0,\"ops\":[[\"{tag}\",\"x\"]]}}\n");
        assert_eq!(
            accepted(jsonl::read, &line).0.ops().values,
            [ValueCode::UNKNOWN]
        );
    }
}

#[test]
fn json_lines_have_no_fractions() {
    for value in ["2.0", "1.5", "1e2", "true", "-0.5", "[1.5]"] {
        let line = format!("{{\"session\":0,\"ops\":[[\"r\",\"x\",{value}]]}}\n");
        check_refused(
            jsonl::read,
            &line,
            &["an integer, a text or null", "in quotes"],
        );
    }
    let line = format!(
        "{{\"session\":0,\"ops\":[[\"inc\",\"x\",{}0]]}}\n",
        i128::MAX
    );
    check_refused(
        jsonl::read,
        &line,
        &["an integer, a text or null", "127 bits"],
    );
    let line = format!("{{\"session\":0,\"ops\":[[\"w\",\"x\",{}]]}}\n", i128::MIN);
    accepted(jsonl::read, &line);
}

#[test]
fn a_text_that_ends_too_early_ends_on_its_last_line() {
    let cut = "{\"session\":0,\"ops\":[[\"w\",\"x\",1]";
    for end in ["", "\n", "\r\n\n"] {
        let expected = format!("line 1, column {}: the text ends", cut.len() + 1);
        check_refused(jsonl::read, &format!("{cut}{end}"), &[&expected]);
    }
}

/// What a program can build and no reader would take back.
#[test]
fn unsound_histories_are_not_written() {
    let backward = history::Interval { start: 5, end: 4 };
    let tables = [
        (ValueCode::UNKNOWN, None, "w(1, ?), a write without a value"),
        (
            ValueCode::ZERO,
            Some(backward),
            "s0t0, which ended before it started",
        ),
    ];
    for (value, interval, expected) in tables {
        let mut builder = history::Builder::new();
        let session = builder.session(0);
        let key = builder.key(&history::Value::from(1));
        let op = history::Op {
            kind: OpKind::Write,
            key,
            value,
        };
        let pushed = builder.push_txn(session, 0, Status::Committed, interval, &[op]);
        pushed.expect("a small history");
        let history = builder.finish();
        for write in [jsonl::write, parquet::write] {
            let error = write(&history, &mut Vec::new())
                .expect_err("unsound")
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn a_cut_off_last_line_takes_no_times_from_the_others() {
    let text = "{\"isolde\":\"history\",\"version\":1}\n\
        {\"session\":0,\"start\":1,\"end\":2,\"ops\":[[\"w\",\"x\",1]]}\n\
        {\"session\":1,\"ops\":[[\"r\",\"x\",1]],\"start\":";
    let (history, _) = accepted(jsonl::read, text);
    let unknown = history.interval(history::TxnId(1)).expect("times");
    assert_eq!((unknown.start, unknown.end), (i64::MIN, i64::MAX));
}

/// Half of a character is refused: read as anything else, two keys or values would be one.
#[test]
fn half_a_character_is_refused() {
    for half in ["\\ud800", "\\udc01", "\\ud800\\u0041", "\\ud83dx"] {
        let lines = format!("{{\"session\":0,\"ops\":[[\"w\",\"{half}\",1]]}}\n");
        let event = format!("[{{\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"w\",\"{half}\",1]]}}]");
        let readers: [(Read, &str); 2] = [(jsonl::read, &lines), (jepsen::read_json, &event)];
        for (read, text) in readers {
            let error = read(text.as_bytes(), &mut Vec::new()).expect_err("half a character");
            assert!(error.to_string().contains("is half a character"), "{error}");
        }
    }
    let whole = "{\"session\":0,\"ops\":[[\"w\",\"\\ud83d\\ude00\",1]]}\n";
    let (history, _) = accepted(jsonl::read, whole);
    assert_eq!(history.op_text(history::OpId(0)), "w(\u{1f600}, 1)");
    for end in ["\\ud83d", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\ude0"] {
        let cut = format!("{whole}{{\"session\":1,\"ops\":[[\"w\",\"{end}");
        let (history, _) = accepted(jsonl::read, &cut);
        assert_eq!(history.op_count(), 1, "what is cut off is left out");
    }
}

#[test]
fn no_prefix_or_flip_panics() {
    let edn = "#_ skip [#jepsen.history.Op{:type :invoke, :f :txn, :value [[:append :k \"a\\n\"] \
        [:r #{1} #{2 3}] [:w 1/2 \\a]], :process 0, :time 1, :index 4} ; end\n\
        {:type :ok :f :txn :process 0 :value [[:append :k \"a\"] [:r #{1} #{2 3}] [:w 1/2 \\a]] :time 2}]";
    let json =
        "[{\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"w\",\"\\ud83d\\ude00\",-2]],\"process\":1}]";
    let lines = "{\"isolde\":\"history\",\"version\":1}\n{\"session\":0,\"txn\":1,\"start\":1,\"ops\":[[\"r\",1,[1,2]]]}\n";
    let readers: [(Read, &str); 3] = [
        (jepsen::read_edn, edn),
        (jepsen::read_json, json),
        (jsonl::read, lines),
    ];
    for (read, text) in readers {
        for at in 0..text.len() {
            let _ = read(&text.as_bytes()[..at], &mut Vec::new());
            for byte in [0u8, b'"', b'\\', b'[', b'}', b'#', b'-', b':', 0xff, b';'] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                let _ = read(&bytes, &mut Vec::new());
            }
        }
    }
}

#[test]
fn odd_edn_is_understood() {
    let (history, notes) = accepted(
        jepsen::read_edn,
        "; a comment\n#_{:type :bogus}\n[#jepsen.history.Op{:index 7, :type :invoke, :process 3,\
         :f :txn, :error [:a {:b \"}\"}], :value [[:append :x 1] [:r :y nil]]}\n\
         {:type :info :process :nemesis :f :start :value nil}\n\
         {:type :fail :process 3 :f :txn :value [[:append :x 1] [:r :y nil]] :extra \\}}\n\
         {:type :invoke :process 4 :f :txn :value ((:r :x nil) (:r :z nil) (:w :z -12N))}\n\
         {:type :ok :process 4 :f :txn :value [(:r :x nil) [:r :z nil] [:w :z -12N]]}\n\
         {:type :invoke :process 5 :f :txn :value [[:r :x nil] [:w :q 1.5]]}]",
    );
    let text: Vec<String> = (0..history.op_count() as u32)
        .map(|op| history.op_text(history::OpId(op)))
        .collect();
    let expected = [
        "append(:x, 1)",
        "r(:y, ?)",
        "r(:x, [])",
        "r(:z, nil)",
        "w(:z, -12)",
        "r(:x, ?)",
        "w(:q, 1.5)",
    ];
    assert_eq!(text, expected);
    assert_eq!(notes, ["1 operations of the nemesis were skipped"]);
    let statuses: Vec<Status> = history.txns().iter().map(|txn| txn.status).collect();
    assert_eq!(
        statuses,
        [Status::Aborted, Status::Committed, Status::Indeterminate]
    );
    assert_eq!(history.txn(history::TxnId(0)).label, 7);
    assert_eq!(history.ops().kinds[5], OpKind::ReadList);
    assert_eq!(history.ops().values[5], ValueCode::UNKNOWN);
}

fn small_parquet() -> Vec<u8> {
    let text = "{\"session\":0,\"txn\":1,\"start\":1,\"end\":2,\"ops\":[[\"r\",\"x\",[1,2]],[\"w\",\"y\",-5]]}\n\
        {\"session\":4,\"status\":\"aborted\",\"start\":3,\"ops\":[[\"w\",\"y\",\"text\"],[\"r\",\"y\"]]}\n\
        {\"session\":4,\"start\":4,\"ops\":[]}\n";
    let (history, _) = accepted(jsonl::read, text);
    let mut bytes = Vec::new();
    parquet::write(&history, &mut bytes).unwrap();
    bytes
}

#[test]
fn malformed_parquet() {
    let refused = |bytes: &[u8]| {
        let result = parquet::read(bytes, &mut Vec::new());
        result.map(|_| ()).unwrap_err().to_string()
    };
    let whole = small_parquet();
    assert!(parquet::read(&whole, &mut Vec::new()).is_ok());
    assert!(refused(b"hello").contains("PAR1"));
    assert!(refused(b"PAR1").contains("without its footer"));
    assert!(refused(&whole[..whole.len() - 1]).contains("cut off"));
    let mut footer = whole.clone();
    let length = footer.len() - 8;
    footer[length..length + 4].copy_from_slice(&[0xff; 4]);
    assert!(refused(&footer).contains("footer is larger"));
}

/// A damaged file is an error or, where the damage is in data that nothing checks, another history.
#[test]
fn damaged_parquet_never_takes_the_program_down() {
    let whole = small_parquet();
    // A panic inside the parquet crate is caught; its report on the error stream is of no use here.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for at in 0..whole.len() {
        let _ = parquet::read(&whole[..at], &mut Vec::new());
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let _ = parquet::read(&bytes, &mut Vec::new());
        }
    }
    std::panic::set_hook(hook);
}
