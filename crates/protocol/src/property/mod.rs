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
use history::{Anomaly, History};
use rustc_hash::FxHashMap;

/// Histories whose verdicts are remembered at most. Beyond, each is judged again.
const REMEMBERED_MAX: usize = 1 << 20;

/// Answers the same questions about many logs, and remembers the answers.
pub struct Judge {
    questions: Vec<Question>,
    order: VersionOrder,
    sessions: bool,
    /// The strict questions, by place; those that imply many others first.
    strongest_first: Vec<usize>,
    /// Per question, a bit for each strict one that holds where it does.
    implied: Vec<u64>,
    /// Whether strict questions need time.
    timed: bool,
    encoder: Encoder,
    times: paper::Times,
    /// Per history, the questions judged, and those of them that it answers with no.
    remembered: FxHashMap<Box<[u8]>, (u64, u64)>,
    undecided: Option<String>,
}

impl Judge {
    /// One for these questions, of which it answers the first 64.
    pub fn new(questions: &[Question], order: VersionOrder, sessions: bool) -> Judge {
        let questions: Vec<Question> = questions.iter().copied().take(64).collect();
        let strict = |place: &usize| questions[*place].form == Form::Strict;
        let mut strongest_first: Vec<usize> = (0..questions.len()).filter(strict).collect();
        let implied = |place: usize| -> u64 {
            let property = questions[place].property;
            let weaker = strongest_first.iter();
            weaker
                .filter(|other| property.implies(questions[**other].property, sessions))
                .map(|other| 1 << other)
                .sum()
        };
        let implied: Vec<u64> = (0..questions.len()).map(implied).collect();
        strongest_first.sort_by_key(|place| std::cmp::Reverse(implied[*place].count_ones()));
        let strict: Vec<Question> = strongest_first
            .iter()
            .map(|place| questions[*place])
            .collect();
        Judge {
            timed: detail(&strict) != Detail::Untimed,
            questions,
            order,
            sessions,
            strongest_first,
            implied,
            encoder: Encoder::default(),
            times: paper::Times::default(),
            remembered: FxHashMap::default(),
            undecided: None,
        }
    }

    /// Which of the questions a final log answers with no: a bit for each, the first one lowest.
    pub fn violated(&mut self, setup: &Setup, log: &Log) -> u64 {
        self.violated_of(setup, log, u64::MAX)
    }

    /// The same of the `wanted` questions only; others may be among those found.
    pub(crate) fn violated_of(&mut self, setup: &Setup, log: &Log, wanted: u64) -> u64 {
        let bytes = self
            .encoder
            .encode(setup, log, self.order, self.sessions, self.timed);
        let remembered = self.remembered.get(bytes).copied();
        let (mut judged, mut found) = remembered.unwrap_or_default();
        if remembered.is_none() || wanted & !judged != 0 {
            let key: Box<[u8]> = bytes.into();
            found |= self.strict(setup, log, wanted & !judged);
            judged |= wanted;
            if self.remembered.len() < REMEMBERED_MAX {
                self.remembered.insert(key, (judged, found));
            }
        }
        found | self.paper(setup, log, wanted)
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

    fn strict(&mut self, setup: &Setup, log: &Log, wanted: u64) -> u64 {
        let updates = Property::UpdateSerializable;
        let mut found = 0;
        let mut known = !wanted;
        let mut whole = None;
        for place in self.strongest_first.clone() {
            let property = self.questions[place].property;
            if known & (1 << place) != 0 {
                continue;
            }
            let wrong = if property == updates {
                strict::wrong(&self.history(setup, log, property), property)
            } else {
                let history = whole.get_or_insert_with(|| self.history(setup, log, property));
                strict::wrong(history, property)
            };
            match wrong {
                Ok(anomalies) if anomalies.is_empty() => known |= self.implied[place],
                Ok(_) => found |= 1 << place,
                Err(why) => {
                    self.undecided.get_or_insert(why);
                }
            }
        }
        found
    }

    fn paper(&mut self, setup: &Setup, log: &Log, wanted: u64) -> u64 {
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
            let asked = question.form == Form::Paper && wanted & (1 << place) != 0;
            if asked && paper.find(question.property).is_some() {
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
