//! Small histories from arbitrary bytes, every byte sequence a history.

use history::format::Format;
use history::{Builder, History, Interval, Op, OpKind, Status, Value, ValueCode};

/// The formats by the names of their targets.
pub const FORMATS: [(&str, Format); 13] = [
    ("text", Format::Text),
    ("awdit", Format::Awdit),
    ("cobra", Format::Cobra),
    ("dbcop_bincode", Format::DbcopBincode),
    ("dbcop_json", Format::DbcopJson),
    ("dbcop_hist", Format::DbcopHist),
    ("jepsen_edn", Format::JepsenEdn),
    ("jepsen_json", Format::JepsenJson),
    ("jepsen_store", Format::JepsenStore),
    ("viper", Format::Viper),
    ("timekiller", Format::TimeKiller),
    ("isolde", Format::Isolde),
    ("parquet", Format::Parquet),
];

const TXNS_MAX: usize = 8;
const OPS_MAX: u8 = 4;

/// Decodes a history: a byte of what it may contain, then a byte a transaction and two an
/// operation. Values are small, so that reads often meet a write.
pub fn small_history(bytes: &[u8]) -> History {
    let mut bytes = bytes.iter().copied();
    let shape = bytes.next().unwrap_or(0);
    let mut builder = Builder::new();
    for label in 0..TXNS_MAX {
        let Some(head) = bytes.next() else { break };
        let session = builder.session((head & 3).into());
        let status = match head >> 2 & 7 {
            0 if shape & 1 != 0 => Status::Aborted,
            1 if shape & 2 != 0 => Status::Indeterminate,
            _ => Status::Committed,
        };
        let start = builder.ops.len();
        for _ in 0..=(head >> 5) % OPS_MAX {
            let Some(code) = bytes.next() else { break };
            let op = small_op(&mut builder, shape, code, bytes.next().unwrap_or(0));
            builder.ops.push(op);
        }
        let time = 2 * label as i64;
        let interval = (shape & 4 != 0).then_some(Interval {
            start: time,
            end: match status {
                Status::Indeterminate => Interval::NEVER,
                _ => time + 1,
            },
        });
        builder
            .end_txn(session, label as u64, status, interval, start)
            .expect("a small history");
    }
    builder.finish()
}

fn small_op(builder: &mut Builder, shape: u8, code: u8, argument: u8) -> Op {
    let wide = shape & 32 != 0;
    let number = |number: u8| match wide {
        true => Value::from(u64::from(number) << 60 | u64::from(number)),
        false => Value::from(u64::from(number)),
    };
    let key = match shape & 64 != 0 {
        true => Value::from(["x", "y"][usize::from(code & 1)]),
        false => number(code & 3),
    };
    let key = builder.key(&key);
    let writes = code & 4 != 0;
    let lists = shape & 8 != 0;
    let odd = shape & 16 != 0 && code >> 3 & 7 == 0;
    let kind = match (writes, lists, odd) {
        (true, false, false) => OpKind::Write,
        (true, true, false) => OpKind::Append,
        (false, false, false) => OpKind::Read,
        (false, true, false) => OpKind::ReadList,
        (true, false, true) => OpKind::Increment,
        (false, false, true) => OpKind::ReadCounter,
        (true, true, true) => OpKind::Add,
        (false, true, true) => OpKind::ReadSet,
    };
    let value = match argument {
        255 => ValueCode::UNKNOWN,
        254 => ValueCode::NIL,
        _ if kind.reads_list() => {
            let elements = [argument & 7, argument >> 3 & 3, argument >> 5];
            let count = usize::from(code >> 6);
            let codes: Vec<ValueCode> = elements[..count]
                .iter()
                .map(|&element| builder.value(&number(element)))
                .collect();
            builder.lists.push(&codes)
        }
        _ => builder.value(&number(argument & 7)),
    };
    Op { kind, key, value }
}

/// The bytes of seed number `seed` for [`small_history`].
pub fn seed_bytes(seed: u64) -> Vec<u8> {
    // Each bit of the shape alone, and none, more often than all at once.
    let shapes = [0, 0, 1, 2, 3, 4, 8, 16, 24, 32, 64, 68, 255, 7, 0, 10];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let length = 10 + next() % 50;
    let mut bytes: Vec<u8> = (0..length).map(|_| next()).collect();
    bytes[0] = shapes[seed as usize % shapes.len()];
    bytes
}
