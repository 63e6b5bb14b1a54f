//! The page about the anomalies of a program: source lines, turns, dependencies, replays.

use super::beyond::Beyond;
use super::play::Outcome;
use super::sources::{Sources, Text as SourceText};
use crate::exit::Failure;
use crate::output;
use crate::report::page::{reproduce, write_files};
use crate::report::program::{counted, edge_text, rows_text, title};
use program::analysis::{Analysis, Anomaly};
use program::{
    Edge, EdgeKind, How, Program, Scenario, ShownStep, instance_name, instance_text, play,
    shown_steps,
};
use report::page::{Schedule, ScheduleTurn, Section, Source, Table, Text};
use report::picture::{Arrow, ArrowKind, Certainty, Line, Picture, Role, TxnBox};
use report::{Page, Tone, encyclopedia};
use std::collections::HashMap;

/// Kinds of anomalies beyond this are counted.
const SHOWN_MAX: usize = 40;
/// Lines shown before and after one that matters.
const AROUND: usize = 3;

/// Writes `index.html`.
pub fn write(
    directory: &str,
    read: &Sources,
    analysis: &Analysis,
    played: &[Vec<Outcome>],
    scope: String,
    beyond: &Beyond,
) -> Result<(), Failure> {
    let program = &read.program;
    let kinds = kinds(program, analysis);
    let mut sections = Vec::new();
    for kind in kinds.iter().take(SHOWN_MAX) {
        let anomaly = &analysis.anomalies[kind.first];
        if let Some(scenario) = anomaly.scenario() {
            let parts = anomaly_sections(read, anomaly, scenario, &played[kind.first]);
            let times = match kind.count {
                1 => String::new(),
                count => format!(" (× {count}, one is shown)"),
            };
            let head = format!("{}. {}{times}", kind.first + 1, kind.title);
            sections.push(Section::Group(head, parts));
        }
    }
    let count = analysis.anomalies.len();
    let mut searched = vec![scope];
    if let Some(more @ 1..) = kinds.len().checked_sub(SHOWN_MAX) {
        let more = counted(more, "more kind", "more kinds");
        searched.push(format!("{more} of anomalies not shown."));
    }
    sections.extend(beyond_section(program, beyond));
    sections.push(Section::Text(Text {
        title: "What was searched".to_string(),
        paragraphs: searched,
        listing: String::new(),
    }));
    let verdict = match (count, analysis.scope.decided) {
        (0, _) if beyond.refutes() => (Tone::Bad, "Not robust".to_string()),
        (0, decided) if decided || beyond.proves() => (Tone::Good, "No anomaly".to_string()),
        (0, _) => (
            Tone::Unsure,
            "No anomaly found, but not all is decided".to_string(),
        ),
        (count, _) => (Tone::Bad, counted(count, "anomaly", "anomalies")),
    };
    let names: Vec<&str> = read.files.iter().map(|file| file.name.as_str()).collect();
    let page = Page {
        title: names.join(" "),
        verdict: Some(verdict),
        lead: lead(count, kinds.len()),
        facts: vec![
            (
                "transactions".to_string(),
                program.transactions.len().to_string(),
            ),
            (
                "tables".to_string(),
                program.schema.tables.len().to_string(),
            ),
        ],
        sections,
        reproduce: reproduce(None),
    };
    write_files(directory, &[("index.html".to_string(), page.html())])
}

/// Whether it is safe where nothing was found.
fn beyond_section(program: &Program, beyond: &Beyond) -> Option<Section> {
    let listing = output::without_colours(&beyond.text(program));
    let text = Text {
        title: "Where nothing was found".to_string(),
        paragraphs: Vec::new(),
        listing,
    };
    (!text.listing.is_empty()).then_some(Section::Text(text))
}

/// Anomalies of the same name and transactions.
struct Alike {
    title: String,
    /// The first of them, which is shown.
    first: usize,
    count: usize,
}

fn kinds(program: &Program, analysis: &Analysis) -> Vec<Alike> {
    let mut kinds: Vec<Alike> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (first, anomaly) in analysis.anomalies.iter().enumerate() {
        let title = title(program, anomaly);
        match places.get(&title) {
            Some(&place) => kinds[place].count += 1,
            None => {
                places.insert(title.clone(), kinds.len());
                kinds.push(Alike {
                    title,
                    first,
                    count: 1,
                });
            }
        }
    }
    kinds
}

/// What the verdict means.
fn lead(count: usize, kinds: usize) -> String {
    match count {
        0 => "However these transactions overlap, within what was searched, they do what they would do one \
              after another."
            .to_string(),
        _ => format!(
            "If these transactions run at the same time, they can do what they could never do one after \
             another: {} of {}. Each is shown by an example: who does what and when, what depends on \
             what, and which lines of the program it goes through.",
            counted(count, "anomaly", "anomalies"),
            counted(kinds, "kind", "kinds")
        ),
    }
}

fn anomaly_sections(
    read: &Sources,
    anomaly: &Anomaly,
    scenario: &Scenario,
    outcomes: &[Outcome],
) -> Vec<Section> {
    let program = &read.program;
    let Ok(played) = play(program, scenario, How::Given) else {
        return Vec::new();
    };
    let steps = shown_steps(program, scenario, &played);
    let edges: Vec<&Edge> = anomaly
        .edges
        .iter()
        .filter(|e| e.kind != EdgeKind::Sibling)
        .collect();
    let known = encyclopedia::find(&anomaly.kind.to_string()).and_then(encyclopedia::entry);
    let known = known.into_iter();
    let mut paragraphs: Vec<String> = known
        .flat_map(|entry| [entry.what.to_string(), entry.matters.to_string()])
        .collect();
    let levels: Vec<&str> = anomaly.levels().iter().map(|level| level.name()).collect();
    if !levels.is_empty() {
        paragraphs.push(format!("It can happen at {}.", levels.join(", ")));
    }
    paragraphs.push(format!(
        "Rows before: {}",
        rows_text(program, &scenario.rows)
    ));
    paragraphs.push(format!("Rows after: {}", rows_text(program, &played.rows)));
    paragraphs.extend(
        edges
            .iter()
            .map(|edge| format!("{}.", edge_text(program, edge))),
    );
    paragraphs.push("Together these are a circle: no serial order does the same.".to_string());
    let mut sections = vec![
        Section::Text(Text {
            title: String::new(),
            paragraphs,
            listing: String::new(),
        }),
        Section::Schedule(schedule(program, scenario, &steps)),
        Section::Picture(
            "Dependencies".to_string(),
            picture(program, scenario, &steps, &edges),
        ),
    ];
    sections.extend(source_sections(&read.files, anomaly));
    if !outcomes.is_empty() {
        let row = |outcome: &Outcome| {
            vec![
                outcome.place.clone(),
                outcome.level.clone(),
                outcome.verdict.to_string(),
                outcome.predicted.unwrap_or("").to_string(),
            ]
        };
        sections.push(Section::Table(Table {
            title: "Played".to_string(),
            head: ["on", "isolation", "outcome", "predicted"]
                .map(str::to_string)
                .to_vec(),
            rows: outcomes.iter().map(row).collect(),
        }));
    }
    sections
}

fn schedule(program: &Program, scenario: &Scenario, steps: &[ShownStep]) -> Schedule {
    let columns = scenario.instances.iter().enumerate();
    let columns = columns.map(|(at, instance)| {
        format!(
            "{}: {}",
            instance_name(at),
            instance_text(program, instance)
        )
    });
    let turn = |step: &ShownStep| ScheduleTurn {
        column: step.instance,
        text: step.text.clone(),
        result: step.result.clone().unwrap_or_default(),
    };
    Schedule {
        title: "What happens".to_string(),
        columns: columns.collect(),
        turns: steps.iter().map(turn).collect(),
    }
}

/// The dependencies of an anomaly between the instances of its scenario.
pub fn picture(
    program: &Program,
    scenario: &Scenario,
    steps: &[ShownStep],
    edges: &[&Edge],
) -> Picture {
    let matters = |step: &ShownStep| {
        let at = |instance: usize, statement: u32| {
            step.instance == instance && step.statement == Some(statement)
        };
        edges.iter().any(|edge| {
            at(edge.from.instance, edge.from.statement) || at(edge.to.instance, edge.to.statement)
        })
    };
    let boxes = scenario.instances.iter().enumerate().map(|(at, instance)| {
        let own = steps
            .iter()
            .filter(|step| step.instance == at && step.statement.is_some());
        let line = |step: &ShownStep| Line {
            op: None,
            text: step.text.clone(),
            matters: matters(step),
        };
        TxnBox {
            name: instance_name(at),
            note: program.transactions[instance.transaction].name.clone(),
            lines: own.map(line).collect(),
            ..TxnBox::default()
        }
    });
    let arrow = |edge: &&Edge| Arrow {
        from: edge.from.instance,
        to: edge.to.instance,
        kind: match edge.kind {
            EdgeKind::WriteRead => ArrowKind::Of(history::EdgeKind::Wr),
            EdgeKind::WriteWrite => ArrowKind::Of(history::EdgeKind::Ww),
            EdgeKind::ReadWrite => ArrowKind::Of(history::EdgeKind::Rw),
            EdgeKind::Sibling => ArrowKind::Sibling,
        },
        key: edge.table.map_or(String::new(), |id| {
            program.schema.table_name(id).to_string()
        }),
        certainty: Certainty::Seen,
        role: Role::Circle,
        reason: edge_text(program, edge),
        operations: Vec::new(),
    };
    Picture {
        title: "Dependencies".to_string(),
        boxes: boxes.collect(),
        arrows: edges.iter().map(arrow).collect(),
        left_out: 0,
    }
}

/// The lines of the sources that the cycle goes through, a part for each file.
fn source_sections(files: &[SourceText], anomaly: &Anomaly) -> Vec<Section> {
    let mut sections = Vec::new();
    for file in files {
        let sites = anomaly
            .sites
            .iter()
            .filter(|site| *site.place.file == *file.name);
        let marked: Vec<(usize, String)> = sites
            .map(|site| (site.place.line as usize, instance_name(site.point.instance)))
            .collect();
        let (Some(first), Some(last)) = (
            marked.iter().map(|(line, _)| *line).min(),
            marked.iter().map(|(line, _)| *line).max(),
        ) else {
            continue;
        };
        let first = first.saturating_sub(AROUND).max(1);
        let lines = file
            .text
            .lines()
            .skip(first - 1)
            .take(last + AROUND + 1 - first);
        sections.push(Section::Source(Source {
            title: "Where".to_string(),
            file: file.name.clone(),
            first_line: first,
            text: lines.collect::<Vec<_>>().join("\n"),
            marked,
        }));
    }
    sections
}
