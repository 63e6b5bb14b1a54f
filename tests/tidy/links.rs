//! Links of Markdown files.

use super::source::{files, read, root};
use std::path::Path;

/// The text outside of code blocks and code spans.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second part between backquotes is code.
            out.extend(line.split('`').step_by(2));
        }
        out.push('\n');
    }
    out
}

/// The targets of `[text](target)` links.
fn targets(prose: &str) -> Vec<&str> {
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|target| target.split(' ').next().unwrap_or(""))
        .collect()
}

/// The anchors of a file's headings, by GitHub's rule.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut anchors: Vec<String> = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let same = anchors.iter().filter(|known| **known == slug).count();
        anchors.push(slug.clone());
        if same > 0 {
            anchors.push(format!("{slug}-{same}"));
        }
    }
    anchors
}

/// Every relative link that leads nowhere, as a sentence.
pub fn broken() -> Vec<String> {
    let mut broken = Vec::new();
    for path in files("md") {
        let text = read(&path);
        let prose = prose(&text);
        for target in targets(&prose) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = path.parent().unwrap_or(Path::new(""));
            let full = if file.is_empty() {
                root().join(&path)
            } else {
                root().join(folder).join(file)
            };
            let there = full.exists()
                && (anchor.is_empty()
                    || std::fs::read_to_string(&full)
                        .is_ok_and(|text| anchors(&text).iter().any(|known| known == anchor)));
            if !there {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    broken
}
