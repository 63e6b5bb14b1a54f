//! The axioms: no version newer than the one that a stale read returned was visible to it.
//!
//! A read of x by t3 from t1 is refused if some t2 that wrote x stands after t1 in the order and
//! `phi(t2, t3)` holds. This file has the part of phi that t3's own reads make (read-committed and
//! read-atomic) and asks `session` and `causal` about the rest.

use super::newest::Newest;
use super::order::Order;
use super::session::{Question, check_observed, check_written};
use super::versions::Versions;
use super::walk::{NO_TXN, StaleRead, Walk};
use super::{Refusal, causal, name, require};
use crate::{History, Level, TxnId};
use std::collections::HashMap;

/// Everything that the axioms speak about.
pub(super) struct Scene<'a> {
    pub(super) history: &'a History,
    pub(super) order: &'a Order<'a>,
    pub(super) walk: &'a Walk,
    pub(super) versions: &'a Versions,
}

pub(super) fn check(
    history: &History,
    order: &Order<'_>,
    walk: &Walk,
    versions: &Versions,
    level: Level,
) -> Result<(), Refusal> {
    if walk.stale.is_empty() {
        return Ok(());
    }
    let scene = Scene {
        history,
        order,
        walk,
        versions,
    };
    match level {
        Level::ReadCommitted | Level::CursorStability => scene.check_own_reads(true),
        Level::ReadAtomic | Level::UpdateAtomic => {
            scene.check_own_reads(false)?;
            check_written(&scene, scene.questions_about_session())
        }
        Level::ReadYourWrites => check_written(&scene, scene.questions_about_session()),
        Level::MonotonicReads => check_observed(&scene, scene.questions_about_session()),
        Level::MonotonicWrites => {
            let questions = scene.questions_about_writers()?;
            check_written(&scene, before_each(history, questions))
        }
        Level::WritesFollowReads => check_observed(&scene, scene.questions_about_writers()?),
        Level::Causal => causal::check(&scene),
        _ => Err(Refusal::new("no certificate is defined for this level yet")),
    }
}

/// How many questions about sessions are worth asking.
const QUESTIONS_MAX: usize = 100_000_000;

impl Scene<'_> {
    /// The stale reads, one group a reader.
    pub(super) fn stale_by_reader(&self) -> impl Iterator<Item = &[StaleRead]> {
        self.walk.stale.chunk_by(|a, b| a.reader == b.reader)
    }

    /// The refusal of a stale read that should have seen the version of `t2`.
    pub(super) fn overlooked(&self, read: &StaleRead, t2: TxnId) -> Refusal {
        let history = self.history;
        Refusal::new(format!(
            "{} of {} returned the version of {}, but that of {} is newer in the order and had \
             to be seen",
            history.op_text(read.op),
            name(history, read.reader),
            name(history, read.writer),
            name(history, t2)
        ))
    }

    /// The external reads of a transaction with their writers, the initial one left out.
    pub(super) fn writers_read(&self, reader: TxnId) -> impl Iterator<Item = (usize, TxnId)> + '_ {
        self.history
            .op_range(reader)
            .map(|index| (index, self.walk.writers[index]))
            .filter(|&(_, writer)| writer != NO_TXN && writer != TxnId::INITIAL)
    }

    /// Visible is whom the reader itself read from: before the read in question, or at all.
    fn check_own_reads(&self, only_before: bool) -> Result<(), Refusal> {
        let mut newest = self.nothing_known();
        for stale in self.stale_by_reader() {
            newest.begin(stale.iter().map(|read| read.key));
            let mut due = stale.iter().peekable();
            for (index, writer) in self.writers_read(stale[0].reader) {
                if only_before {
                    while let Some(read) = due.next_if(|read| read.op.index() <= index) {
                        self.check_newest(read, &newest)?;
                    }
                }
                if newest.see(writer) {
                    self.learn(writer, &mut newest);
                }
            }
            for read in due {
                self.check_newest(read, &newest)?;
            }
        }
        Ok(())
    }

    /// A table of versions known to a transaction or session.
    pub(super) fn nothing_known(&self) -> Newest {
        Newest::new(self.history.keys().limit(), self.history.txn_count())
    }

    /// Refuses a read of a version older than what is known.
    pub(super) fn check_newest(&self, read: &StaleRead, newest: &Newest) -> Result<(), Refusal> {
        let place = newest.place(read.key);
        if place > self.order.place(read.writer) {
            return Err(self.overlooked(read, self.order.at(place)));
        }
        Ok(())
    }

    /// Enters the versions of a writer, going through its writes or through the keys in question,
    /// whichever are fewer: a transaction may write very many keys and be read very often.
    pub(super) fn learn(&self, writer: TxnId, newest: &mut Newest) {
        let place = self.order.place(writer);
        let range = self.history.op_range(writer);
        if range.len() <= 16 * newest.keys().len() {
            let ops = self.history.ops();
            for index in range.filter(|&index| ops.kinds[index].is_write()) {
                newest.raise(ops.keys[index], place);
            }
        } else {
            for index in 0..newest.keys().len() {
                let key = newest.keys()[index];
                if place > newest.place(key) && self.versions.is_written_at(key, place) {
                    newest.raise(key, place);
                }
            }
        }
    }

    /// Asks about everything before the reader in its session.
    fn questions_about_session(&self) -> Vec<Question> {
        let questions = self.walk.stale.iter().map(|&read| Question {
            until: read.reader,
            read,
        });
        before_each(self.history, questions.collect())
    }

    /// Asks about the sessions of those the reader read from, up to them; of several in one
    /// session the last covers the others.
    fn questions_about_writers(&self) -> Result<Vec<Question>, Refusal> {
        let mut questions = Vec::new();
        for stale in self.stale_by_reader() {
            let mut latest: HashMap<u32, TxnId> = HashMap::new();
            for (_, writer) in self.writers_read(stale[0].reader) {
                let session = self.history.session_of(writer);
                let known = latest.entry(session.0).or_insert(writer);
                *known = writer.max(*known);
            }
            require!(
                questions.len() + stale.len() * latest.len() <= QUESTIONS_MAX,
                "the order has too many reads of old versions to re-check"
            );
            for &until in latest.values() {
                questions.extend(stale.iter().map(|&read| Question { until, read }));
            }
        }
        Ok(questions)
    }
}

/// The same questions about what lies strictly before; a session's first has nothing before it.
fn before_each(history: &History, mut questions: Vec<Question>) -> Vec<Question> {
    questions.retain_mut(|question| {
        let session = history.session_of(question.until);
        let is_first = question.until.0 == history.session_txns(session).start;
        if !is_first {
            question.until.0 -= 1;
        }
        !is_first
    });
    questions
}
