//! Writes a generated history in a format, or reads a file, and prints what it cost.
//!
//! `format_speed write FORMAT FILE TXNS OPS SESSIONS [append]`, then `format_speed read FORMAT FILE`; FORMAT is
//! edn, json, jsonl or parquet. CPU seconds and peak memory come from /proc/self.

use history::format::{FormatError, WriteError, jepsen, jsonl, parquet};
use history::{Builder, History, Interval, KeyId, KeyTable, Op, OpKind, Status, ValueCode};
use std::io::BufWriter;

type Read = fn(&[u8], &mut Vec<String>) -> Result<History, FormatError>;
type Write = fn(&History, &mut dyn std::io::Write) -> Result<(), WriteError>;

fn format(name: &str) -> (Read, Write) {
    match name {
        "edn" => (jepsen::read_edn, jepsen::write_edn),
        "json" => (jepsen::read_json, jepsen::write_json),
        "jsonl" => (jsonl::read, jsonl::write),
        "parquet" => (parquet::read, parquet::write),
        other => panic!("unknown format {other}"),
    }
}

/// Random reads and writes, unique values a key; times as a round-robin of sessions would have.
fn generate(txns: u32, ops: u32, sessions: u32, append: bool) -> History {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: u32| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ((random >> 33) % u64::from(limit)) as u32
    };
    let mut builder = Builder::new();
    let key_count = (txns / 2).max(10);
    let mut latest = vec![0u32; key_count as usize];
    builder.ops.kinds.reserve_exact((txns * ops) as usize);
    for txn in 0..txns {
        let session = builder.session((txn % sessions).into());
        let start = builder.ops.len();
        for _ in 0..ops {
            let key = KeyId(below(key_count));
            let seen = &mut latest[key.index()];
            let write = below(2) == 0;
            *seen += u32::from(write);
            let (kind, value) = match (write, append) {
                (true, false) => (OpKind::Write, ValueCode(*seen)),
                (true, true) => (OpKind::Append, ValueCode(*seen)),
                (false, false) => (OpKind::Read, ValueCode(*seen)),
                (false, true) => {
                    let list: Vec<ValueCode> = (1..=*seen).map(ValueCode).collect();
                    (OpKind::ReadList, builder.lists.push(&list))
                }
            };
            builder.ops.push(Op { kind, key, value });
        }
        let time = i64::from(txn) * 1000;
        let interval = Some(Interval {
            start: time,
            end: time + 900,
        });
        let pushed = builder.end_txn(session, txn.into(), Status::Committed, interval, start);
        pushed.expect("a history of this size");
    }
    builder.keys = KeyTable::Dense { limit: key_count };
    builder.finish()
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.split_whitespace().collect();
    let ticks = |i: usize| {
        fields
            .get(i)
            .and_then(|f| f.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(13) + ticks(14)) / 100.0
}

fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kb = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kb| kb.parse().ok());
    kb.unwrap_or(0u64) / 1024
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (read, write) = format(&args[2]);
    let number = |i: usize| args[i].parse::<u32>().expect("a number");
    if args[1] == "write" {
        let append = args.get(7).is_some();
        let history = generate(number(4), number(5), number(6), append);
        let before = cpu_seconds();
        let file = std::fs::File::create(&args[3]).expect("the file");
        write(&history, &mut BufWriter::new(file)).expect("written");
        println!("write {}: {:.2} CPU s", args[2], cpu_seconds() - before);
        return;
    }
    let bytes = std::fs::read(&args[3]).expect("the file");
    let before = cpu_seconds();
    let mut notes = Vec::new();
    let history = read(&bytes, &mut notes).expect("a history");
    let seconds = cpu_seconds() - before;
    println!(
        "read {}: {} MB, {} ops, {seconds:.2} CPU s, {:.0} MB/s, peak {} MB (file included) {notes:?}",
        args[2],
        bytes.len() >> 20,
        history.op_count(),
        bytes.len() as f64 / 1e6 / seconds,
        peak_mb()
    );
}
