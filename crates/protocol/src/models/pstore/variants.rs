//! P-Store's entry in the catalogue, with its mutants.

use super::{Bug, PStore};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level;

pub(crate) fn entries() -> Vec<Entry> {
    let mutant = |name, bug, what, breaks, setup| Mutant {
        model: Box::new(PStore {
            name,
            bug: Some(bug),
        }),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    };
    let write_skew = "k1@s1 k2@s1 | s1: r(k2) w(k1) | s2: r(k1) w(k2)";
    vec![Entry {
        model: Box::new(PStore::PUBLISHED),
        title: "P-Store",
        source: "Schiper, Sutra, Pedone: P-Store: genuine partial replication in wide area \
                 networks, SRDS 2010",
        summary: "Certifies every transaction in the order of an atomic multicast.",
        promises: &[Property::Level(Level::Serializable)],
        mutants: vec![
            mutant(
                "p-store/skip-certify",
                Bug::SkipCertify,
                "every vote is yes",
                Level::CursorStability,
                "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)",
            ),
            mutant(
                "p-store/certify-writes",
                Bug::CertifyWrites,
                "only keys that are also written are certified",
                Level::Serializable,
                write_skew,
            ),
            mutant(
                "p-store/vote-at-once",
                Bug::VoteAtOnce,
                "a vote does not wait for transactions queued before",
                Level::Serializable,
                "k1@s1 k2@s2 | s1: r(k1) r(k2) w(k1) | s2: r(k1) r(k2) w(k1)",
            ),
            mutant(
                "p-store/own-vote",
                Bug::OwnVote,
                "a replica decides by its own vote",
                Level::Serializable,
                "k1@s1 k2@s2 | s1: r(k1) r(k2) w(k1) | s2: r(k1) r(k2) w(k2)",
            ),
            mutant(
                "p-store/unordered",
                Bug::Unordered,
                "transactions are sent by ordinary messages",
                Level::Serializable,
                "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: w(k1) w(k2)",
            ),
            mutant(
                "p-store/trust-reads",
                Bug::TrustReads,
                "a transaction that only reads commits without certification",
                Level::ReadAtomic,
                "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)",
            ),
        ],
    }]
}
