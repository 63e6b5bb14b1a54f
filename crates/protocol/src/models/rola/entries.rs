//! ROLA, its seeded bugs, and CAT's reading of it.

use super::{Change, Rola};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level;

const UPDATE_ATOMIC: &[Property] = &[Property::Level(Level::UpdateAtomic)];
const SOURCE: &str = "Liu et al., FASE 2018";

/// ROLA and ROLA without abort messages.
pub(crate) fn entries() -> Vec<Entry> {
    let rola = Rola {
        name: "rola",
        change: None,
    };
    let silent = Rola {
        name: "rola/no-abort-message",
        change: Some(Change::NoAbortMessage),
    };
    vec![
        Entry {
            model: Box::new(rola),
            title: "ROLA",
            source: SOURCE,
            summary: "Read atomic without lost updates: a server votes against an update of \
                      anything but the last version it prepared.",
            promises: UPDATE_ATOMIC,
            mutants: mutants(),
        },
        Entry {
            model: Box::new(silent),
            title: "ROLA without abort messages",
            source: "CAT's model of ROLA",
            summary: "ROLA whose servers keep what aborted transactions prepared, so that no \
                      update of the key can follow.",
            promises: UPDATE_ATOMIC,
            mutants: Vec::new(),
        },
    ]
}

fn mutants() -> Vec<Mutant> {
    let two_updates = "k1@s1 | s2: r(k1) w(k1) | s2: r(k1) w(k1)";
    let two_keys = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";
    let bug = |name, change, breaks, setup, what| Mutant {
        model: Box::new(Rola {
            name,
            change: Some(change),
        }),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    };
    vec![
        bug(
            "rola/no-check",
            Change::NoCheck,
            Level::CursorStability,
            two_updates,
            "servers accept every update",
        ),
        bug(
            "rola/checks-committed",
            Change::ChecksCommitted,
            Level::UpdateAtomic,
            two_updates,
            "servers check updates against what is committed, not against what is prepared",
        ),
        bug(
            "rola/ignores-no",
            Change::IgnoresNo,
            Level::UpdateAtomic,
            two_updates,
            "the proxy commits whatever the votes",
        ),
        bug(
            "rola/no-second-round",
            Change::NoSecondRound,
            Level::ReadAtomic,
            two_keys,
            "readers do not ask twice",
        ),
        bug(
            "rola/shows-prepared",
            Change::ShowsPrepared,
            Level::ReadCommitted,
            "k1@s1 k2@s2 | s1: r(k2) w(k2); r(k1) | s2: r(k1) r(k2) w(k1) w(k2)",
            "servers show what is only prepared, and may be aborted",
        ),
        bug(
            "rola/own-clock",
            Change::OwnClock,
            Level::ReadCommitted,
            "k1@s1 | s2: w(k1) | s1: r(k1) w(k1)",
            "timestamps ignore what was read",
        ),
    ]
}
