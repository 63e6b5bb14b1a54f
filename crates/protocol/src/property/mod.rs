//! Judges what a run left behind.

mod convert;
mod encode;
mod evidence;
mod graph;
mod name;
mod paper;
mod strict;
mod vacuous;

pub use convert::to_history;
pub use name::UnknownProperty;
pub use vacuous::{applicable, vacuous};

use crate::log::{Detail, Log};
use crate::protocol::VersionOrder;
use crate::question::{Form, Property, Question, detail};
use crate::setup::Setup;
use encode::Encoder;
use history::{Anomaly, History, Verdict};
use rustc_hash::FxHashMap;

/// Histories whose verdicts are remembered at most. Beyond, each is judged again.
const REMEMBERED_MAX: usize = 1 << 20;

/// Answers the same questions about many logs, and remembers the answers.
pub struct Judge {
    questions: Vec<Question>,
    order: VersionOrder,
    sessions: bool,
    /// Whether strict questions need time.
    timed: bool,
    encoder: Encoder,
    times: paper::Times,
    remembered: FxHashMap<Box<[u8]>, u64>,
    undecided: Option<String>,
}

impl Judge {
    /// One for these questions, of which it answers the first 64.
    pub fn new(questions: &[Question], order: VersionOrder, sessions: bool) -> Judge {
        let strict: Vec<Question> = questions
            .iter()
            .copied()
            .filter(|question| question.form == Form::Strict)
            .collect();
        Judge {
            questions: questions.iter().copied().take(64).collect(),
            order,
            sessions,
            timed: detail(&strict) != Detail::Untimed,
            encoder: Encoder::default(),
            times: paper::Times::default(),
            remembered: FxHashMap::default(),
            undecided: None,
        }
    }

    /// Which of the questions a final log answers with no: a bit for each, the first one lowest.
    pub fn violated(&mut self, setup: &Setup, log: &Log) -> u64 {
        let bytes = self
            .encoder
            .encode(setup, log, self.order, self.sessions, self.timed);
        let strict = match self.remembered.get(bytes) {
            Some(bits) => *bits,
            None => {
                let key: Box<[u8]> = bytes.into();
                let bits = self.strict(setup, log);
                if self.remembered.len() < REMEMBERED_MAX {
                    self.remembered.insert(key, bits);
                }
                bits
            }
        };
        strict | self.paper(setup, log)
    }

    /// How many different histories were seen; at least so many, if there were very many.
    pub fn histories(&self) -> usize {
        self.remembered.len()
    }

    /// Why a history could not be judged, if there was one.
    pub fn undecided(&self) -> Option<&str> {
        self.undecided.as_deref()
    }

    /// Takes over what another judge of the same questions remembers.
    pub fn absorb(&mut self, other: Judge) {
        self.remembered.extend(other.remembered);
        self.undecided = self.undecided.take().or(other.undecided);
    }

    /// The history that a property is about, as it is judged.
    pub fn history(&self, setup: &Setup, log: &Log, property: Property) -> History {
        strict::history(setup, log, self.order, self.sessions, property)
    }

    /// What is wrong with a log, as anomalies in its [`Judge::history`] (none in the paper's form)
    /// and in words. Nothing if nothing is.
    pub fn explain(&self, setup: &Setup, log: &Log, question: Question) -> (Vec<Anomaly>, String) {
        match question.form {
            Form::Strict => {
                let history = self.history(setup, log, question.property);
                strict::explain(&history, question.property)
            }
            Form::Paper => {
                let found = paper::Paper::new(setup, log, &mut paper::Times::default())
                    .find(question.property);
                let words = found.map(|found| found.to_string());
                (Vec::new(), words.unwrap_or_default())
            }
        }
    }

    fn strict(&mut self, setup: &Setup, log: &Log) -> u64 {
        let mut found = 0;
        let whole = |property: Property| matches!(property, Property::Level(_));
        for all in [true, false] {
            let places: Vec<usize> = (0..self.questions.len())
                .filter(|place| {
                    let question = self.questions[*place];
                    question.form == Form::Strict && whole(question.property) == all
                })
                .collect();
            let Some(first) = places.first() else {
                continue;
            };
            let history = self.history(setup, log, self.questions[*first].property);
            let properties: Vec<Property> = places
                .iter()
                .map(|place| self.questions[*place].property)
                .collect();
            for (place, verdict) in places.iter().zip(strict::verdicts(&history, &properties)) {
                match verdict {
                    Verdict::Holds(_) => {}
                    Verdict::Violated(_) => found |= 1 << place,
                    Verdict::Unknown(why) => {
                        self.undecided.get_or_insert(why);
                    }
                }
            }
        }
        found
    }

    fn paper(&mut self, setup: &Setup, log: &Log) -> u64 {
        if self
            .questions
            .iter()
            .all(|question| question.form == Form::Strict)
        {
            return 0;
        }
        let paper = paper::Paper::new(setup, log, &mut self.times);
        let mut found = 0;
        for (place, question) in self.questions.iter().enumerate() {
            if question.form == Form::Paper && paper.find(question.property).is_some() {
                found |= 1 << place;
            }
        }
        found
    }
}

/// Something that no log of a correct model has: a version that was read and that nobody wrote, or
/// that two transactions wrote which did not abort.
pub fn malformed(log: &Log) -> Option<String> {
    for record in &log.records {
        for (key, version) in &record.reads {
            if !version.is_initial() && convert::writer(log, *key, *version).is_none() {
                return Some(format!(
                    "version {version} of {key} was read, and nobody wrote it"
                ));
            }
        }
    }
    let kept = |record: &&crate::log::Record| record.status != crate::log::Status::Aborted;
    for (place, record) in log.records.iter().enumerate() {
        for other in log.records[place + 1..].iter().filter(kept) {
            let twice =
                |write: &&(crate::id::Key, crate::id::Version)| other.writes.contains(write);
            if kept(&record)
                && let Some((key, version)) = record.writes.iter().find(twice)
            {
                return Some(format!("two transactions wrote version {version} of {key}"));
            }
        }
    }
    None
}
