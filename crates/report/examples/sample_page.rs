//! Writes pages of made-up findings into a directory, to look at: `cargo run -p isolde-report --example
//! sample_page -- DIR`.

use checker::{Options, check};
use history::{Level, LevelResult};
use report::encyclopedia::entry;
use report::page::{Bars, Chart, Schedule, ScheduleTurn, Sequence, Series, Source, Text};
use report::{Context, Details, Fault, Page, Reproduce, Section, Shown, Surroundings, Tone};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "sample".to_string());
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for row in &history::ANOMALIES {
        let page = finding(row.kind);
        std::fs::write(folder.join(format!("{}.html", row.name)), page.html())?;
        for section in &page.sections {
            if let Section::Anomaly(view) = section {
                for (ending, content) in view.files() {
                    let name = format!("{}-{}.{ending}", row.name, view.kind);
                    std::fs::write(folder.join(name), content)?;
                }
            }
        }
    }
    std::fs::write(folder.join("model.html"), model().html())?;
    std::fs::write(folder.join("program.html"), program().html())
}

/// A protocol's counterexample: a chart drawn elsewhere, then the history and its anomaly.
fn model() -> Page {
    let mut page = finding(history::AnomalyKind::LongFork);
    page.title = "walter: 2 sites, 4 transactions".to_string();
    page.reproduce.command = "isolde model walter --replay counterexample.json".to_string();
    let svg = page.sections.iter().find_map(|section| match section {
        Section::Anomaly(view) => Some(view.lanes.svg(Shown::Alone)),
        _ => None,
    });
    let sequence = Sequence {
        title: "What the sites did".to_string(),
        alternative: "The messages between the sites, in order".to_string(),
        svg: svg.unwrap_or_default(),
    };
    page.sections.insert(0, Section::Sequence(sequence));
    page
}

fn finding(kind: history::AnomalyKind) -> Page {
    let example = entry(kind).expect("every kind has an entry").example;
    let history = example.history().expect("examples are readable");
    let levels: Vec<Level> = Level::all().collect();
    let answers = check(&history, &levels, &Options::default());
    let details = |txn| Details {
        statements: history
            .txn_ops(txn)
            .map(|(op, _)| {
                format!(
                    "update cells set value = … where key = …  -- {}",
                    history.op_text(op)
                )
            })
            .collect(),
        ids: vec![
            ("xid".to_string(), format!("{}", 740 + txn.0)),
            ("pid".to_string(), "4711".to_string()),
        ],
        place: format!("line {}", txn.0 + 2),
    };
    let node = |txn: history::TxnId| Some(format!("n{}", txn.0 % 3 + 1));
    let faults = [Fault {
        name: "partition n2".to_string(),
        node: "n2".to_string(),
        start: 1,
        end: 5,
    }];
    let around = Surroundings {
        node: &node,
        faults: &faults,
        nanoseconds: false,
    };
    let context = Context {
        around,
        details: &details,
        ..Context::default()
    };
    let results: Vec<&LevelResult> = answers.iter().map(|answer| &answer.result).collect();
    let mut page = Page::of_results(&format!("{kind}.jsonl"), &history, &results, &context);
    page.sections.push(charts());
    let rows = answers.iter().map(|answer| {
        (
            answer.result.level.to_string(),
            answer.seconds,
            String::new(),
        )
    });
    page.sections.push(Section::Bars(Bars {
        title: "How long the checks took".to_string(),
        rows: rows.collect(),
    }));
    page.reproduce = Reproduce {
        command: format!("isolde check {kind}.jsonl --report out"),
        version: "0.1.0".to_string(),
        seed: Some(42),
        notes: vec!["PostgreSQL 15.3".to_string()],
    };
    page
}

fn charts() -> Section {
    let wave = |scale: f64, shift: f64| -> Vec<(f64, f64)> {
        (0..600)
            .map(|at| {
                (
                    f64::from(at) / 10.0,
                    scale * (2.0 + (f64::from(at) / 40.0 + shift).sin()),
                )
            })
            .collect()
    };
    let line = |name: &str, points| Series {
        name: name.to_string(),
        points,
    };
    let faults = vec![
        (12.0, 18.0, "kill n2".to_string()),
        (40.0, 44.0, "partition".to_string()),
    ];
    let chart = |title: &str, unit: &str, series| Chart {
        title: title.to_string(),
        unit: unit.to_string(),
        series,
        faults: faults.clone(),
    };
    Section::Charts(vec![
        chart(
            "Transactions per second",
            "",
            vec![
                line("committed", wave(900.0, 0.0)),
                line("aborted", wave(90.0, 2.0)),
            ],
        ),
        chart(
            "Latency",
            " ms",
            vec![line("median", wave(1.0, 0.0)), line("99 %", wave(4.0, 1.0))],
        ),
        chart("Aborts", " %", vec![line("", wave(3.0, 0.5))]),
    ])
}

fn program() -> Page {
    let turn = |column, text: &str, result: &str| ScheduleTurn {
        column,
        text: text.to_string(),
        result: result.to_string(),
    };
    let source = "void withdraw(int id, int amount) {\n    int balance = query(\"select balance from account where id = ?\", id);\n    if (balance >= amount) {\n        update(\"update account set balance = ? where id = ?\", balance - amount, id);\n    }\n}";
    Page {
        title: "Bank.java".to_string(),
        verdict: Some((Tone::Bad, "not safe at read-committed".to_string())),
        lead: "Two withdrawals at the same time can lose one of them.".to_string(),
        sections: vec![
            Section::Source(Source {
                title: "Where".to_string(),
                file: "src/Bank.java".to_string(),
                first_line: 17,
                text: source.to_string(),
                marked: vec![(18, "reads account.balance".to_string()), (20, "overwrites what the other one read".to_string())],
            }),
            Section::Schedule(Schedule {
                title: "How it happens".to_string(),
                columns: vec!["withdraw(1, 30)".to_string(), "withdraw(1, 50)".to_string()],
                turns: vec![
                    turn(0, "begin", ""),
                    turn(1, "begin", ""),
                    turn(0, "select balance from account where id = 1", "80"),
                    turn(1, "select balance from account where id = 1", "80"),
                    turn(0, "update account set balance = 50 where id = 1", "1 row"),
                    turn(0, "commit", ""),
                    turn(1, "update account set balance = 30 where id = 1", "1 row"),
                    turn(1, "commit", ""),
                ],
            }),
            Section::Text(Text {
                title: "Replay".to_string(),
                paragraphs: vec!["Seen on PostgreSQL 15 at read committed: the balance is 30, and no serial order gives that.".to_string()],
                listing: String::new(),
            }),
        ],
        reproduce: Reproduce {
            command: "isolde program src --replay postgres".to_string(),
            version: "0.1.0".to_string(),
            ..Reproduce::default()
        },
        ..Page::default()
    }
}
