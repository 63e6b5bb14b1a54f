//! Questions about sessions: which version of a key had a session written, or read, by a point?
//!
//! All questions are collected first and answered in one pass over each session concerned.

use super::Refusal;
use super::visible::Scene;
use super::walk::StaleRead;
use crate::{KeyId, TxnId};
use std::collections::{HashMap, HashSet};

/// Is the version that this read returned older than what a session knew by the end of `until`?
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub(super) until: TxnId,
    pub(super) read: StaleRead,
}

/// Refuses a read of a version older than what the session wrote.
pub(super) fn check_written(scene: &Scene<'_>, questions: Vec<Question>) -> Result<(), Refusal> {
    check(scene, questions, |txn, newest, _| scene.raise(txn, newest))
}

/// Refuses a read of a version older than one whose transaction the session read from.
pub(super) fn check_observed(scene: &Scene<'_>, questions: Vec<Question>) -> Result<(), Refusal> {
    check(scene, questions, |txn, newest, seen| {
        for (_, writer) in scene.writers_read(txn) {
            if seen.insert(writer) {
                scene.raise(writer, newest);
            }
        }
    })
}

fn check(
    scene: &Scene<'_>,
    mut questions: Vec<Question>,
    learn: impl Fn(TxnId, &mut HashMap<KeyId, u32>, &mut HashSet<TxnId>),
) -> Result<(), Refusal> {
    let history = scene.history;
    questions.sort_unstable_by_key(|question| question.until);
    let session_of = |question: &Question| history.session_of(question.until);
    for of_session in questions.chunk_by(|a, b| session_of(a) == session_of(b)) {
        let mut newest: HashMap<KeyId, u32> = of_session
            .iter()
            .map(|question| (question.read.key, 0))
            .collect();
        let mut seen = HashSet::new();
        let mut next = history.session_txns(session_of(&of_session[0])).start;
        for question in of_session {
            while next <= question.until.0 {
                let txn = TxnId(next);
                if scene.order.takes(txn) {
                    learn(txn, &mut newest, &mut seen);
                }
                next += 1;
            }
            let place = newest[&question.read.key];
            if place > scene.order.place(question.read.writer) {
                return Err(scene.overlooked(&question.read, scene.order.at(place)));
            }
        }
    }
    Ok(())
}
