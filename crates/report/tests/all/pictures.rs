//! Pictures of anomalies: laid out without overlaps, and harmless whatever keys and values are.

use crate::support;

use history::Status;
use report::encyclopedia::entries;
use report::picture::layout::{Layout, Rect, layout};
use report::picture::{Certainty, Role, TxnBox};
use report::{Lanes, Picture, Shown, Surroundings, TextStyle};
use support::{anomalies, ring, xml_problem};

/// What a history may hold to hurt its readers.
const HOSTILE: [&str; 9] = [
    "<script>alert(1)</script>",
    "]]><svg onload=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' -- \\ \\N \\end{document} $x^2_3$ %",
    "a\nb\tc\u{0}\u{1b}[31m",
    "\u{202e}desrever\u{2066}",
    "&lt;b&gt; &amp; #quot; `x`",
    "t0[\"]; click t0 \"javascript:alert(1)\"",
    "日本語 ключ 🙂",
];

fn overlap(layout: &Layout) -> Option<String> {
    let rects: Vec<_> = layout.boxes.iter().chain(&layout.labels).collect();
    for (place, one) in rects.iter().enumerate() {
        for other in &rects[place + 1..] {
            if one.is_near(other, 0.0) {
                return Some(format!("{one:?} and {other:?}"));
            }
        }
        let is_inside = one.x >= 0.0
            && one.y >= 0.0
            && one.x + one.width <= layout.width
            && one.y + one.height <= layout.height;
        if !is_inside {
            return Some(format!("{one:?} sticks out"));
        }
    }
    None
}

/// An arrow that runs through a box which it neither leaves nor reaches.
fn crossing(picture: &Picture, layout: &Layout) -> Option<String> {
    for (arrow, curve) in picture.arrows.iter().zip(&layout.curves) {
        let mut from = curve.start;
        for [one, two, end] in &curve.pieces {
            for step in 0..=20 {
                let t = f64::from(step) / 20.0;
                let at = |a: f64, b: f64, c: f64, d: f64| {
                    let u = 1.0 - t;
                    a * u * u * u + 3.0 * b * u * u * t + 3.0 * c * u * t * t + d * t * t * t
                };
                let (x, y) = (
                    at(from.x, one.x, two.x, end.x),
                    at(from.y, one.y, two.y, end.y),
                );
                let is_inside = |rect: &Rect| {
                    let (right, lower) = (rect.x + rect.width, rect.y + rect.height);
                    x > rect.x + 1.0 && x < right - 1.0 && y > rect.y + 1.0 && y < lower - 1.0
                };
                if let Some(place) = layout.boxes.iter().position(is_inside) {
                    return Some(format!(
                        "{} through {}",
                        arrow.label(),
                        picture.boxes[place].name
                    ));
                }
            }
            from = *end;
        }
    }
    None
}

#[test]
fn circles_of_every_length_are_laid_out_without_overlaps() {
    for count in 2..=12 {
        for text in ["k", "a-rather-long-name-of-a-key/"] {
            let (history, anomaly) = ring(count, text);
            let picture = Picture::of(&history, &anomaly);
            assert_eq!((picture.boxes.len(), picture.arrows.len()), (count, count));
            assert_eq!(picture.circle().map(|order| order.len()), Some(count));
            let drawn = layout(&picture);
            assert_eq!(overlap(&drawn), None, "{count} boxes of {text}");
            assert_eq!(crossing(&picture, &drawn), None, "{count} boxes of {text}");
        }
    }
}

#[test]
fn the_evidence_of_every_kind_is_laid_out_without_overlaps() {
    for entry in entries() {
        let history = entry.example.history().expect("a readable example");
        for (_, anomaly) in anomalies(&history) {
            let picture = Picture::of(&history, &anomaly);
            assert!(!picture.boxes.is_empty(), "{}", anomaly.kind);
            let drawn = layout(&picture);
            let names = format!("{} of {}", anomaly.kind, entry.kind);
            assert_eq!(overlap(&drawn), None, "{names}");
            assert_eq!(crossing(&picture, &drawn), None, "{names}");
            for arrow in &picture.arrows {
                assert!(
                    arrow.reason.ends_with('.'),
                    "{}: {}",
                    anomaly.kind,
                    arrow.reason
                );
            }
        }
    }
}

#[test]
fn supporting_arrows_are_drawn_in_layers_without_overlaps() {
    let (history, mut anomaly) = ring(9, "key");
    let (_, other) = ring(9, "key");
    // Other circles: the same transactions in steps of two and four.
    for step in [2, 4] {
        let mut edges = other.edges.clone();
        for (place, edge) in edges.iter_mut().enumerate() {
            edge.from = history::TxnId((place * step % 9) as u32);
            edge.to = history::TxnId(((place + 1) * step % 9) as u32);
            (edge.from_op, edge.to_op) = (None, None);
        }
        anomaly.otherwise.push(edges);
    }
    let picture = Picture::of(&history, &anomaly);
    let support = picture
        .arrows
        .iter()
        .filter(|arrow| arrow.role == Role::Support);
    assert!(support.count() > 9);
    assert_eq!(overlap(&layout(&picture)), None);
    assert_eq!(crossing(&picture, &layout(&picture)), None);
    assert!(
        picture
            .arrows
            .iter()
            .any(|arrow| arrow.certainty == Certainty::Assumed)
    );
}

#[test]
fn a_long_circle_is_cut_and_counted() {
    let (history, anomaly) = ring(100_012, "k");
    let picture = Picture::of(&history, &anomaly);
    assert_eq!(picture.boxes.len(), 12);
    assert_eq!(picture.left_out, 100_000);
    assert_eq!(overlap(&layout(&picture)), None);
    assert!(
        picture
            .text(TextStyle::default())
            .contains("100000 more transactions")
    );
}

#[test]
fn every_drawing_is_well_formed_whatever_is_in_the_history() {
    for text in HOSTILE {
        for count in [2, 3, 10] {
            let (history, anomaly) = ring(count, text);
            let picture = Picture::of(&history, &anomaly);
            let lanes = Lanes::of(&history, &picture, &Surroundings::default());
            for shown in [Shown::Alone, Shown::Within { anchor: "p1" }] {
                for svg in [picture.svg(shown), lanes.svg(shown)] {
                    assert_eq!(xml_problem(&svg), None, "{text:?}");
                    assert!(
                        !svg.contains("<script") && !svg.contains("onload=alert(1)>"),
                        "{text:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn other_languages_get_their_own_escapes() {
    for text in HOSTILE {
        let (history, anomaly) = ring(3, text);
        let picture = Picture::of(&history, &anomaly);
        let dot = picture.dot();
        for line in dot.lines() {
            let unescaped = line.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(unescaped.matches('"').count() % 2, 0, "{line}");
        }
        let mermaid = picture.mermaid();
        assert_eq!(mermaid.lines().count(), 1 + 3 + 3 + 3, "{mermaid}");
        assert!(
            mermaid
                .lines()
                .all(|line| line.matches('"').count() % 2 == 0),
            "{mermaid}"
        );
        let tex = picture.tikz();
        assert!(tex.is_ascii(), "{tex}");
        assert_eq!(tex.matches("\\end{document}").count(), 1, "{tex}");
        let plain = tex.replace("\\{", "").replace("\\}", "");
        assert_eq!(plain.matches('{').count(), plain.matches('}').count());
        let unescaped = |sign: char| {
            let body = tex.split_once('\n').expect("more than one line").1;
            body.char_indices()
                .any(|(at, letter)| letter == sign && !body[..at].ends_with('\\'))
        };
        assert!("$&#%_^~".chars().all(|sign| !unescaped(sign)), "{tex}");
        assert_eq!(picture.json()["arrows"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn long_values_are_cut_everywhere() {
    let (history, anomaly) = ring(2, &"very long ".repeat(100_000));
    let picture = Picture::of(&history, &anomaly);
    assert!(picture.svg(Shown::Alone).len() < 20_000);
    assert!(picture.text(TextStyle::default()).len() < 5_000);
    assert!(picture.json().to_string().len() < 5_000);
}

#[test]
fn text_keeps_to_its_width_and_to_ascii() {
    for text in HOSTILE {
        for width in [30, 60, 100] {
            let (history, anomaly) = ring(4, text);
            let picture = Picture::of(&history, &anomaly);
            for ascii in [false, true] {
                let drawn = picture.text(TextStyle { width, ascii });
                for line in drawn.lines() {
                    assert!(report::escape::columns(line) <= width, "{width}: {line}");
                }
                assert!(!ascii || drawn.is_ascii());
            }
        }
    }
}

#[test]
fn colours_add_nothing_but_escape_sequences() {
    for text in HOSTILE.into_iter().chain(["\u{e000}\u{e005} private"]) {
        let (history, anomaly) = ring(3, text);
        let picture = Picture::of(&history, &anomaly);
        let style = TextStyle::default();
        let (plain, coloured) = (picture.text(style), picture.coloured_text(style));
        assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[35m"));
        let mut rest = coloured.as_str();
        let mut stripped = String::new();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            stripped.push_str(before);
            rest = after.split_once('m').expect("an end").1;
        }
        assert_eq!(stripped + rest, plain, "{text:?}");
    }
}

#[test]
fn a_lost_update_is_told_by_two_arrows_and_their_reasons() {
    let entry = report::encyclopedia::entry(history::AnomalyKind::LostUpdate).expect("an entry");
    let history = entry.example.history().expect("a readable example");
    let found = anomalies(&history);
    let (_, lost) = found
        .iter()
        .find(|(_, anomaly)| anomaly.kind == history::AnomalyKind::LostUpdate)
        .expect("a lost update");
    let picture = Picture::of(&history, lost);
    assert_eq!(
        picture.circle().map(|order| order.len()),
        Some(2),
        "{picture:?}"
    );
    let text = picture.text(TextStyle {
        width: 76,
        ascii: true,
    });
    for part in ["r(x, 0)", "w(x, 1)", "w(x, 2)", "rw x"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn transactions_that_did_not_commit_are_marked() {
    let entry = report::encyclopedia::entry(history::AnomalyKind::AbortedRead).expect("an entry");
    let history = entry.example.history().expect("a readable example");
    let (_, anomaly) = anomalies(&history).remove(0);
    let picture = Picture::of(&history, &anomaly);
    let aborted = picture
        .boxes
        .iter()
        .find(|txn| txn.is_doubtful)
        .expect("the aborted writer");
    assert_eq!(
        aborted.txn.map(|txn| history.status(txn)),
        Some(Status::Aborted)
    );
    assert!(aborted.note.contains("aborted"));
    assert_eq!(picture.arrows.len(), 1);
}

#[test]
fn a_sketch_shows_every_transaction_of_a_circle_and_the_way_back() {
    let (history, anomaly) = ring(3, "x");
    let picture = Picture::of(&history, &anomaly);
    let beside = |txn: &TxnBox, _: bool| txn.name.clone();
    let style = TextStyle {
        width: 40,
        ascii: true,
    };
    let drawn = picture.sketch(style, false, &beside);
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[0].starts_with("+> "), "{drawn}");
    assert_eq!(lines.last(), Some(&"+---+"), "{drawn}");
    for txn in &picture.boxes {
        assert!(drawn.contains(&txn.name), "{} in\n{drawn}", txn.name);
    }
    assert_eq!(lines.iter().filter(|line| line.ends_with('v')).count(), 2);
    let coloured = picture.sketch(style, true, &beside);
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
}

#[test]
fn a_sketch_keeps_to_its_width_and_counts_what_it_leaves_out() {
    let beside = |txn: &TxnBox, _: bool| txn.name.clone();
    for text in HOSTILE {
        for count in [2, 5, 40] {
            let (history, anomaly) = ring(count, text);
            let picture = Picture::of(&history, &anomaly);
            for width in [40, 80] {
                let style = TextStyle {
                    width,
                    ascii: false,
                };
                let drawn = picture.sketch(style, false, &beside);
                for line in drawn.lines() {
                    assert!(report::escape::columns(line) <= width, "{width}: {line}");
                }
                assert!(!drawn.contains('\u{1b}'), "{drawn}");
                let more = format!("… and {} more", picture.left_out);
                assert_eq!(drawn.contains(&more), count == 40, "{drawn}");
            }
        }
    }
}
