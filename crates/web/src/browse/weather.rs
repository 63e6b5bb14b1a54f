//! What was done to the servers during a run, from the events of its recording.

use report::Fault;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// So many events are looked at.
const EVENTS_MAX: usize = 10_000;
/// A line of an event is not longer.
const LINE_MAX: u64 = 4096;
const MARK: &[u8] = b"{\"event\":";

/// The faults of a recording; none where it is no recording.
pub(super) fn faults(path: &Path) -> Vec<Fault> {
    let is_recording = path.extension().is_some_and(|ending| ending == "jsonl");
    match std::fs::File::open(path) {
        Ok(file) if is_recording => read(BufReader::with_capacity(1 << 18, file)),
        _ => Vec::new(),
    }
}

fn read(mut reader: impl BufRead) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut line = Vec::new();
    let mut events = 0;
    while events < EVENTS_MAX {
        line.clear();
        match (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(count) if count > 0 => {}
            _ => break,
        }
        if line.starts_with(MARK) {
            events += 1;
            if let Ok(event) = serde_json::from_slice::<Value>(&line) {
                enter(&mut faults, &event);
            }
        }
        if line.last() != Some(&b'\n') && reader.skip_until(b'\n').is_err() {
            break;
        }
    }
    faults
}

fn enter(faults: &mut Vec<Fault>, event: &Value) {
    let (Some(what), Some(at)) = (event["event"].as_str(), event["at"].as_i64()) else {
        return;
    };
    let node = event["node"].as_u64();
    let node = node.map_or(String::new(), |node| format!("n{node}"));
    match event["text"].as_str() {
        Some("begins") => faults.push(Fault {
            name: format!("{what} {node}"),
            node,
            start: at,
            end: i64::MAX,
        }),
        Some("ends") => {
            let open = faults.iter_mut().rev().find(|fault| {
                fault.end == i64::MAX && fault.node == node && fault.name.starts_with(what)
            });
            if let Some(fault) = open {
                fault.end = at;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_lasts_from_its_beginning_to_its_end() {
        let long = "x".repeat(10_000);
        let text = format!(
            "{{\"isolde\":\"history\"}}\n{{\"event\":\"kill\",\"at\":5,\"node\":1,\"text\":\"begins\"}}\n\
             {long}\n{{\"event\":\"kill\",\"at\":9,\"node\":1,\"text\":\"ends\"}}\n\
             {{\"event\":\"pause\",\"at\":11,\"node\":0,\"text\":\"begins\"}}\n{{\"event\":"
        );
        let faults = read(text.as_bytes());
        assert_eq!(faults.len(), 2);
        assert_eq!((faults[0].start, faults[0].end), (5, 9));
        assert_eq!(faults[0].name, "kill n1");
        assert_eq!(faults[1].end, i64::MAX);
    }
}
