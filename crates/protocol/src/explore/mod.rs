//! Visits every state of every setup, breadth first.

use crate::id::{Key, Version};
use crate::log::{Log, Status};
use crate::property;
use crate::protocol::Protocol;
use crate::question::{
    Answer, Counterexample, Evidence, Outcome, Question, Request, Stuck, detail,
};
use crate::setup::Setup;
use crate::system::{Action, State, System};
use std::collections::HashMap;

/// Explores all runs of all `setups`, which stand for `raw` ones.
pub fn explore<P: Protocol>(
    protocol: &P,
    setups: &[Setup],
    raw: u64,
    request: &Request<'_>,
) -> Outcome {
    let mut outcome = Outcome {
        protocol: protocol.name().to_string(),
        answers: Vec::new(),
        evidence: Evidence::default(),
        stuck: None,
        model_error: None,
    };
    let mut found: Vec<Option<(u32, Counterexample)>> = vec![None; request.questions.len()];
    let mut world = request.world;
    world.detail = world.detail.max(detail(&request.questions));
    let mut fired = 0;
    outcome.evidence.setups_raw = raw;
    for setup in setups {
        outcome.evidence.setups += 1;
        let system = System {
            protocol,
            setup,
            world,
        };
        let mut seen: HashMap<Vec<u8>, ()> = HashMap::new();
        let mut arena: Vec<(usize, Option<Action>)> = vec![(0, None)];
        let first = system.initial();
        seen.insert(fingerprint(&first), ());
        let mut frontier = vec![(0usize, first)];
        let mut depth = 0;
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for (place, state) in frontier {
                outcome.evidence.states += 1;
                let mut last = true;
                system.successors(&state, |action, state, did| {
                    last = false;
                    fired |= did.rules;
                    outcome.evidence.generated += 1;
                    if seen.insert(fingerprint(&state), ()).is_none() {
                        arena.push((place, Some(action)));
                        next.push((arena.len() - 1, state));
                    }
                });
                if last {
                    let run = |question: Option<Question>| -> Counterexample {
                        let order = protocol.version_order();
                        Counterexample {
                            setup: setup.clone(),
                            trace: trace(&arena, place),
                            log: state.log.clone(),
                            history: property::to_history(
                                setup,
                                &state.log,
                                order,
                                request.sessions,
                            ),
                            anomalies: question
                                .map(|question| {
                                    property::explain(
                                        setup,
                                        &state.log,
                                        order,
                                        request.sessions,
                                        question,
                                    )
                                })
                                .unwrap_or_default(),
                            explanation: String::new(),
                        }
                    };
                    if let Some(error) = state.log.error.clone().or_else(|| thin_air(&state.log)) {
                        outcome.model_error = Some((error, Box::new(run(None))));
                        return outcome;
                    }
                    finals(&mut outcome.evidence, &state.log);
                    let stuck: Vec<_> = setup
                        .txns()
                        .filter(|txn| !state.log.ended().contains(*txn))
                        .collect();
                    if !stuck.is_empty() {
                        let all = outcome.stuck.get_or_insert_with(|| Stuck {
                            run: run(None),
                            txns: stuck,
                            finals: 0,
                        });
                        all.finals += 1;
                    }
                    let violated = property::violated(
                        setup,
                        &state.log,
                        protocol.version_order(),
                        request.sessions,
                        &request.questions,
                    );
                    for (number, question) in request.questions.iter().enumerate() {
                        let better = found[number]
                            .as_ref()
                            .is_none_or(|(length, _)| depth < *length);
                        if violated & (1 << number) != 0 && better {
                            found[number] = Some((depth, run(Some(*question))));
                        }
                    }
                }
            }
            frontier = next;
            depth += 1;
        }
        outcome.evidence.depth = outcome.evidence.depth.max(depth);
    }
    outcome.evidence.exhausted = true;
    let rules = protocol.rules().iter().enumerate();
    let never = rules.filter(|(place, _)| fired & (1 << place) == 0);
    outcome.evidence.rules_never_fired = never.map(|(_, rule)| rule.to_string()).collect();
    for (question, found) in request.questions.iter().zip(found) {
        let answer = match found {
            Some((_, run)) => Answer::Violated(Box::new(run)),
            None => Answer::Holds,
        };
        outcome.answers.push((*question, answer));
    }
    outcome
}

fn fingerprint<P: Protocol>(state: &State<P>) -> Vec<u8> {
    let mut packets: Vec<String> = state
        .network
        .iter()
        .map(|packet| serde_json::to_string(packet).unwrap_or_default())
        .collect();
    packets.sort();
    serde_json::to_vec(&(
        &state.sites,
        packets,
        &state.started,
        &state.log,
        &state.multicasts,
        state.spent,
        state.down,
        state.cut,
    ))
    .unwrap_or_default()
}

fn trace(arena: &[(usize, Option<Action>)], mut place: usize) -> Vec<Action> {
    let mut actions = Vec::new();
    while let (parent, Some(action)) = &arena[place] {
        actions.push(action.clone());
        place = *parent;
    }
    actions.reverse();
    actions
}

/// A version that was read and that nobody wrote.
fn thin_air(log: &Log) -> Option<String> {
    let written = |key: Key, version: Version| {
        version.is_initial()
            || log
                .records
                .iter()
                .any(|record| record.writes.contains(&(key, version)))
    };
    let reads = log.records.iter().flat_map(|record| &record.reads);
    let mut wrong = reads.filter(|(key, version)| !written(*key, *version));
    wrong
        .next()
        .map(|(key, version)| format!("version {version} of {key} was read, and nobody wrote it"))
}

fn finals(evidence: &mut Evidence, log: &Log) {
    evidence.finals += 1;
    let committed: Vec<_> = log.with(Status::Committed).collect();
    evidence.finals_two_commits += u64::from(committed.len() >= 2);
    evidence.finals_aborts += u64::from(log.with(Status::Aborted).next().is_some());
    let reads_from = committed.iter().any(|reader| {
        committed.iter().any(|writer| {
            let reads = &log.record(*reader).reads;
            reader != writer
                && log
                    .record(*writer)
                    .writes
                    .iter()
                    .any(|write| reads.contains(write))
        })
    });
    evidence.finals_reads_from += u64::from(reads_from);
}
