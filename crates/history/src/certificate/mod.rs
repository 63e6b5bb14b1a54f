//! Evidence as a file: verdicts with what proves them, and a digest of the history they are about.
//!
//! Transactions are written by name ([`History::txn_name`]) and operations by their place in the
//! transaction, so a certificate outlives a conversion of the history to another format. A name
//! that several transactions share is followed by `#` and the transaction's number. Reading a
//! certificate never trusts it: names have to exist and the digest has to be that of the history;
//! whether the evidence proves anything is for [`crate::certify`] to say.

mod digest;
mod names;
mod record;

pub use digest::digest;

use crate::{History, Initial, KeyOrder, LevelResult};
use names::Names;
use record::{File, HistoryRecord};
use std::fmt;

/// The contents of a certificate file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// Which values read the initial version.
    pub initial: Initial,
    /// What is assumed of each key.
    pub keys: KeyOrder,
    /// The verdicts with their evidence.
    pub results: Vec<LevelResult>,
}

/// Why a certificate cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CertificateError {
    /// The text is no certificate.
    Malformed(String),
    /// The certificate is about another history.
    OtherHistory(String),
    /// A name in the certificate that the history does not have.
    UnknownName(String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateError::Malformed(why) => write!(f, "this is no certificate: {why}"),
            CertificateError::OtherHistory(why) => {
                write!(f, "the certificate is about another history: {why}")
            }
            CertificateError::UnknownName(what) => {
                write!(
                    f,
                    "the certificate names {what}, which the history does not have"
                )
            }
        }
    }
}

impl std::error::Error for CertificateError {}

const VERSION: u32 = 1;

/// Writes verdicts with their evidence as JSON.
pub fn to_json(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    results: &[LevelResult],
) -> String {
    let names = Names::of(history);
    let file = File {
        isolde_certificate: VERSION,
        history: history_record(history),
        initial: record::initial_to_record(initial),
        keys: (keys != KeyOrder::Free).then(|| keys.name().to_string()),
        results: results
            .iter()
            .map(|result| record::result_to_record(&names, result))
            .collect(),
    };
    // Every map key of the record is text, so it always has a JSON form.
    serde_json::to_string(&file).unwrap_or_default()
}

/// Reads a certificate of this history.
pub fn from_json(history: &History, text: &str) -> Result<Certificate, CertificateError> {
    let malformed = |error: serde_json::Error| CertificateError::Malformed(error.to_string());
    let file: File = serde_json::from_str(text).map_err(malformed)?;
    if file.isolde_certificate != VERSION {
        let version = file.isolde_certificate;
        return Err(CertificateError::Malformed(format!(
            "version {version} is not known"
        )));
    }
    let expected = history_record(history);
    if file.history != expected {
        return Err(CertificateError::OtherHistory(format!(
            "expected {expected}, found {}",
            file.history
        )));
    }
    let keys = match &file.keys {
        None => KeyOrder::Free,
        Some(name) => KeyOrder::from_name(name).ok_or_else(|| {
            CertificateError::Malformed(format!("'{name}' is nothing to assume of keys"))
        })?,
    };
    let names = Names::of(history);
    Ok(Certificate {
        keys,
        initial: record::initial_from_record(&file.initial)?,
        results: file
            .results
            .into_iter()
            .map(|result| record::result_from_record(&names, result))
            .collect::<Result<_, _>>()?,
    })
}

fn history_record(history: &History) -> HistoryRecord {
    HistoryRecord {
        digest: format!("{:032x}", digest(history)),
        sessions: history.session_count(),
        transactions: history.txn_count(),
        operations: history.op_count(),
    }
}
