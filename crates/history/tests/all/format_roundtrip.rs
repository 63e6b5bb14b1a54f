//! What a format writes it reads back: every status, kind and odd value, from fixed seeds.

use history::format::{WriteError, jepsen, jsonl, parquet};
use history::{Builder, History, Interval, Op, OpKind, Status, UNLABELLED, Value, ValueCode};

/// A small generator of its own (xorshift), so that a seed means the same for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What the histories of a test may contain.
#[derive(Clone, Copy)]
struct Shape {
    times: bool,
    /// Reads without result in committed transactions, indeterminate ones anywhere, odd labels.
    everything: bool,
    text_keys: bool,
    odd_values: bool,
}

fn odd_value(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Int(u64::MAX.into()),
        1 => Value::Int(-1),
        2 => Value::Int(i64::MIN.into()),
        3 => Value::from(":keyword"),
        4 => Value::from("a \"quoted\" \\ line\nbreak \u{1F600} \u{1}"),
        5 => Value::from("12"),
        6 => Value::from(""),
        7 => Value::Int(1 << 40),
        _ => Value::from(": no keyword"),
    }
}

fn value(random: &mut Random, shape: Shape) -> Value {
    if shape.odd_values && random.one_in(4) {
        return odd_value(random);
    }
    Value::Int(random.below(50).into())
}

fn key(random: &mut Random, shape: Shape) -> (Value, u64) {
    let number = random.below(8);
    // What a key is follows from its number: two each of register, list, set and counter.
    let kind = number % 4;
    if shape.text_keys && number >= 4 {
        return (Value::from(format!("key {number}").as_str()), kind);
    }
    (Value::from(number), kind)
}

fn op(random: &mut Random, builder: &mut Builder, shape: Shape, status: Status) -> Op {
    let (name, kind) = key(random, shape);
    let key = builder.key(&name);
    let write = random.one_in(2);
    let kinds = [
        (OpKind::Write, OpKind::Read),
        (OpKind::Append, OpKind::ReadList),
        (OpKind::Add, OpKind::ReadSet),
        (OpKind::Increment, OpKind::ReadCounter),
    ][kind as usize];
    let kind = if write { kinds.0 } else { kinds.1 };
    let value = if write {
        let value = value(random, shape);
        builder.value(&value)
    } else if status != Status::Committed || (shape.everything && random.one_in(5)) {
        ValueCode::UNKNOWN
    } else if random.one_in(4) {
        ValueCode::NIL
    } else if kind.reads_list() {
        let elements: Vec<ValueCode> = (0..1 + random.below(4))
            .map(|_| {
                let value = value(random, shape);
                builder.value(&value)
            })
            .collect();
        builder.lists.push(&elements)
    } else {
        let value = value(random, shape);
        builder.value(&value)
    };
    Op { kind, key, value }
}

fn random_history(seed: u64, shape: Shape) -> History {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut builder = Builder::new();
    // Every key is written once, so that what it is can be told from the file alone.
    let first = builder.session(100);
    let mut ops = Vec::new();
    for number in 0..8u64 {
        let text = shape.text_keys && number >= 4;
        let name = match text {
            true => Value::from(format!("key {number}").as_str()),
            false => Value::from(number),
        };
        let kind = [
            OpKind::Write,
            OpKind::Append,
            OpKind::Add,
            OpKind::Increment,
        ];
        let key = builder.key(&name);
        let value = ValueCode(1);
        ops.push(Op {
            kind: kind[(number % 4) as usize],
            key,
            value,
        });
    }
    let interval = |start, end| shape.times.then_some(Interval { start, end });
    builder
        .push_txn(first, 0, Status::Committed, interval(-5, -1), &ops)
        .unwrap();
    for session in 0..4 {
        let label = if shape.everything {
            7 - 5 * session
        } else {
            session
        };
        let id = builder.session(label);
        let mut now = random.below(20) as i64;
        for place in 0..5u64 {
            let status = match random.below(6) {
                0 => Status::Aborted,
                1 if shape.everything || place == 4 => Status::Indeterminate,
                _ => Status::Committed,
            };
            let ops: Vec<Op> = (0..random.below(5))
                .map(|_| op(&mut random, &mut builder, shape, status))
                .collect();
            let start = now;
            now += random.below(20) as i64;
            let end = if status == Status::Indeterminate {
                Interval::NEVER
            } else {
                now
            };
            let label = if random.one_in(5) {
                UNLABELLED
            } else {
                random.below(1000)
            };
            builder
                .push_txn(id, label, status, interval(start, end), &ops)
                .unwrap();
        }
    }
    if shape.everything {
        builder.session(99);
    }
    builder.finish()
}

/// Everything a history says, sessions by label, so that the numbering of ids does not matter.
fn describe(history: &History) -> Vec<String> {
    let mut sessions: Vec<Vec<String>> = history
        .sessions()
        .map(|session| {
            let label = history.session_label(session);
            let mut lines = vec![format!("session {label:020}")];
            for txn in history.session_txns(session).map(history::TxnId) {
                lines.push(describe_txn(history, txn));
            }
            lines
        })
        .collect();
    sessions.sort_by(|a, b| a[0].cmp(&b[0]));
    sessions.concat()
}

fn describe_txn(history: &History, txn: history::TxnId) -> String {
    let row = history.txn(txn);
    let ops: Vec<String> = history
        .txn_ops(txn)
        .map(|(_, op)| {
            let key = history.key_name(op.key);
            let list: Vec<Value> = match op.kind.reads_list() {
                true => history
                    .list(op.value)
                    .iter()
                    .map(|&code| history.value(code))
                    .collect(),
                false => vec![history.value(op.value)],
            };
            let unknown = op.value == ValueCode::UNKNOWN;
            format!("{:?} {key:?} {list:?} {unknown}", op.kind)
        })
        .collect();
    let interval = history.interval(txn);
    format!("{} {:?} {interval:?} {ops:?}", row.label, row.status)
}

type Write = fn(&History, &mut dyn std::io::Write) -> Result<(), WriteError>;
type Read = fn(&[u8], &mut Vec<String>) -> Result<History, history::format::FormatError>;

fn check_roundtrip(history: &History, write: Write, read: Read, what: &str) {
    let mut bytes = Vec::new();
    write(history, &mut bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut notes = Vec::new();
    let back = read(&bytes, &mut notes).unwrap_or_else(|error| {
        panic!("{what}: {error}\n{}", String::from_utf8_lossy(&bytes));
    });
    assert_eq!(
        describe(history),
        describe(&back),
        "{what}\n{}",
        String::from_utf8_lossy(&bytes)
    );
    let quiet = notes.is_empty() || history.txn_count() == 0;
    assert!(quiet, "{what}: {notes:?}");
}

fn shapes(everything: bool) -> impl Iterator<Item = Shape> {
    (0..8).map(move |bits| Shape {
        times: bits & 1 != 0,
        everything,
        text_keys: bits & 2 != 0,
        odd_values: bits & 4 != 0,
    })
}

fn empty() -> History {
    Builder::new().finish()
}

#[test]
fn jepsen_reads_what_it_wrote() {
    for shape in shapes(false) {
        for seed in 1..40 {
            let history = random_history(seed, shape);
            check_roundtrip(
                &history,
                jepsen::write_edn,
                jepsen::read_edn,
                &format!("edn {seed}"),
            );
            check_roundtrip(
                &history,
                jepsen::write_json,
                jepsen::read_json,
                &format!("json {seed}"),
            );
        }
    }
    check_roundtrip(&empty(), jepsen::write_edn, jepsen::read_edn, "empty edn");
    check_roundtrip(
        &empty(),
        jepsen::write_json,
        jepsen::read_json,
        "empty json",
    );
}

#[test]
fn json_lines_hold_everything() {
    for shape in shapes(true).chain(shapes(false)) {
        for seed in 1..40 {
            let history = random_history(seed, shape);
            check_roundtrip(
                &history,
                jsonl::write,
                jsonl::read,
                &format!("jsonl {seed}"),
            );
        }
    }
    check_roundtrip(&empty(), jsonl::write, jsonl::read, "empty jsonl");
}

#[test]
fn parquet_holds_everything() {
    for shape in shapes(true).chain(shapes(false)) {
        for seed in 1..40 {
            let history = random_history(seed, shape);
            check_roundtrip(
                &history,
                parquet::write,
                parquet::read,
                &format!("parquet {seed}"),
            );
        }
    }
    check_roundtrip(&empty(), parquet::write, parquet::read, "empty parquet");
}

/// More rows than a row group, with a transaction across the border.
#[test]
fn parquet_transactions_may_span_row_groups() {
    let mut builder = Builder::new();
    let session = builder.session(3);
    for label in 0..3u64 {
        let op = |i: u32| Op {
            kind: if i.is_multiple_of(3) {
                OpKind::Write
            } else {
                OpKind::Read
            },
            key: builder_key(i),
            value: ValueCode(i.wrapping_mul(2_654_435_761) >> 2),
        };
        let ops: Vec<Op> = (0..700_000).map(op).collect();
        builder
            .push_txn(session, label, Status::Committed, None, &ops)
            .unwrap();
    }
    builder.keys = history::KeyTable::Dense { limit: 1000 };
    let history = builder.finish();
    let mut bytes = Vec::new();
    parquet::write(&history, &mut bytes).unwrap();
    let back = parquet::read(&bytes, &mut Vec::new()).unwrap();
    assert_eq!(back.txn_count(), 3);
    assert_eq!(back.ops().kinds, history.ops().kinds);
    assert_eq!(back.ops().keys, history.ops().keys);
    assert_eq!(back.ops().values, history.ops().values);
    assert!(matches!(
        back.keys(),
        history::KeyTable::Dense { limit: 1000 }
    ));
}

fn builder_key(i: u32) -> history::KeyId {
    history::KeyId(i % 1000)
}

#[test]
fn jepsen_refuses_what_it_cannot_hold() {
    let mut refused = 0;
    for shape in shapes(true) {
        for seed in 1..20 {
            let mut bytes = Vec::new();
            let result = jepsen::write_edn(&random_history(seed, shape), &mut bytes);
            if let Err(error) = result {
                assert!(error.to_string().contains("cannot hold"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "only {refused}");
}
