//! What the page shows of a report and of an anomaly: drawings by the report crate, the rest as
//! data that the page puts into text.

use crate::browse::{Opened, restore};
use crate::summary;
use history::{Anomaly, Level, TxnId};
use report::escape::cut;
use report::picture::Shown;
use report::{Answer, Details, Lanes, Lattice, Picture, Story, Surroundings, encyclopedia};
use serde_json::{Value, json};

/// Statements of a transaction beyond this are counted.
const STATEMENTS_MAX: usize = 24;

/// A report: levels, anomalies, what was run.
pub(crate) fn result(report: &Value) -> Value {
    let answers: Vec<(Level, Answer)> = Level::all()
        .filter_map(|level| Some((level, answer(report, level)?)))
        .collect();
    let lattice = Lattice::from_answers(&answers);
    let listed = summary::anomalies(report);
    let anomalies: Vec<Value> = listed
        .iter()
        .enumerate()
        .map(|(number, found)| summary::entry(number, found))
        .collect();
    let mut object = summary::short(report);
    object["lattice"] = lattice.svg(Shown::Within { anchor: "level" }).into();
    object["anomalies"] = anomalies.into();
    object["notes"] = report["notes"].clone();
    object["format"] = report["format"].clone();
    object["bank"] = report["bank"].clone();
    object["results"] = results(report);
    object
}

/// What was said to the database in a transaction, and the database's own numbers.
fn recorded(name: &str, details: &Details) -> Value {
    let ids = details.ids.iter().take(12);
    let ids = ids.map(|(what, id)| format!("{} {}", cut(what, 24), cut(id, 200)));
    let statements = details.statements.iter().take(STATEMENTS_MAX);
    let statements = statements.map(|text| cut(text, 240));
    json!({
        "txn": name,
        "place": details.place,
        "ids": ids.collect::<Vec<String>>(),
        "statements": statements.collect::<Vec<String>>(),
        "more": details.statements.len().saturating_sub(STATEMENTS_MAX),
    })
}

fn results(report: &Value) -> Value {
    let all = report["results"].as_array().into_iter().flatten();
    all.map(|result| {
        json!({
            "level": result["level"], "verdict": result["verdict"], "reason": result["reason"],
            "seconds": result["seconds"],
        })
    })
    .collect()
}

fn answer(report: &Value, level: Level) -> Option<Answer> {
    let results = report["results"].as_array()?;
    let found = results
        .iter()
        .find(|result| result["level"] == level.name())?;
    match found["verdict"].as_str()? {
        "holds" => Some(Answer::Holds),
        "violated" => Some(Answer::Violated),
        _ => Some(Answer::Unknown),
    }
}

/// An anomaly of a report with its history.
pub(crate) struct View {
    anomaly: Anomaly,
    picture: Picture,
    level: Option<Level>,
    holding: Vec<Level>,
}

impl View {
    /// The anomaly with this number.
    pub fn of(opened: &Opened, report: &Value, number: usize) -> Option<View> {
        let listed = summary::anomalies(report);
        let found = listed.get(number)?;
        let anomaly = restore(opened, found.anomaly)?;
        Some(View {
            picture: Picture::of(&opened.loaded.history, &anomaly),
            anomaly,
            level: found.levels.first().and_then(|name| name.parse().ok()),
            holding: summary::levels_with(report, "holds"),
        })
    }

    /// What the page shows.
    pub fn json(&self, opened: &Opened) -> Value {
        let history = &opened.loaded.history;
        let boxes = self.picture.boxes.iter();
        let txns: Vec<TxnId> = boxes.clone().filter_map(|txn| txn.txn).collect();
        let recording = opened.recording(&txns);
        let node = |txn: TxnId| recording.node(txn);
        let around = Surroundings {
            node: &node,
            faults: opened.faults(),
            nanoseconds: history.has_intervals(),
        };
        let recorded = boxes.filter_map(|txn| {
            let details = recording.details(history, txn.txn?);
            let is_known = !details.statements.is_empty() || !details.ids.is_empty();
            is_known.then(|| recorded(&txn.name, &details))
        });
        let lanes = Lanes::of(history, &self.picture, &around);
        let story = Story::of(
            history,
            &self.anomaly,
            &self.picture,
            self.level,
            &self.holding,
        );
        let lanes_svg = match lanes.is_empty() {
            true => Value::Null,
            false => lanes.svg(Shown::Within { anchor: "lane" }).into(),
        };
        let entry = encyclopedia::entry(self.anomaly.kind);
        json!({
            "kind": self.anomaly.kind.name(),
            "label": self.anomaly.kind.row().label,
            "count": self.anomaly.count,
            "level": self.level.map(Level::name),
            "explanation": self.anomaly.explanation,
            "graph": self.picture.svg(Shown::Within { anchor: "edge" }),
            "lanes": lanes_svg,
            "timed": lanes.is_timed(),
            "picture": self.picture.json(),
            "legend": self.legend(),
            "story": {
                "what": story.what, "happened": story.happened, "contradiction": story.contradiction,
                "remains": story.remains, "matters": story.matters,
            },
            "recorded": recorded.collect::<Vec<Value>>(),
            "what": entry.map(|entry| entry.what),
            "example": entry.map(|entry| entry.example.text()),
            "wrong": entry.map(|entry| entry.wrong),
            "prevented": entry.map_or(Vec::new(), |entry| {
                let settings = entry.remedy.settings().iter();
                settings.map(|one| json!({"engine": one.engine, "how": one.text})).collect()
            }),
        })
    }

    fn legend(&self) -> Value {
        let kinds = self.picture.kinds().into_iter();
        let kinds = kinds.map(|kind| json!({"name": kind.name(), "meaning": kind.meaning()}));
        let sure = self.picture.certainties().into_iter();
        let sure = sure.map(|how| json!({"name": how.name(), "meaning": how.meaning()}));
        json!({
            "boxes": self.picture.reading(),
            "kinds": kinds.collect::<Vec<_>>(),
            "certainties": sure.collect::<Vec<_>>(),
        })
    }

    /// The anomaly in another language: what to call the file, its type, its text.
    pub fn export(&self, format: &str) -> Option<(String, &'static str, String)> {
        let (ending, kind, text) = match format {
            "svg" => ("svg", "image/svg+xml", self.picture.svg(Shown::Alone)),
            "dot" => ("dot", "text/plain", self.picture.dot()),
            "mermaid" => ("mmd", "text/plain", self.picture.mermaid()),
            "tikz" => ("tex", "text/plain", self.picture.tikz()),
            "json" => ("json", "application/json", self.picture.json().to_string()),
            _ => return None,
        };
        Some((format!("{}.{ending}", self.anomaly.kind.name()), kind, text))
    }
}
