//! A run as a page of its own: what is wrong, the chart, the history, the setup, how to see it again.

use super::svg::{escape, svg};
use super::{Run, text};
use crate::log::Status;
use crate::setup::shape;
use std::fmt::Write;

/// What a page says besides the run.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// What is wrong, in a few words: the name of an anomaly.
    pub finding: String,
    /// Why, in sentences.
    pub explanation: String,
    /// The command that replays it.
    pub command: String,
}

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;\
padding:0 1rem;background:light-dark(#fff,#15181c);color:light-dark(#1c2024,#e6e8eb)}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}\
td,th{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid light-dark(#d5dae0,#3a424b);\
vertical-align:top}code,pre{font:13px ui-monospace,Menlo,Consolas,monospace}\
.finding{color:light-dark(#c62828,#ff7b72);font-weight:bold}.scroll{overflow-x:auto}";

/// The page; it loads nothing from anywhere.
pub fn html(run: &Run, page: &Page) -> String {
    let mut out = String::new();
    let title = escape(&page.title);
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    let _ = write!(
        out,
        "<p class=\"finding\">{}</p>\n<p>{}</p>\n<h2>What happened</h2>\n\
         <p>Time goes down. A line leads from where a message is sent to where it arrives. A version is \
         named by a number and the site that made it.</p>\n<div class=\"scroll\">{}</div>\n",
        escape(&page.finding),
        escape(&page.explanation),
        svg(run)
    );
    let _ = write!(out, "<h2>What the clients saw</h2>\n{}", history(run));
    let _ = write!(
        out,
        "<h2>The setup</h2>\n<p><code>{}</code></p>\n<h2>In letters</h2>\n<pre class=\"scroll\">{}</pre>\n",
        escape(&run.setup.to_string()),
        escape(&text(run))
    );
    if !page.command.is_empty() {
        let command = escape(&page.command);
        let _ = write!(out, "<h2>Again</h2>\n<pre>{command}</pre>\n");
    }
    out + "</body></html>\n"
}

fn history(run: &Run) -> String {
    let mut out = "<table><tr><th>transaction</th><th>at</th><th>does</th><th>reads</th>\
                   <th>writes</th><th>outcome</th></tr>\n"
        .to_string();
    for txn in run.setup.txns() {
        let record = run.log.record(txn);
        let list = |items: &[(crate::Key, crate::Version)]| {
            let items: Vec<String> = items
                .iter()
                .map(|(key, version)| {
                    let writer = super::words::writer(&run.log, *key, *version);
                    let writer = writer.filter(|writer| *writer != txn);
                    format!("{key}: {}", super::words::version(*version, writer))
                })
                .collect();
            escape(&items.join(", "))
        };
        let outcome = match record.status {
            Status::Waiting => "never started",
            Status::Running => "never got an answer",
            Status::Committed => "committed",
            Status::Aborted => "aborted",
        };
        let _ = writeln!(
            out,
            "<tr><td>{txn}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{outcome}</td></tr>",
            run.setup.proxy(txn),
            shape(run.setup.ops(txn)),
            list(&record.reads),
            list(&record.writes)
        );
    }
    out + "</table>\n"
}
