//! What is said of a protocol, for people: verdicts, the evidence under them, and each finding with
//! its chart.

use crate::exit::Exit;
use crate::output;
use crate::story::{self, Telling, wrap};
use history::{History, Level};
use protocol::{
    Answer, Counterexample, Entry, Evidence, Form, Judgement, Outcome, Property, Question, Run,
    Txn, World, text,
};
use std::fmt::Write;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// The answers about one model.
pub struct Asked<'a> {
    /// The protocol.
    pub entry: &'a Entry,
    /// What the exploration said.
    pub outcome: Outcome,
    /// What it found, done again.
    pub findings: Vec<Finding>,
    /// Whether properties were named, so that each of them counts, promised or not.
    pub explicit: bool,
    /// Whether faults could happen.
    pub faults: bool,
    /// Whether levels know who ran what.
    pub sessions: bool,
    /// How long it took.
    pub seconds: f64,
    /// What was done, if it was not to visit every state.
    pub by_chance: Option<String>,
}

/// A run worth looking at.
pub struct Finding {
    /// What is wrong with it.
    pub kind: Kind,
    /// The properties that it violates, with what says why.
    pub questions: Vec<(Question, Judgement)>,
    /// The run as it was found.
    pub counterexample: Counterexample,
    /// The run as it was done again.
    pub run: Run,
    /// The world it happened in.
    pub world: World,
    /// Whether sessions order transactions.
    pub sessions: bool,
    /// The files it was written to.
    pub files: Vec<String>,
}

/// What is wrong with a run.
pub enum Kind {
    /// It violates properties.
    Violation,
    /// These transactions never get an answer; so many final states are like that.
    Stuck { txns: Vec<Txn>, finals: u64 },
    /// The model did what no model may do.
    Wrong(String),
}

impl Finding {
    /// The first of the levels that it violates.
    pub fn level(&self) -> Option<Level> {
        let mut properties = self.questions.iter().map(|(question, _)| question.property);
        properties.find_map(|property| match property {
            Property::Level(level) => Some(level),
            _ => None,
        })
    }

    /// What is found, by name.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Violation => {
                let anomalies = self
                    .questions
                    .iter()
                    .flat_map(|(_, judged)| &judged.anomalies);
                let mut names: Vec<&str> = Vec::new();
                for anomaly in anomalies {
                    if !names.contains(&anomaly.kind.name()) {
                        names.push(anomaly.kind.name());
                    }
                }
                match &names[..] {
                    [] => "the formula of the paper does not hold".to_string(),
                    names => names.join(", "),
                }
            }
            Kind::Stuck { txns, .. } => {
                let names: Vec<String> = txns.iter().map(Txn::to_string).collect();
                format!("{} never ends", names.join(", "))
            }
            Kind::Wrong(error) => error.clone(),
        }
    }

    /// The weakest properties that it violates.
    fn weakest(&self) -> impl Iterator<Item = &Question> {
        let all = self.questions.iter().map(|(question, _)| question);
        all.filter(|question| {
            !self
                .questions
                .iter()
                .any(|(other, _)| stronger(**question, *other))
        })
    }

    /// What is found, as a sentence without an end.
    pub fn title(&self) -> String {
        match &self.kind {
            Kind::Violation => {
                let names: Vec<String> = self.weakest().map(Question::to_string).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                format!("{} {verb} violated", names.join(", "))
            }
            Kind::Stuck { .. } => "stuck".to_string(),
            Kind::Wrong(_) => "the model is wrong".to_string(),
        }
    }
}

impl Asked<'_> {
    /// Whether the protocol promises what is asked.
    pub fn promised(&self, question: Question) -> bool {
        let implied = |promise: &Property| promise.implies(question.property, self.sessions);
        question.form == Form::Strict && self.entry.promises.iter().any(implied)
    }

    /// Whether an answer counts: what was named, or else what is promised.
    pub fn counts(&self, question: Question) -> bool {
        self.explicit || self.promised(question)
    }

    /// The exit code of all answers together.
    pub fn exit(&self) -> Exit {
        if self.outcome.model_error.is_some() {
            return Exit::BadInput;
        }
        // With faults, that somebody waits forever is often what the protocol is known for.
        let stuck = match self.outcome.stuck {
            Some(_) if !self.faults => Exit::Violated,
            _ => Exit::Holds,
        };
        let counted = self.outcome.answers.iter();
        let counted = counted.filter(|(question, _)| self.counts(*question));
        counted
            .map(|(_, answer)| match answer {
                Answer::Holds => Exit::Holds,
                Answer::Violated(_) => Exit::Violated,
                Answer::Vacuous(_) | Answer::Unknown(_) => Exit::Unknown,
            })
            .fold(stuck, Exit::and)
    }

    /// The findings to show: all that were asked for by name; else those that explain the others,
    /// which are the violations of the weakest properties.
    fn shown(&self) -> Vec<&Finding> {
        let weakest = |finding: &Finding| {
            let weaker = |question: &Question| {
                let mut all = self.findings.iter().flat_map(|finding| &finding.questions);
                all.any(|(other, _)| stronger(*question, *other))
            };
            finding.questions.is_empty() || !finding.questions.iter().all(|(q, _)| weaker(q))
        };
        let all = self.findings.iter();
        all.filter(|finding| self.explicit || weakest(finding))
            .collect()
    }
}

/// Whether who has the first property has the second, another one.
fn stronger(one: Question, other: Question) -> bool {
    one.form == other.form
        && one.property != other.property
        && one.property.implies(other.property, true)
}

/// The whole report.
pub fn render(asked: &Asked<'_>) -> String {
    let mut out = format!(
        "{BOLD}{}{PLAIN}  {}\n",
        asked.outcome.protocol, asked.entry.title
    );
    for (question, answer) in &asked.outcome.answers {
        out.push_str(&verdict(asked, *question, answer));
    }
    match &asked.by_chance {
        Some(told) => out.push_str(told),
        None => evidence(&mut out, &asked.outcome.evidence, asked.seconds),
    }
    for finding in asked.shown() {
        show(&mut out, finding);
    }
    let hidden = asked.findings.len() - asked.shown().len();
    if hidden > 0 {
        out.push_str(&format!(
            "\n{DIM}{hidden} more with a run of their own: name the property with --level{PLAIN}\n"
        ));
    }
    out
}

fn verdict(asked: &Asked<'_>, question: Question, answer: &Answer) -> String {
    let promised = asked.promised(question);
    let (colour, mark, tail) = match answer {
        Answer::Holds => (GREEN, '✓', String::new()),
        Answer::Vacuous(why) => (YELLOW, '○', format!("vacuous: {why}")),
        Answer::Unknown(why) => (YELLOW, '?', format!("unknown: {why}")),
        Answer::Violated(run) => {
            let colour = if asked.counts(question) { RED } else { YELLOW };
            let kinds = story::kinds(&run.anomalies);
            let steps = match run.trace.len() {
                1 => "1 step".to_string(),
                count => format!("{count} steps"),
            };
            let tail = if kinds.is_empty() {
                steps
            } else {
                format!("{kinds} in {steps}")
            };
            (colour, '✗', tail)
        }
    };
    let note = if promised { "promised" } else { "" };
    let line = format!(
        "  {colour}{mark}{PLAIN} {:<40} {note:<9} {tail}",
        question.to_string()
    );
    format!("{}\n", line.trim_end())
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// What the verdicts rest on.
fn evidence(out: &mut String, evidence: &Evidence, seconds: f64) {
    let alike = match evidence.setups_raw > evidence.setups {
        true => format!(" for {}", grouped(evidence.setups_raw)),
        false => String::new(),
    };
    let end = match evidence.exhausted {
        true => "all visited",
        false => "NOT all visited",
    };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "  {} initial {}{alike}; {} states, {end} ({} generated); {seconds:.1} s",
        grouped(evidence.setups),
        if evidence.setups == 1 {
            "state"
        } else {
            "states"
        },
        grouped(evidence.states),
        grouped(evidence.generated)
    );
    let _ = writeln!(
        out,
        "  {} final states: {} with two or more commits, {} where one read another's write, {} \
         with aborts",
        grouped(evidence.finals),
        grouped(evidence.finals_two_commits),
        grouped(evidence.finals_reads_from),
        grouped(evidence.finals_aborts)
    );
    match &evidence.rules_never_fired[..] {
        [] => {}
        rules => {
            let _ = writeln!(
                out,
                "  {YELLOW}rules that never fired{PLAIN}: {}",
                rules.join(", ")
            );
        }
    }
    if evidence.collision_bound > 0.0 {
        let _ = writeln!(
            out,
            "  two states were taken for one with a probability of at most {:.0e}",
            evidence.collision_bound
        );
    }
}

fn show(out: &mut String, finding: &Finding) {
    let name = finding.name();
    let _ = writeln!(
        out,
        "\n{BOLD}{}{PLAIN}: {RED}{name}{PLAIN}",
        finding.title()
    );
    match &finding.kind {
        Kind::Violation => out.push_str(&anomalies(finding)),
        Kind::Stuck { finals, .. } => {
            let _ = writeln!(
                out,
                "  nothing more can happen, and clients wait for an answer; so in {} final states",
                grouped(*finals)
            );
        }
        Kind::Wrong(_) => {}
    }
    let _ = write!(out, "  {}\n\n{}", finding.run.setup, text(&finding.run));
    if !finding.files.is_empty() {
        let _ = writeln!(out, "\n  written: {}", finding.files.join("\n           "));
    }
}

/// The anomalies in the checker's words, each kind once, with transactions named as in the chart.
fn anomalies(finding: &Finding) -> String {
    let mut out = String::new();
    let telling = Telling {
        width: output::width(),
        coloured: true,
        ..Telling::default()
    };
    let mut shown = Vec::new();
    for (_, judged) in &finding.questions {
        let mut text = String::new();
        for anomaly in &judged.anomalies {
            if !shown.contains(&anomaly.kind) {
                shown.push(anomaly.kind);
                text.push_str(&story::anomaly(&judged.history, anomaly, &telling));
            }
        }
        if judged.anomalies.is_empty() {
            for line in wrap(&judged.explanation, telling.width - 8) {
                let _ = writeln!(text, "  {line}");
            }
        }
        out.push_str(&renamed(&judged.history, &text));
    }
    out
}

/// Why a run is a finding, in sentences.
pub fn explanation(finding: &Finding) -> String {
    let mut sentences: Vec<String> = Vec::new();
    for (_, judged) in &finding.questions {
        let anomalies = judged.anomalies.iter();
        let mut said: Vec<&String> = anomalies.map(|anomaly| &anomaly.explanation).collect();
        if said.is_empty() {
            said.push(&judged.explanation);
        }
        for sentence in said {
            let sentence = renamed(&judged.history, sentence);
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences.join(" ")
}

/// Transactions named as in the chart: `t1`, not `s0t0`.
fn renamed(history: &History, text: &str) -> String {
    let mut names: Vec<(String, String)> = history
        .txn_ids()
        .map(|id| (history.txn_name(id), format!("t{}", history.txn(id).label)))
        .collect();
    // Longer names first: one may begin with another.
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let mut text = text.to_string();
    for (place, (name, _)) in names.iter().enumerate() {
        text = text.replace(name.as_str(), &format!("\u{1}{place}\u{2}"));
    }
    for (place, (_, name)) in names.iter().enumerate() {
        text = text.replace(&format!("\u{1}{place}\u{2}"), name);
    }
    text
}
