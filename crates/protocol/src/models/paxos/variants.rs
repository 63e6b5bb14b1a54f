//! Paxos's entry in the catalogue, with its mutants.

use super::{Bug, Paxos};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level;

pub(crate) fn entries() -> Vec<Entry> {
    let strict = Property::Level(Level::StrictSerializable);
    let two_clients = "k1@s1,s2,s3 | s4: w(k1); r(k1) | s5: w(k1); r(k1)";
    let mutant = |name, bug, what, setup| Mutant {
        model: Box::new(Paxos {
            name,
            bug: Some(bug),
        }),
        what,
        breaks: strict,
        setup: line(setup),
    };
    vec![Entry {
        model: Box::new(Paxos::PUBLISHED),
        title: "Single-decree Paxos",
        source: "Lamport: The part-time parliament, TOCS 1998; as in the examples of Stateright",
        summary: "A register that is written once; who loses, or asks too early, gets no answer.",
        promises: &[Property::Level(Level::StrictSerializable)],
        mutants: vec![
            mutant(
                "paxos/small-quorum",
                Bug::SmallQuorum,
                "half of the servers are taken for a majority",
                two_clients,
            ),
            mutant(
                "paxos/ignore-accepted",
                Bug::IgnoreAccepted,
                "a leader proposes its client's value, whatever was accepted before",
                two_clients,
            ),
            mutant(
                "paxos/break-promise",
                Bug::BreakPromise,
                "a server accepts ballots lower than it promised",
                two_clients,
            ),
            mutant(
                "paxos/decide-early",
                Bug::DecideEarly,
                "a leader takes its proposal for decided before it is accepted",
                two_clients,
            ),
            mutant(
                "paxos/answer-undecided",
                Bug::AnswerUndecided,
                "a server that knows no decision answers that there is no value",
                "k1@s1,s2,s3 | s4: w(k1); r(k1)",
            ),
        ],
    }]
}
