//! Pages: one file, harmless, small, and with everything in it.

use crate::support;

use checker::{Options, check};
use history::{AnomalyKind, Level};
use report::encyclopedia::{entries, entry};
use report::page::{Bars, Chart, Schedule, ScheduleTurn, Sequence, Series, Source, Table, Text};
use report::{
    AnomalyView, Answer, Context, Details, Fault, Lanes, Lattice, Page, Picture, Reproduce,
    Section, Shown, Story, Surroundings, Tone,
};
use support::{anomalies, ring, xml_problem};

/// The page as XML would have it: the void elements closed, the head left out.
fn body(html: &str) -> String {
    let at = html.find("<body>").expect("a body");
    let body = html[at..].replace("</html>", "");
    let mut out = String::new();
    let mut rest = body.as_str();
    while let Some(at) = rest.find("<img ") {
        let end = at + rest[at..].find('>').expect("an end");
        out.push_str(&rest[..end]);
        out.push_str("/>");
        rest = &rest[end + 1..];
    }
    (out + rest).replace("<br>", "<br/>")
}

/// No address that a browser would load, and no code beside the page's own.
fn assert_harmless(html: &str) {
    for (at, _) in html.match_indices("//") {
        let before = &html[..at];
        let is_address = before.ends_with("http:") || before.ends_with("https:");
        assert!(!is_address, "an address: {:.60}", &html[at..]);
    }
    assert_eq!(
        html.matches("<script").count(),
        1,
        "a script of somebody else"
    );
    assert_eq!(
        html.matches("<style").count(),
        1,
        "a style of somebody else"
    );
    for word in [
        " style=\"",
        " onclick=\"",
        " onload=\"",
        "<iframe",
        "<link",
        "<base",
        "@import",
        "url(",
    ] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src &#39;none&#39;"));
    assert_eq!(xml_problem(&body(html)), None);
}

fn view(text: &str) -> AnomalyView {
    let (history, anomaly) = ring(4, text);
    let faults = [Fault {
        name: format!("kill {text}"),
        node: text.to_string(),
        start: 2,
        end: 60,
    }];
    let details = |_| Details {
        statements: vec![format!("select * from t where k = '{text}'")],
        ids: vec![("xid".to_string(), text.to_string())],
        place: text.to_string(),
    };
    let node = |_| Some(text.to_string());
    let around = Surroundings {
        node: &node,
        faults: &faults,
        nanoseconds: true,
    };
    let context = Context {
        level: Some(Level::Serializable),
        holding: &[Level::ReadCommitted],
        around,
        details: &details,
    };
    AnomalyView::new(&history, &anomaly, &context)
}

/// A page with every kind of part, all of whose texts are this one.
fn everything(text: &str) -> Page {
    let own = || text.to_string();
    let turn = ScheduleTurn {
        column: 0,
        text: own(),
        result: own(),
    };
    let picture = view(text).picture;
    Page {
        title: own(),
        verdict: Some((Tone::Bad, own())),
        lead: own(),
        facts: vec![(own(), own())],
        sections: vec![
            Section::Lattice(Lattice::from_answers(&[(Level::Causal, Answer::Holds)])),
            Section::Anomaly(Box::new(view(text))),
            Section::Picture(own(), picture),
            Section::Charts(vec![Chart {
                title: own(),
                unit: own(),
                series: vec![Series {
                    name: own(),
                    points: vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)],
                }],
                faults: vec![(0.5, 1.0, own())],
            }]),
            Section::Bars(Bars {
                title: own(),
                rows: vec![(own(), 0.5, own())],
            }),
            Section::Source(Source {
                title: own(),
                file: own(),
                first_line: 3,
                text: own(),
                marked: vec![(3, own())],
            }),
            Section::Schedule(Schedule {
                title: own(),
                columns: vec![own()],
                turns: vec![turn],
            }),
            Section::Sequence(Sequence {
                title: own(),
                alternative: own(),
                svg: own(),
            }),
            Section::Table(Table {
                title: own(),
                head: vec![own()],
                rows: vec![vec![own()]],
            }),
            Section::Text(Text {
                title: own(),
                paragraphs: vec![own()],
                listing: own(),
            }),
            Section::Group(own(), vec![Section::Picture(own(), view(text).picture); 2]),
        ],
        reproduce: Reproduce {
            command: own(),
            version: own(),
            seed: Some(7),
            notes: vec![own()],
        },
    }
}

#[test]
fn nothing_in_a_history_gets_out_of_its_place() {
    let texts = [
        "<script>alert(1)</script>",
        "]]></style></script><img src=x onerror=alert(1)>",
        "\" onclick=\"alert(1)\" style=\"x",
        "' onmouseover='alert(1)",
        "line one\nline two\r\n\u{0}\u{8}\u{202e}",
        "javascript:alert(1)",
    ];
    for text in texts {
        let html = everything(text).html();
        assert_harmless(&html);
        assert!(!html.contains("<img src=x"));
        assert!(!html.contains("alert(1)</script>"));
        assert!(!html.contains('\u{202e}') && !html.contains('\u{0}'));
    }
}

#[test]
fn a_page_has_its_parts_and_how_to_see_it_again() {
    let html = everything("plain").html();
    assert_harmless(&html);
    for part in [
        "Why that cannot be",
        "When it happened",
        "select * from t",
        "xid plain",
        "violates serializable",
        "seed 7",
        "href=\"#p1-0\"",
        "id=\"p1-0\"",
        "kill plain",
        "G2-item",
        "read-committed",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn a_group_is_one_entry_of_the_index_and_empty_columns_are_left_out() {
    let words = |words: [&str; 3]| words.map(str::to_string).to_vec();
    let table = Section::Table(Table {
        title: "the table".to_string(),
        head: words(["first", "second", "third"]),
        rows: vec![words(["a", "", "c"]), words(["d", "", ""])],
    });
    let page = Page {
        sections: vec![Section::Group("the group".to_string(), vec![table])],
        ..Page::default()
    };
    let html = page.html();
    let (index, parts) = html.split_once("</nav>").expect("an index");
    assert!(index.contains("the group") && !index.contains("the table"));
    assert!(parts.contains("<h2>the group</h2>") && parts.contains("<h3>the table</h3>"));
    assert!(parts.contains("<th>first</th><th>third</th>"), "{parts}");
    assert_eq!(parts.matches("<td").count(), 4);
}

#[test]
fn every_link_leads_somewhere_and_no_name_is_given_twice() {
    let html = everything("plain").html();
    let names = |mark: &str| -> Vec<String> {
        let found = html
            .match_indices(mark)
            .map(|(at, _)| &html[at + mark.len()..]);
        found
            .map(|rest| rest.split('"').next().unwrap_or("").to_string())
            .collect()
    };
    let ids = names(" id=\"");
    for link in names("href=\"#") {
        assert_eq!(ids.iter().filter(|id| **id == link).count(), 1, "#{link}");
    }
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

#[test]
fn a_page_never_grows_beyond_a_megabyte() {
    let long = "<&\"'>".repeat(300);
    let mut page = everything(&long);
    let one = view(&long);
    page.sections
        .extend((0..3_000).map(|_| Section::Anomaly(Box::new(one.clone()))));
    let rows = vec![vec![long.clone(); 12]; 300];
    for _ in 0..12 {
        let table = Table {
            title: long.clone(),
            head: vec![long.clone(); 12],
            rows: rows.clone(),
        };
        page.sections.push(Section::Table(table));
        let svg = "x".repeat(300_000);
        page.sections.push(Section::Sequence(Sequence {
            svg,
            ..Sequence::default()
        }));
    }
    page.facts = vec![(long.clone(), long.clone()); 1_000];
    page.reproduce.notes = vec![long.clone(); 1_000];
    page.reproduce.command = long;
    let html = page.html();
    assert!(html.len() <= 1_000_000, "{} bytes", html.len());
    assert_harmless(&html);
    assert!(html.contains("(not drawn)"));
    assert!(html.contains("left out, because the page would be too large"));
}

#[test]
fn every_kind_of_anomaly_makes_a_page_that_tells_a_story() {
    for entry in entries() {
        let history = entry.example.history().expect("a readable example");
        let mut page = Page {
            title: entry.kind.name().to_string(),
            ..Page::default()
        };
        for (level, anomaly) in anomalies(&history) {
            let context = Context {
                level: Some(level),
                ..Context::default()
            };
            let view = AnomalyView::new(&history, &anomaly, &context);
            let story = &view.story;
            assert!(
                !story.happened.is_empty() && !story.contradiction.is_empty(),
                "{}",
                anomaly.kind
            );
            assert!(!story.matters.is_empty());
            assert!(
                story
                    .text(72)
                    .lines()
                    .all(|line| line.chars().count() <= 72)
            );
            for (ending, content) in view.files() {
                assert!(!content.is_empty(), "{ending}");
                if ending.ends_with("svg") {
                    assert_eq!(xml_problem(&content), None);
                }
            }
            page.sections.push(Section::Anomaly(Box::new(view)));
        }
        assert_harmless(&page.html());
    }
}

#[test]
fn lanes_show_who_ran_at_the_same_time() {
    let example = &entry(AnomalyKind::GSingleRealtime)
        .expect("an entry")
        .example;
    let history = example.history().expect("a readable example");
    let (_, anomaly) = anomalies(&history).remove(0);
    let picture = Picture::of(&history, &anomaly);
    let lanes = Lanes::of(&history, &picture, &Surroundings::default());
    assert!(lanes.is_timed());
    let svg = lanes.svg(Shown::Alone);
    assert!(svg.contains("session 1") && svg.contains("session 2"));
    let story = Story::of(
        &history,
        &anomaly,
        &picture,
        None,
        &[Level::StrongSessionSerializable],
    );
    assert!(story.remains.contains("strong-session-serializable"));
}

#[test]
fn a_chart_of_a_million_points_is_small_and_keeps_its_peaks() {
    let mut points: Vec<(f64, f64)> = (0..1_000_000)
        .map(|at| (f64::from(at) / 1000.0, 5.0))
        .collect();
    points[123_456].1 = 800.0;
    let series = vec![Series {
        name: String::new(),
        points,
    }];
    let chart = Chart {
        title: "rate".to_string(),
        series,
        ..Chart::default()
    };
    let svg = chart.svg(Shown::Alone);
    assert!(svg.len() < 30_000, "{} bytes", svg.len());
    assert_eq!(xml_problem(&svg), None);
    // The scale reaches up to the peak, and the line touches its top.
    assert!(svg.contains(">800<") && svg.contains(",12.0"));
}

#[test]
fn the_page_of_a_check_says_what_holds_and_what_does_not() {
    let example = &entry(AnomalyKind::WriteSkew).expect("an entry").example;
    let history = example.history().expect("a readable example");
    let levels: Vec<Level> = Level::all().collect();
    let answers = check(&history, &levels, &Options::default());
    let results: Vec<_> = answers.iter().map(|answer| &answer.result).collect();
    let page = Page::of_results("skew.txt", &history, &results, &Context::default());
    assert_eq!(
        page.verdict,
        Some((Tone::Bad, "violated: write-skew".to_string()))
    );
    assert!(
        page.lead.contains("strong-snapshot-isolation"),
        "{}",
        page.lead
    );
    let html = page.html();
    assert_harmless(&html);
    assert!(html.contains("violates serializable"));
    let weak = [results[0]];
    let page = Page::of_results("skew.txt", &history, &weak, &Context::default());
    assert_eq!(
        page.verdict,
        Some((Tone::Good, "holds: read-uncommitted".to_string()))
    );
}
