//! Every test of this crate in one binary: what takes the time is linking.
#![allow(missing_docs)]

mod certificate;
mod certify_anomalies;
mod certify_orders;
mod certify_strong_cycles;
mod certify_strong_orders;
mod definition;
mod format_corpus;
mod format_malformed;
mod format_roundtrip;
mod formats;
mod jepsen_odd;
mod started;
mod store;
mod support;
