//! The published table, and why ours differs: Table 1 of "Automatic Analysis of Consistency
//! Properties of Distributed Transaction Systems in Maude" (Liu, Ölveczky, Zhang, Wang, Meseguer,
//! TACAS 2019), and what was found in the public artefact of it (github siliunobi/cat, commit
//! a47d1e8, the archive cat.zip) by running it.

use history::Level;
use protocol::{Form, Property};

/// A row of the published table: the protocol, and a letter a property in the order of
/// [`Property::table`]: `y`, `n`, or `-` where nothing is said.
pub const TABLE: [(&str, &str); 15] = [
    ("ramp-f", "yynn--nnn"),
    ("ramp-f+1pw", "yynn--nnn"),
    ("ramp-f+fc", "yynn--nnn"),
    ("ramp-f-2pc", "ynnn--nnn"),
    ("ramp-s", "yynn--nnn"),
    ("ramp-s+1pw", "yynn--nnn"),
    ("ramp-s-2pc", "ynnn--nnn"),
    ("faster", "ynnn--nnn"),
    ("faster+fc", "ynnn--nnn"),
    ("rola", "yyyy--nnn"),
    ("jessy", "yyyyynnnn"),
    ("walter-norepl", "yyyyyynnn"),
    ("walter", "yyyyyynnn"),
    ("p-store", "yyyyyyyyn"),
    ("cassandra", "---------"),
];

/// What was published of a protocol and a property: that it holds, that it does not, or nothing.
pub fn published(protocol: &str, property: Property) -> Option<bool> {
    let row = TABLE.iter().find(|(name, _)| *name == protocol)?;
    let column = Property::table().position(|other| other == property)?;
    match row.1.as_bytes().get(column) {
        Some(b'y') => Some(true),
        Some(b'n') => Some(false),
        _ => None,
    }
}

/// Something known of a cell of the published table.
pub struct Remark {
    protocols: &'static [&'static str],
    properties: &'static [Level],
    /// In which form ours differs because of it; none if the verdicts agree and only the published
    /// evidence is worth a word.
    pub form: Option<Form>,
    /// What it is: a wrong definition, a vacuous run, a verdict that was not computed, a wrong model.
    pub kind: &'static str,
    /// The facts.
    pub text: &'static str,
}

const ROLA: &[&str] = &["rola"];
const JESSY: &[&str] = &["jessy"];
const WALTER: &[&str] = &["walter", "walter-norepl"];
const P_STORE: &[&str] = &["p-store"];
const RAMP: &[&str] = &["ramp-f", "faster"];

const REMARKS: &[Remark] = &[
    Remark {
        protocols: JESSY,
        properties: &[Level::ParallelSnapshotIsolation],
        form: Some(Form::Strict),
        kind: "another definition",
        text: "as conditions on dependencies, PSI is NMSI and the order of sessions, which the table \
               leaves out as CAT does. With --sessions Jessy violates it: a reader sees what a client \
               wrote second and not what it wrote first",
    },
    Remark {
        protocols: WALTER,
        properties: &[
            Level::SnapshotIsolation,
            Level::Serializable,
            Level::StrictSerializable,
        ],
        form: None,
        kind: "not computed",
        text: "the artefact's consistency.maude of Walter defines si, ser and sser as false: the first \
               final state is shown as the counterexample, one with a single commit",
    },
    Remark {
        protocols: JESSY,
        properties: &[
            Level::ParallelSnapshotIsolation,
            Level::SnapshotIsolation,
            Level::Serializable,
            Level::StrictSerializable,
        ],
        form: None,
        kind: "not computed",
        text: "the artefact's consistency.maude of Jessy defines psi, si, ser and sser as false",
    },
    Remark {
        protocols: P_STORE,
        properties: &[Level::StrictSerializable],
        form: None,
        kind: "not computed",
        text: "the artefact's consistency.maude of P-Store defines sser as false",
    },
    Remark {
        protocols: JESSY,
        properties: &[Level::NonMonotonicSnapshotIsolation],
        form: Some(Form::Paper),
        kind: "vacuous run, wrong definition",
        text: "the artefact asks for transactions with one operation of a pair of two, so no initial \
               state exists (1 state is visited), and nmsi is defined as false besides. The paper's \
               formula demands that all sites see commits in one order (PSI-3), which NMSI does not",
    },
    Remark {
        protocols: WALTER,
        properties: &[Level::CursorStability, Level::UpdateAtomic],
        form: None,
        kind: "vacuous run, wrong model",
        text: "the artefact runs these with an odd number of operations, where no initial state exists. \
               With two, its Walter loses an update: a read from a remote site is not merged with what \
               the own site already committed. Ours merges; 'walter-no-merge' is the model without",
    },
    Remark {
        protocols: WALTER,
        properties: &[
            Level::ReadCommitted,
            Level::ReadAtomic,
            Level::NonMonotonicSnapshotIsolation,
            Level::ParallelSnapshotIsolation,
        ],
        form: None,
        kind: "vacuous run",
        text: "the artefact's monitor records the empty version for every write of Walter, so no read \
               ever matches a write",
    },
    Remark {
        protocols: P_STORE,
        properties: &[
            Level::ReadCommitted,
            Level::ReadAtomic,
            Level::CursorStability,
            Level::UpdateAtomic,
            Level::NonMonotonicSnapshotIsolation,
            Level::ParallelSnapshotIsolation,
            Level::SnapshotIsolation,
            Level::Serializable,
        ],
        form: None,
        kind: "vacuous run",
        text: "the artefact's monitor records no writes of P-Store at all",
    },
    Remark {
        protocols: P_STORE,
        properties: &[
            Level::NonMonotonicSnapshotIsolation,
            Level::ParallelSnapshotIsolation,
            Level::SnapshotIsolation,
        ],
        form: Some(Form::Paper),
        kind: "wrong definition",
        text: "the paper's formulas compare the time at which a client is told of a commit with starts; \
               a transaction that reads what was committed before its writer's client heard of it \
               counts as a violation, although the run is serializable",
    },
    Remark {
        protocols: RAMP,
        properties: &[Level::Serializable],
        form: None,
        kind: "wrong definition",
        text: "the artefact's dsg.maude of this model takes any two different versions as ordered and \
               lets a transaction conflict with itself: a single read-modify-write, alone, is reported \
               as not serializable",
    },
    Remark {
        protocols: ROLA,
        properties: &[Level::Serializable, Level::StrictSerializable],
        form: None,
        kind: "wrong definition",
        text: "the published counterexamples are serial chains: versions are compared by timestamp, not \
               in the order in which sites install them, and sser demands commits in that order",
    },
];

/// What is known of a cell.
pub fn remarks(protocol: &str, property: Property) -> impl Iterator<Item = &'static Remark> {
    let protocol = protocol.to_string();
    REMARKS.iter().filter(move |remark| {
        let of = |level: &Level| Property::Level(*level) == property;
        remark.protocols.contains(&protocol.as_str()) && remark.properties.iter().any(of)
    })
}
