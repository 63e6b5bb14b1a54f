//! Questions about sessions: which version of a key had a session written, or read, by a point?
//!
//! All questions are collected first and answered in one pass over each session concerned.

use super::Refusal;
use super::newest::Newest;
use super::visible::Scene;
use super::walk::StaleRead;
use crate::TxnId;

/// Is the version that this read returned older than what a session knew by the end of `until`?
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub(super) until: TxnId,
    pub(super) read: StaleRead,
}

/// Refuses a read of a version older than what the session wrote.
pub(super) fn check_written(scene: &Scene<'_>, questions: Vec<Question>) -> Result<(), Refusal> {
    check(scene, questions, |txn, newest| scene.learn(txn, newest))
}

/// Refuses a read of a version older than one whose transaction the session read from.
pub(super) fn check_observed(scene: &Scene<'_>, questions: Vec<Question>) -> Result<(), Refusal> {
    check(scene, questions, |txn, newest| {
        for (_, writer) in scene.writers_read(txn) {
            if newest.see(writer) {
                scene.learn(writer, newest);
            }
        }
    })
}

fn check(
    scene: &Scene<'_>,
    mut questions: Vec<Question>,
    learn: impl Fn(TxnId, &mut Newest),
) -> Result<(), Refusal> {
    let history = scene.history;
    questions.sort_unstable_by_key(|question| question.until);
    let session_of = |question: &Question| history.session_of(question.until);
    let mut newest = scene.nothing_known();
    for of_session in questions.chunk_by(|a, b| session_of(a) == session_of(b)) {
        newest.begin(of_session.iter().map(|question| question.read.key));
        let mut next = history.session_txns(session_of(&of_session[0])).start;
        for question in of_session {
            while next <= question.until.0 {
                let txn = TxnId(next);
                if scene.order.takes(txn) {
                    learn(txn, &mut newest);
                }
                next += 1;
            }
            scene.check_newest(&question.read, &newest)?;
        }
    }
    Ok(())
}
