//! Verdicts as JUnit XML: a suite for each history, in it a test case for each level that was asked about.

use checker::Checked;
use history::{History, Verdict};
use std::fmt::Write;

/// The document of these suites.
pub fn document(suites: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

/// The suite of a file that could not be read.
pub fn unreadable(name: &str, problem: &str) -> String {
    let (name, problem) = (escape(name), escape(problem));
    format!(
        "<testsuite name=\"{name}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n  \
         <testcase classname=\"isolde\" name=\"read\">\n    <error message=\"{problem}\"/>\n  \
         </testcase>\n</testsuite>\n"
    )
}

/// A suite; `name` is the run in a few words, or the file.
pub fn suite<'a>(
    name: &str,
    answers: impl Iterator<Item = &'a Checked>,
    history: Option<&History>,
) -> String {
    let mut cases = String::new();
    let (mut count, mut failures, mut skipped) = (0, 0, 0);
    for answer in answers {
        count += 1;
        // Writing to a string cannot fail, so the results below carry nothing.
        let _ = write!(
            cases,
            "  <testcase classname=\"isolde\" name=\"{}\" time=\"{:.3}\"",
            answer.result.level, answer.seconds
        );
        match &answer.result.verdict {
            Verdict::Holds(_) => cases.push_str("/>\n"),
            Verdict::Unknown(reason) => {
                skipped += 1;
                let reason = escape(reason);
                let _ = write!(
                    cases,
                    ">\n    <skipped message=\"{reason}\"/>\n  </testcase>\n"
                );
            }
            Verdict::Violated(anomalies) => {
                failures += 1;
                let kinds: Vec<&str> = anomalies.iter().map(|found| found.kind.name()).collect();
                let _ = writeln!(
                    cases,
                    ">\n    <failure type=\"{}\" message=\"violated\">",
                    kinds.join(" ")
                );
                for anomaly in anomalies {
                    let _ = writeln!(cases, "{}: {}", anomaly.kind, escape(&anomaly.explanation));
                    let Some(history) = history else {
                        continue;
                    };
                    for &txn in anomaly.transactions.iter().take(12) {
                        let ops = history
                            .txn_ops(txn)
                            .map(|(id, _)| history.op_text_around(id, &[]));
                        let ops: Vec<String> = ops.collect();
                        let _ = writeln!(
                            cases,
                            "{} {}",
                            history.txn_name(txn),
                            escape(&ops.join(" "))
                        );
                    }
                }
                cases.push_str("    </failure>\n  </testcase>\n");
            }
        }
    }
    format!(
        "<testsuite name=\"{}\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n{cases}</testsuite>\n",
        escape(name)
    )
}

/// A text as XML has it, without the letters that XML has no way to say.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            other if u32::from(other) < 0x20 => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
