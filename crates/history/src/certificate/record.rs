//! The shape of a certificate file, and its translation from and to evidence.

use super::CertificateError;
use super::names::Names;
use crate::{
    Anomaly, AnomalyKind, CommitOrder, Edge, EdgeKind, Initial, KeyId, Level, LevelResult, OpId,
    Reason, TxnId, Value, Verdict,
};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Serialize, Deserialize)]
pub(super) struct File {
    pub(super) isolde_certificate: u32,
    pub(super) history: HistoryRecord,
    pub(super) initial: InitialRecord,
    /// What is assumed of each key, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) keys: Option<String>,
    pub(super) results: Vec<ResultRecord>,
}

#[derive(Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct HistoryRecord {
    pub(super) digest: String,
    pub(super) sessions: usize,
    pub(super) transactions: usize,
    pub(super) operations: usize,
}

impl fmt::Display for HistoryRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} sessions, {} transactions, {} operations, digest {}",
            self.sessions, self.transactions, self.operations, self.digest
        )
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InitialRecord {
    NilOnly,
    Value(ValueRecord),
}

/// A value or a key. Integers are text where JSON numbers would lose digits.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ValueRecord {
    Nil(()),
    Number(i64),
    Text(String),
    Large { integer: String },
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResultRecord {
    level: String,
    #[serde(flatten)]
    verdict: VerdictRecord,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
enum VerdictRecord {
    Holds {
        order: Vec<String>,
        reads: Vec<WriterRecord>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        snapshots: Vec<u32>,
    },
    Violated {
        anomalies: Vec<AnomalyRecord>,
    },
    Unknown {
        limit: String,
    },
}

#[derive(Serialize, Deserialize)]
struct OpRecord {
    txn: String,
    op: u32,
}

#[derive(Serialize, Deserialize)]
struct WriterRecord {
    txn: String,
    op: u32,
    writer: String,
}

#[derive(Serialize, Deserialize)]
struct AnomalyRecord {
    kind: String,
    count: u64,
    transactions: Vec<String>,
    ops: Vec<OpRecord>,
    edges: Vec<EdgeRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    otherwise: Vec<Vec<EdgeRecord>>,
    assuming: Vec<WriterRecord>,
    explanation: String,
}

#[derive(Serialize, Deserialize)]
struct EdgeRecord {
    from: String,
    to: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "key_field")]
    key: Option<ValueRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_op: Option<OpRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_op: Option<OpRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because: Option<ReasonRecord>,
}

/// A key named nil is written as null, which must not read as no key.
mod key_field {
    use super::ValueRecord;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        key: &Option<ValueRecord>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        key.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ValueRecord>, D::Error> {
        ValueRecord::deserialize(deserializer).map(Some)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReasonRecord {
    Read {
        read: OpRecord,
        path: Vec<EdgeRecord>,
    },
    List {
        read: OpRecord,
    },
    Assumed {
        before: OpRecord,
        after: OpRecord,
    },
    Version {
        writer: String,
    },
}

fn value_to_record(value: &Value) -> ValueRecord {
    match value {
        Value::Nil => ValueRecord::Nil(()),
        Value::Text(text) => ValueRecord::Text(text.to_string()),
        Value::Int(number) => match i64::try_from(*number) {
            Ok(number) => ValueRecord::Number(number),
            Err(_) => ValueRecord::Large {
                integer: number.to_string(),
            },
        },
    }
}

fn value_from_record(record: &ValueRecord) -> Result<Value, CertificateError> {
    match record {
        ValueRecord::Nil(()) => Ok(Value::Nil),
        ValueRecord::Number(number) => Ok(Value::from(*number)),
        ValueRecord::Text(text) => Ok(Value::from(text.as_str())),
        ValueRecord::Large { integer } => integer
            .parse()
            .map(Value::Int)
            .map_err(|_| CertificateError::Malformed(format!("'{integer}' is no integer"))),
    }
}

pub(super) fn initial_to_record(initial: &Initial) -> InitialRecord {
    match initial {
        Initial::NilOnly => InitialRecord::NilOnly,
        Initial::Value(value) => InitialRecord::Value(value_to_record(value)),
    }
}

pub(super) fn initial_from_record(record: &InitialRecord) -> Result<Initial, CertificateError> {
    match record {
        InitialRecord::NilOnly => Ok(Initial::NilOnly),
        InitialRecord::Value(value) => value_from_record(value).map(Initial::Value),
    }
}

pub(super) fn result_to_record(names: &Names<'_>, result: &LevelResult) -> ResultRecord {
    let verdict = match &result.verdict {
        Verdict::Holds(order) => VerdictRecord::Holds {
            order: order.txns.iter().map(|&txn| names.name(txn)).collect(),
            reads: writers_to_record(names, &order.reads),
            snapshots: order.snapshots.clone(),
        },
        Verdict::Violated(anomalies) => VerdictRecord::Violated {
            anomalies: anomalies
                .iter()
                .map(|anomaly| anomaly_to_record(names, anomaly))
                .collect(),
        },
        Verdict::Unknown(limit) => VerdictRecord::Unknown {
            limit: limit.clone(),
        },
    };
    let level = result.level.name().to_string();
    ResultRecord { level, verdict }
}

pub(super) fn result_from_record(
    names: &Names<'_>,
    record: ResultRecord,
) -> Result<LevelResult, CertificateError> {
    let level: Level = record.level.parse().map_err(|_| {
        CertificateError::Malformed(format!("no level is called '{}'", record.level))
    })?;
    let verdict = match record.verdict {
        VerdictRecord::Holds {
            order,
            reads,
            snapshots,
        } => Verdict::Holds(CommitOrder {
            txns: txns_from_record(names, &order)?,
            reads: writers_from_record(names, &reads)?,
            snapshots,
        }),
        VerdictRecord::Violated { anomalies } => Verdict::Violated(
            anomalies
                .into_iter()
                .map(|anomaly| anomaly_from_record(names, anomaly))
                .collect::<Result<_, _>>()?,
        ),
        VerdictRecord::Unknown { limit } => Verdict::Unknown(limit),
    };
    Ok(LevelResult { level, verdict })
}

fn txns_from_record(names: &Names<'_>, txns: &[String]) -> Result<Vec<TxnId>, CertificateError> {
    txns.iter().map(|name| names.txn(name)).collect()
}

fn op_to_record(names: &Names<'_>, op: OpId) -> OpRecord {
    let (txn, place) = names.place_of_op(op).unwrap_or((TxnId::INITIAL, op.0));
    OpRecord {
        txn: names.name(txn),
        op: place,
    }
}

fn op_from_record(names: &Names<'_>, record: &OpRecord) -> Result<OpId, CertificateError> {
    names.op(&record.txn, record.op)
}

fn writers_to_record(names: &Names<'_>, reads: &[(OpId, TxnId)]) -> Vec<WriterRecord> {
    let record = |&(read, writer): &(OpId, TxnId)| {
        let OpRecord { txn, op } = op_to_record(names, read);
        let writer = names.name(writer);
        WriterRecord { txn, op, writer }
    };
    reads.iter().map(record).collect()
}

fn writers_from_record(
    names: &Names<'_>,
    reads: &[WriterRecord],
) -> Result<Vec<(OpId, TxnId)>, CertificateError> {
    reads
        .iter()
        .map(|read| Ok((names.op(&read.txn, read.op)?, names.txn(&read.writer)?)))
        .collect()
}

fn anomaly_to_record(names: &Names<'_>, anomaly: &Anomaly) -> AnomalyRecord {
    AnomalyRecord {
        kind: anomaly.kind.name().to_string(),
        count: anomaly.count,
        transactions: anomaly
            .transactions
            .iter()
            .map(|&txn| names.name(txn))
            .collect(),
        ops: anomaly
            .ops
            .iter()
            .map(|&op| op_to_record(names, op))
            .collect(),
        edges: anomaly
            .edges
            .iter()
            .map(|edge| edge_to_record(names, edge, true))
            .collect(),
        otherwise: anomaly
            .otherwise
            .iter()
            .map(|cycle| {
                cycle
                    .iter()
                    .map(|edge| edge_to_record(names, edge, true))
                    .collect()
            })
            .collect(),
        assuming: writers_to_record(names, &anomaly.assuming),
        explanation: anomaly.explanation.clone(),
    }
}

fn anomaly_from_record(
    names: &Names<'_>,
    record: AnomalyRecord,
) -> Result<Anomaly, CertificateError> {
    let kind = AnomalyKind::from_name(&record.kind).ok_or_else(|| {
        CertificateError::Malformed(format!("no anomaly is called '{}'", record.kind))
    })?;
    Ok(Anomaly {
        kind,
        count: record.count,
        transactions: txns_from_record(names, &record.transactions)?,
        ops: record
            .ops
            .iter()
            .map(|op| op_from_record(names, op))
            .collect::<Result<_, _>>()?,
        edges: edges_from_record(names, &record.edges, true)?,
        otherwise: record
            .otherwise
            .iter()
            .map(|cycle| edges_from_record(names, cycle, true))
            .collect::<Result<_, _>>()?,
        assuming: writers_from_record(names, &record.assuming)?,
        explanation: record.explanation,
    })
}

/// The edges of a path have no reasons of their own, so reasons nest once at most.
fn edge_to_record(names: &Names<'_>, edge: &Edge, with_reason: bool) -> EdgeRecord {
    let reason = |reason: &Reason| match reason {
        Reason::Read { read, path } => ReasonRecord::Read {
            read: op_to_record(names, *read),
            path: path
                .iter()
                .map(|step| edge_to_record(names, step, false))
                .collect(),
        },
        Reason::List { read } => ReasonRecord::List {
            read: op_to_record(names, *read),
        },
        Reason::Assumed { before, after } => ReasonRecord::Assumed {
            before: op_to_record(names, *before),
            after: op_to_record(names, *after),
        },
        Reason::Version { writer } => ReasonRecord::Version {
            writer: names.name(*writer),
        },
    };
    EdgeRecord {
        from: names.name(edge.from),
        to: names.name(edge.to),
        kind: edge.kind.name().to_string(),
        key: edge
            .key
            .map(|key| value_to_record(&names.history.key_name(key))),
        from_op: edge.from_op.map(|op| op_to_record(names, op)),
        to_op: edge.to_op.map(|op| op_to_record(names, op)),
        because: edge.because.as_ref().filter(|_| with_reason).map(reason),
    }
}

fn edges_from_record(
    names: &Names<'_>,
    edges: &[EdgeRecord],
    with_reason: bool,
) -> Result<Vec<Edge>, CertificateError> {
    edges
        .iter()
        .map(|edge| edge_from_record(names, edge, with_reason))
        .collect()
}

fn edge_from_record(
    names: &Names<'_>,
    record: &EdgeRecord,
    with_reason: bool,
) -> Result<Edge, CertificateError> {
    let kind = EdgeKind::from_name(&record.kind).ok_or_else(|| {
        CertificateError::Malformed(format!("no edge is called '{}'", record.kind))
    })?;
    let op = |op: &Option<OpRecord>| {
        op.as_ref()
            .map(|record| op_from_record(names, record))
            .transpose()
    };
    let because = match &record.because {
        None => None,
        Some(_) if !with_reason => {
            let why = "the edges of a path have no reasons".to_string();
            return Err(CertificateError::Malformed(why));
        }
        Some(ReasonRecord::Read { read, path }) => Some(Reason::Read {
            read: op_from_record(names, read)?,
            path: edges_from_record(names, path, false)?,
        }),
        Some(ReasonRecord::List { read }) => Some(Reason::List {
            read: op_from_record(names, read)?,
        }),
        Some(ReasonRecord::Assumed { before, after }) => Some(Reason::Assumed {
            before: op_from_record(names, before)?,
            after: op_from_record(names, after)?,
        }),
        Some(ReasonRecord::Version { writer }) => Some(Reason::Version {
            writer: names.txn(writer)?,
        }),
    };
    Ok(Edge {
        from: names.txn(&record.from)?,
        to: names.txn(&record.to)?,
        kind,
        key: record
            .key
            .as_ref()
            .map(|key| key_from_record(names, key))
            .transpose()?,
        from_op: op(&record.from_op)?,
        to_op: op(&record.to_op)?,
        because,
    })
}

fn key_from_record(names: &Names<'_>, record: &ValueRecord) -> Result<KeyId, CertificateError> {
    let name = value_from_record(record)?;
    names
        .history
        .keys()
        .find(&name)
        .ok_or_else(|| CertificateError::UnknownName(format!("key '{name}'")))
}
