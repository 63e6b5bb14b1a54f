//! What real Jepsen histories have besides transactions: none of it stops the reader.
use history::format::jepsen::{read_edn, read_json};
use history::{History, OpKind, Status, TxnId};

fn edn(text: &str) -> (History, Vec<String>) {
    let mut notes = Vec::new();
    let history = read_edn(text.as_bytes(), &mut notes);
    (
        history.unwrap_or_else(|error| panic!("{error}: {text}")),
        notes,
    )
}

/// Every transaction as text, in order.
fn txns(history: &History) -> Vec<String> {
    let ops = |txn: TxnId| {
        let ops = history.txn_ops(txn).map(|(id, _)| history.op_text(id));
        ops.collect::<Vec<_>>().join(" ")
    };
    history.txn_ids().map(ops).collect()
}

const GOOD: &str = "{:type :invoke, :process 0, :f :txn, :value [[:w 1 2]], :time 5, :index 0}
{:type :ok, :process 0, :f :txn, :value [[:w 1 2]], :time 6, :index 1}\n";

#[test]
fn what_the_nemesis_does_is_skipped() {
    let odd = [
        "{:type :info, :process :nemesis, :f :start-partition, :value nil, :time 1, :index 2}",
        "{:type :info, :process :nemesis, :f :kill, :value {\"n1\" :killed, \"n2\" {:a #{1 [2]}}}}",
        "{:type :info, :process :nemesis, :f [:clock {:n 1}], :value :majority}",
        "{:process :nemesis, :type :info, :f nil, :value #{\"n1\"}, :error \"x\", :exception {:via [{}]}}",
        "#jepsen.history.Op{:index -1, :time -1, :type :info, :process :nemesis, :f :x, :value nil}",
        "{:type :info :process :nemesis :f :a :value #object[java.lang.Object 0x1 \"{\"] :at #inst \"2020\"}",
        "{:type :info :process :nemesis :f 12 :value #:db{:a 1} :b \\{ :c ##NaN :d 1/2 :e 1.5M}",
        "{:type :info :process :nemesis :f #{:a} :value #my/tag #other [1 {}]}",
    ];
    for line in odd {
        let (history, notes) = edn(&format!("{line}\n{GOOD}{line}"));
        assert_eq!(txns(&history), ["w(1, 2)"], "{line}");
        assert!(
            notes
                .iter()
                .any(|note| note.starts_with("2 operations of the nemesis"))
        );
        assert!(history.has_intervals(), "{line}");
    }
}

#[test]
fn operations_that_are_none_on_data_are_left_out_with_a_note() {
    let odd = [
        "{:type :invoke, :process 1, :f :create-table, :value nil, :time 7}
         {:type :ok, :process 1, :f :create-table, :value {:a {:b 1}}, :time 8}",
        "{:type :invoke, :process 1, :f :debug, :time 7}
         {:type :info, :process 1, :f :debug, :error [:timeout {:a 1}], :time 8}",
        "{:type :invoke, :process 1, :f :trim, :value {:k 1}, :time 7}",
        "{:type :invoke, :process 1, :f [:a :b], :value 3, :time 7}
         {:type :fail, :process 1, :f [:a :b], :value 3, :time 8}",
    ];
    for lines in odd {
        let (history, notes) = edn(&format!("{lines}\n{GOOD}"));
        assert_eq!(txns(&history), ["w(1, 2)"], "{lines}");
        let left_out = |note: &String| note.starts_with("1 operations were left out");
        assert!(notes.iter().any(left_out), "{notes:?}");
        // Alone, they are no history.
        let alone = read_edn(lines.as_bytes(), &mut Vec::new());
        let error = alone.expect_err("nothing known").to_string();
        assert!(
            error.contains("not known") && error.contains("hint"),
            "{error}"
        );
    }
}

#[test]
fn extra_fields_of_transactions_are_ignored() {
    let line = "#jepsen.history.Op{:error [:no \"]}\"], :exception {:via [{:type java.lang.Error, \
                :at [a b \"c\" 1]}], :cause \"x\"}, :type :fail, :process 1, :f :txn, \
                :value [[:w 1 3]], :time 9, :index 3, :node \"n1\", :debug #{{:a [1 2]}}}";
    let (history, _) = edn(&format!("{GOOD}{line}"));
    assert_eq!(txns(&history), ["w(1, 2)", "w(1, 3)"]);
    assert_eq!(history.status(TxnId(1)), Status::Aborted);
}

#[test]
fn transactions_on_independent_keys_are_on_keys_of_their_own() {
    let text = "{:type :invoke, :process 0, :f :txn, :value [3 [[:w 1 2] [:r 1 nil]]]}
        {:type :ok, :process 0, :f :txn, :value [3 [[:w 1 2] [:r 1 2]]]}
        {:type :invoke, :process 0, :f :txn, :value [\"k\" [[:append :x 5] [:r :x nil]]]}
        {:type :ok, :process 0, :f :txn, :value [\"k\" [[:append :x 5] [:r :x [5]]]]}
        {:type :invoke, :process 0, :f :txn, :value [4 nil]}
        {:type :ok, :process 0, :f :txn, :value [4 []]}";
    let (history, _) = edn(text);
    let lists = "append([\"k\" :x], 5) r([\"k\" :x], [5])";
    assert_eq!(txns(&history), ["w([3 1], 2) r([3 1], 2)", lists, ""]);
    for bad in [
        "[3 4]",
        "[3 [[:w 1 2]] 5]",
        "[3 [4]]",
        "[{} [[:w 1 2]]]",
        "[3",
    ] {
        let text = format!("{{:type :ok, :process 0, :f :txn, :value {bad}}} ");
        assert!(read_edn(text.as_bytes(), &mut Vec::new()).is_err(), "{bad}");
    }
}

#[test]
fn plain_operations_on_independent_keys_are_registers_of_their_own() {
    let text = "{:type :invoke, :process 0, :f :write, :value [7 1]}
        {:type :ok, :process 0, :f :write, :value [7 1]}
        {:type :invoke, :process 0, :f :read, :value [7 nil]}
        {:type :ok, :process 0, :f :read, :value [7 1]}
        {:type :invoke, :process 1, :f :read, :value [8 nil]}
        {:type :ok, :process 1, :f :read, :value [8 nil]}
        {:type :invoke, :process 1, :f :cas, :value [8 [1 2]]}
        {:type :info, :process 1, :f :cas, :value [8 [1 2]]}";
    let (history, _) = edn(text);
    let expected = ["w(7, 1)", "r(7, 1)", "r(8, nil)", "r(8, ?) w(8, 2)"];
    assert_eq!(txns(&history), expected);
    let json = text
        .replace("nil", "null")
        .replace(":type :", "\"type\" : \"")
        .replace(", :process", "\", \"process\" :")
        .replace(", :f :", ", \"f\": \"")
        .replace(", :value", "\", \"value\" :");
    let history = read_json(json.as_bytes(), &mut Vec::new()).expect("JSON");
    assert_eq!(txns(&history), expected);
}

/// A set of two elements is no pair of key and value.
#[test]
fn sets_of_two_are_sets() {
    let text = "{:type :invoke, :process 0, :f :add, :value [0 1]}
        {:type :ok, :process 0, :f :add, :value [0 1]}
        {:type :invoke, :process 0, :f :read, :value nil}
        {:type :ok, :process 0, :f :read, :value [[0 1] [0 2]]}
        {:type :invoke, :process 0, :f :read}
        {:type :ok, :process 0, :f :read, :value [5 6]}";
    let (history, _) = edn(text);
    let kinds: Vec<OpKind> = history.ops().kinds.clone();
    assert_eq!(kinds, [OpKind::Add, OpKind::ReadSet, OpKind::ReadSet]);
    assert_eq!(history.key_count(), 1);
}

/// Two writes, the second one invoked at the very time at which the first was answered.
const TIED: &str = "{:type :invoke, :process 0, :f :txn, :value [[:w 1 2]], :time 5, :index 0}
{:type :ok, :process 0, :f :txn, :value [[:w 1 2]], :time 6, :index 1}
{:type :invoke, :process 1, :f :txn, :value [[:w 1 3]], :time 6, :index 2}
{:type :ok, :process 1, :f :txn, :value [[:w 1 3]], :time 9, :index 3}\n";

/// Whether the first transaction ended before the second one began.
fn is_first_over(text: &str) -> bool {
    let history = edn(text).0;
    let interval = |txn| history.interval(TxnId(txn)).expect("times");
    interval(0).completion() < interval(1).start
}

#[test]
fn events_come_in_the_order_of_their_indices() {
    assert!(is_first_over(TIED));
    let lines: Vec<&str> = TIED.lines().collect();
    // Invoked first: under way at the same time.
    let other = [lines[0], lines[2], lines[1], lines[3]].join("\n");
    let other = other.replace(":time 6, :index 2", ":time 6, :index 01");
    let other = other.replace(":index 1}", ":index 2}").replace("01", "1");
    assert!(!is_first_over(&other));
    // Where the two contradict each other, the clock counts.
    assert!(is_first_over(
        &other.replace(":time 6, :index 1}", ":time 7, :index 1}")
    ));
    // An index is no index if it is missing somewhere, or does not ascend.
    assert!(!is_first_over(&TIED.replace(", :index 3", "")));
    assert!(!is_first_over(&TIED.replace(":index 3", ":index 2")));
}

#[test]
fn what_the_order_of_lines_would_add_to_the_times_is_not_written() {
    let tied = edn(&TIED.replace(", :index 3", "")).0;
    let mut text = Vec::new();
    history::format::jepsen::write_edn(&tied, &mut text).expect("a history");
    let text = String::from_utf8(text).expect("text");
    assert!(!text.contains(":index"), "{text}");
    assert!(!is_first_over(&text));
    let over = edn(TIED).0;
    let mut text = Vec::new();
    history::format::jepsen::write_edn(&over, &mut text).expect("a history");
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains(":index 3") && is_first_over(&text), "{text}");
}

/// Else a file that is cut off in its first operation would satisfy every level.
#[test]
fn a_file_that_ends_in_its_first_operation_is_an_error() {
    let cut = "{:type :ok, :process 0, :f :txn, :value [[:w 1";
    assert!(read_edn(cut.as_bytes(), &mut Vec::new()).is_err());
    let json = "[{\"type\":\"ok\",\"process\":0,\"f\":\"txn\",\"value\":[[\"w\",1";
    assert!(read_json(json.as_bytes(), &mut Vec::new()).is_err());
    let (history, notes) = edn(&format!("{GOOD}{cut}"));
    assert_eq!(txns(&history), ["w(1, 2)"]);
    assert!(notes.iter().any(|note| note.contains("the 2 whole ones")));
}

/// Clocks of a recording may be odd; then they order nothing.
#[test]
fn completions_before_their_invocations_leave_no_times() {
    let lines = |ok: i64| {
        format!(
            "{{:type :invoke, :process 0, :f :txn, :value [[:w 1 2]], :time 5}}
             {{:type :ok, :process 0, :f :txn, :value [[:w 1 2]], :time {ok}}}
             {{:type :invoke, :process 1, :f :txn, :value [[:r 1 nil]], :time 8}}
             {{:type :ok, :process 1, :f :txn, :value [[:r 1 nil]], :time 9}}"
        )
    };
    for (ok, expected) in [(5, true), (6, true), (4, false)] {
        let (history, notes) = edn(&lines(ok));
        assert_eq!(history.has_intervals(), expected, "{ok}");
        let is_noted = notes.iter().any(|note| {
            note == "1 operations completed before they were invoked, by their :time, so no times are used"
        });
        assert_eq!(is_noted, !expected, "{ok}: {notes:?}");
    }
}

#[test]
fn equal_numbers_are_equal_however_they_are_written() {
    let (history, _) = edn(
        "{:type :ok, :process 0, :f :txn, :value [[:w 1 2.0] [:w 1.0 2] [:r 1 1.50] [:r 1 1.5M] [:r 1 1e2] [:r 1 1/2]]}",
    );
    let expected = "w(1, 2) w(1, 2) r(1, 1.5) r(1, 1.5) r(1, 100) r(1, 1/2)";
    assert_eq!(txns(&history), [expected]);
    let json =
        r#"{"type":"ok","process":0,"f":"txn","value":[["w",1,2.0],["r",1,2],["r",1,true]]}"#;
    let history = read_json(json.as_bytes(), &mut Vec::new()).expect("good");
    assert_eq!(txns(&history), ["w(1, 2) r(1, 2) r(1, true)"]);
}
