//! Certificates as files: what is written is read again, and nothing else is.

use crate::support;

use history::certificate::{CertificateError, digest, from_json, to_json};
use history::{
    Anomaly, AnomalyKind, Builder, CommitOrder, Edge, EdgeKind, History, Initial, KeyId, KeyOrder,
    KeyTable, Level, LevelResult, Op, OpId, OpKind, Reason, Status, TxnId, UNLABELLED, Value,
    ValueCode, Verdict,
};
use support::{Random, history_of};

fn wr(from: u32, to: u32) -> Edge {
    Edge {
        from: TxnId(from),
        to: TxnId(to),
        kind: EdgeKind::Wr,
        key: Some(KeyId(1)),
        from_op: Some(OpId(1)),
        to_op: Some(OpId(3)),
        because: None,
    }
}

fn example() -> (History, Vec<LevelResult>) {
    let history = history_of("w(x,1) w(y,1) ; maybe w(x,1) | r(y,1) r(x,nil)");
    let order = CommitOrder {
        txns: vec![TxnId(0), TxnId(2)],
        reads: vec![(OpId(3), TxnId(0)), (OpId(4), TxnId::INITIAL)],
        snapshots: Vec::new(),
    };
    let ww = Edge {
        from: TxnId(0),
        to: TxnId::INITIAL,
        kind: EdgeKind::Ww,
        key: Some(KeyId(0)),
        from_op: Some(OpId(0)),
        to_op: None,
        because: Some(Reason::Read {
            read: OpId(4),
            path: vec![wr(0, 2)],
        }),
    };
    let listed = Edge {
        because: Some(Reason::List { read: OpId(4) }),
        ..ww.clone()
    };
    let anomaly = Anomaly {
        kind: AnomalyKind::InitialRead,
        count: 3,
        transactions: vec![TxnId(0), TxnId(2), TxnId::INITIAL],
        ops: vec![OpId(2), OpId(4)],
        edges: vec![ww, listed, wr(0, 2)],
        otherwise: Vec::new(),
        assuming: vec![(OpId(3), TxnId(0))],
        explanation: "it says \"so\"\n".into(),
    };
    let with_snapshots = CommitOrder {
        snapshots: vec![0, 1],
        ..order.clone()
    };
    let version = Edge {
        because: Some(Reason::Version { writer: TxnId(1) }),
        ..wr(1, 2)
    };
    let of_initial = Edge {
        kind: EdgeKind::Rw,
        because: Some(Reason::Version {
            writer: TxnId::INITIAL,
        }),
        ..wr(2, 0)
    };
    let rt = Edge {
        kind: EdgeKind::Rt,
        key: None,
        from_op: None,
        to_op: None,
        ..wr(0, 2)
    };
    let either_way = Anomaly {
        kind: AnomalyKind::NoVersionOrder,
        edges: vec![version.clone(), of_initial.clone()],
        otherwise: vec![vec![rt, of_initial], vec![version], Vec::new()],
        ..anomaly.clone()
    };
    let result = |level, verdict| LevelResult { level, verdict };
    let results = vec![
        result(Level::ReadCommitted, Verdict::Holds(order)),
        result(Level::SnapshotIsolation, Verdict::Holds(with_snapshots)),
        result(
            Level::StrictSerializable,
            Verdict::Violated(vec![either_way]),
        ),
        result(Level::Causal, Verdict::Violated(vec![anomaly])),
        result(Level::Serializable, Verdict::Unknown("60 s".into())),
    ];
    (history, results)
}

#[test]
fn a_certificate_is_read_as_it_was_written() {
    let (history, results) = example();
    let large = Initial::Value(Value::Int(i128::from(u64::MAX)));
    let text = Initial::Value(Value::from("none"));
    for initial in [
        Initial::default(),
        Initial::NilOnly,
        large,
        text,
        Initial::Value(Value::Nil),
    ] {
        let json = to_json(&history, &initial, KeyOrder::Free, &results);
        let certificate = from_json(&history, &json).expect("just written");
        assert_eq!(certificate.initial, initial);
        assert_eq!(certificate.results, results);
    }
    let json = to_json(&history, &Initial::default(), KeyOrder::Free, &results);
    assert!(json.contains(r#""order":["s0t0","s1t2"]"#), "{json}");
    assert!(
        json.contains(r#"{"txn":"s1t2","op":1,"writer":"init"}"#),
        "{json}"
    );
    assert!(json.contains(r#""snapshots":[0,1]"#), "{json}");
    assert!(
        json.contains(r#""because":{"version":{"writer":"s1t1"}}"#),
        "{json}"
    );
}

/// What has no snapshots and no further cycles is written without those fields, as it was before
/// there were any.
#[test]
fn fields_that_say_nothing_are_left_out() {
    let (history, results) = example();
    for (result, expect) in results.iter().zip([false, true, true, false, false]) {
        let json = to_json(
            &history,
            &Initial::default(),
            KeyOrder::Free,
            std::slice::from_ref(result),
        );
        let found = json.contains("snapshots") || json.contains("otherwise");
        assert_eq!(found, expect, "{json}");
    }
}

/// Evidence that is accepted is still accepted after it was a file.
#[test]
fn strong_evidence_survives_the_file() {
    let history = history_of("r(x,0) w(x,1) ; r(x,0) w(x,2) ; r(y,0) w(z,1) ; r(z,0) w(y,1)");
    let edge = |kind, from: u32, to: u32, ops: (u32, u32)| Edge {
        kind,
        key: Some(history.op(OpId(ops.0)).key),
        from_op: Some(OpId(ops.0)),
        to_op: Some(OpId(ops.1)),
        ..wr(from, to)
    };
    let cycle = |a: u32, b: u32| {
        vec![
            edge(EdgeKind::Ww, a, b, (2 * a + 1, 2 * b + 1)),
            edge(EdgeKind::Rw, b, a, (2 * b, 2 * a + 1)),
        ]
    };
    let lost = Anomaly {
        kind: AnomalyKind::LostUpdate,
        count: 1,
        transactions: vec![TxnId(0), TxnId(1)],
        ops: Vec::new(),
        edges: cycle(0, 1),
        otherwise: vec![cycle(1, 0)],
        assuming: Vec::new(),
        explanation: String::new(),
    };
    let order = CommitOrder {
        txns: (0..4).map(TxnId).collect(),
        reads: Vec::new(),
        snapshots: vec![0, 0, 2, 2],
    };
    let results = vec![
        LevelResult {
            level: Level::ParallelSnapshotIsolation,
            verdict: Verdict::Violated(vec![lost]),
        },
        LevelResult {
            level: Level::Prefix,
            verdict: Verdict::Holds(order),
        },
    ];
    let json = to_json(&history, &Initial::default(), KeyOrder::Free, &results);
    let certificate = from_json(&history, &json).expect("just written");
    assert_eq!(certificate.results, results);
    for result in &certificate.results {
        let accepted = history::certify::certify(&history, &certificate.initial, result);
        assert_eq!(accepted, Ok(()), "{}", result.level);
    }
}

#[test]
fn a_certificate_of_another_history_is_refused() {
    let (history, results) = example();
    let json = to_json(&history, &Initial::default(), KeyOrder::Free, &results);
    for text in [
        "w(x,1) w(y,1) ; maybe w(x,1) | r(y,1) r(x,0)",
        "w(x,1) w(y,1) ; w(x,1) | r(y,1) r(x,nil)",
        "w(x,1) w(z,1) ; maybe w(x,1) | r(z,1) r(x,nil)",
        "w(x,1) w(y,1) | maybe w(x,1) ; r(y,1) r(x,nil)",
    ] {
        let refusal = from_json(&history_of(text), &json).unwrap_err();
        assert!(
            matches!(refusal, CertificateError::OtherHistory(_)),
            "{text}: {refusal}"
        );
    }
}

#[test]
fn unknown_names_are_refused() {
    let (history, results) = example();
    let json = to_json(&history, &Initial::default(), KeyOrder::Free, &results);
    for (from, to) in [
        ("\"s0t0\"", "\"s0t7\""),
        ("\"s0t0\"", "\"s0n0\""),
        ("\"s0t0\"", "\"s0t0#5\""),
        ("\"s0t0\"", "\"someone\""),
        ("\"op\":1", "\"op\":100"),
        ("\"txn\":\"s1t2\"", "\"txn\":\"init\""),
        ("\"key\":\"x\"", "\"key\":\"unheard\""),
    ] {
        assert!(json.contains(from), "{from}");
        let refusal = from_json(&history, &json.replace(from, to)).unwrap_err();
        assert!(
            matches!(refusal, CertificateError::UnknownName(_)),
            "{to}: {refusal}"
        );
    }
}

#[test]
fn malformed_text_is_refused_without_panic() {
    let (history, results) = example();
    let json = to_json(&history, &Initial::default(), KeyOrder::Free, &results);
    let nested = "[".repeat(100_000);
    for text in ["", "{}", "[]", "null", "\u{0}", nested.as_str()] {
        assert!(matches!(
            from_json(&history, text),
            Err(CertificateError::Malformed(_))
        ));
    }
    for end in (0..json.len()).filter(|&end| json.is_char_boundary(end)) {
        assert!(from_json(&history, &json[..end]).is_err());
    }
    let mut random = Random(7);
    for _ in 0..3000 {
        let mut bytes = json.clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] = b"{}[]\",:0193x#stn-"[random.below(17) as usize];
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(certificate) = from_json(&history, &text) {
            for result in &certificate.results {
                // Whatever it says: an answer, not a panic.
                let _ = history::certify::certify(&history, &certificate.initial, result);
            }
        }
    }
}

#[test]
fn transactions_that_share_a_name_are_told_apart() {
    let mut builder = Builder::new();
    let session = builder.session(-3);
    for label in [4, 4, UNLABELLED] {
        builder
            .push_txn(session, label, Status::Committed, None, &[])
            .expect("small");
    }
    let history = builder.finish();
    let order = CommitOrder {
        txns: vec![TxnId(1), TxnId(0), TxnId(2)],
        reads: Vec::new(),
        snapshots: Vec::new(),
    };
    let results = vec![LevelResult {
        level: Level::Causal,
        verdict: Verdict::Holds(order),
    }];
    let json = to_json(&history, &Initial::default(), KeyOrder::Free, &results);
    assert!(json.contains(r#"["s-3t4#1","s-3t4#0","s-3n2"]"#), "{json}");
    assert_eq!(
        from_json(&history, &json).expect("own certificate").results,
        results
    );
    assert!(from_json(&history, &json.replace("#1", "")).is_err());
}

/// Numbering of keys and sessions is the reader's affair.
#[test]
fn the_digest_depends_on_contents_only() {
    let build = |dense: bool, sessions: [i64; 2]| {
        let mut builder = Builder::new();
        if dense {
            builder.keys = KeyTable::Dense { limit: 9 };
        } else {
            builder.key(&Value::from(8i64));
        }
        for label in sessions {
            let session = builder.session(label);
            let key = if dense {
                KeyId(5)
            } else {
                builder.key(&Value::from(5i64))
            };
            let value = if dense {
                Value::from("a")
            } else {
                Value::from("b")
            };
            builder.value(&value);
            let value = builder.value(&Value::from(if label == 1 { "a" } else { "b" }));
            let op = Op {
                kind: OpKind::Write,
                key,
                value,
            };
            let nil = Op {
                kind: OpKind::Read,
                key,
                value: ValueCode::NIL,
            };
            builder
                .push_txn(session, 0, Status::Committed, None, &[op, nil])
                .expect("small");
        }
        digest(&builder.finish())
    };
    assert_eq!(build(true, [1, 2]), build(false, [1, 2]));
    assert_eq!(build(true, [1, 2]), build(false, [2, 1]));
    assert_ne!(build(true, [1, 2]), build(true, [1, 3]));
}
