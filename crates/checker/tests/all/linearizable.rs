//! Calls on one object: the checker against all orders of a few calls.

use checker::{CONFIGURATIONS_MAX, Linearizability, check_linearizable};
use history::format::calls::{Action, Call, Calls, read};
use history::format::{Format, Source};

/// The state after a call, by the object's definition.
fn after(state: u32, action: Action) -> Option<u32> {
    match action {
        Action::Read(value) if value == state => Some(state),
        Action::Write(value) => Some(value),
        Action::Cas(old, new) if old == state => Some(new),
        Action::Acquire if state == 0 => Some(1),
        Action::Release if state == 1 => Some(0),
        _ => None,
    }
}

/// Whether some order of the calls explains them; those without an answer may be left out.
fn has_order(calls: &[Call], placed: &mut Vec<usize>, state: u32) -> bool {
    let is_open = |number: &usize| !placed.contains(number);
    let open: Vec<usize> = (0..calls.len()).filter(is_open).collect();
    if open.iter().all(|&number| calls[number].answered.is_none()) {
        return true;
    }
    for &next in &open {
        let precedes = |&other: &usize| {
            let answered = calls[other].answered;
            other != next && answered.is_some_and(|answered| answered < calls[next].invoked)
        };
        if open.iter().any(precedes) {
            continue;
        }
        if let Some(state) = after(state, calls[next].action) {
            placed.push(next);
            let found = has_order(calls, placed, state);
            placed.pop();
            if found {
                return true;
            }
        }
    }
    false
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Up to three processes with up to seven calls; one in five is not answered.
fn random_calls(seed: u64, is_mutex: bool) -> Calls {
    let mut random = Random(seed);
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<Option<usize>> = vec![None; 3];
    let mut process_numbers = [0, 1, 2];
    let event_count = 8 + random.below(7);
    for place in 0..event_count {
        let slot = random.below(3) as usize;
        match open[slot].take() {
            Some(number) => match random.below(5) {
                0 => process_numbers[slot] += 3,
                _ => calls[number].answered = Some(place),
            },
            None => {
                let mut value = || 1 + random.below(2) as u32;
                let (one, other) = (value(), value());
                let action = match (is_mutex, random.below(3)) {
                    (true, 0) => Action::Release,
                    (true, _) => Action::Acquire,
                    (false, 0) => Action::Read(one),
                    (false, 1) => Action::Write(one),
                    (false, _) => Action::Cas(one, other),
                };
                open[slot] = Some(calls.len());
                calls.push(Call {
                    index: place,
                    process: process_numbers[slot],
                    action,
                    invoked: place,
                    answered: None,
                });
            }
        }
    }
    // A read without an answer says nothing; readers of files leave it out.
    calls.retain(|call| call.answered.is_some() || !matches!(call.action, Action::Read(_)));
    let values = ["nil", "1", "2"].map(Box::from).to_vec();
    Calls { calls, values }
}

#[test]
fn agrees_with_all_orders_of_a_few_calls() {
    let mut counts = [0; 2];
    for seed in 0..4000 {
        let calls = random_calls(seed, seed % 4 == 0);
        let expected = has_order(&calls.calls, &mut Vec::new(), 0);
        let found = check_linearizable(&calls, CONFIGURATIONS_MAX);
        let holds = found == Linearizability::Holds;
        assert_eq!(holds, expected, "{seed}: {:?}: {found:?}", calls.calls);
        assert!(!matches!(found, Linearizability::Unknown(_)));
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 400), "{counts:?}");
}

/// Lines `process type f value`.
fn answer(lines: &str) -> Linearizability {
    answer_within(lines, CONFIGURATIONS_MAX)
}

fn answer_within(lines: &str, configurations_max: usize) -> Linearizability {
    let mut text = String::new();
    for line in lines.split(';') {
        let mut words = line.trim().splitn(4, ' ');
        let mut word = || words.next().unwrap_or("nil").to_string();
        let (process, phase, f, value) = (word(), word(), word(), word());
        text.push_str(&format!(
            "{{:process {process} :type :{phase} :f :{f} :value {value}}}\n"
        ));
    }
    let bytes = text.as_bytes();
    let source = Source {
        name: "test",
        bytes,
    };
    let calls = read(source, Some(Format::JepsenEdn), &mut Vec::new()).expect("calls");
    check_linearizable(&calls, configurations_max)
}

#[test]
fn the_answer_that_fits_nothing_is_named() {
    let stale = "0 invoke write 1; 0 ok write 1; 1 invoke write 2; 1 ok write 2; \
                 0 invoke read; 0 ok read 1";
    let Linearizability::Violated { index, reason } = answer(stale) else {
        panic!("a stale read is not linearizable");
    };
    assert_eq!(index, 4);
    assert!(
        reason.contains("process 0 read 1") && reason.contains("was 2"),
        "{reason}"
    );
    let twice = "0 invoke acquire; 0 ok acquire; 1 invoke acquire; 1 ok acquire";
    assert!(matches!(
        answer(twice),
        Linearizability::Violated { index: 2, .. }
    ));
}

#[test]
fn what_failed_did_nothing_and_what_is_unknown_may_have_done_it() {
    let failed = "0 invoke cas [nil 1]; 0 fail cas [nil 1]; 1 invoke read; 1 ok read 1";
    assert!(matches!(answer(failed), Linearizability::Violated { .. }));
    let unknown = "0 invoke cas [nil 1]; 0 info cas [nil 1]; 1 invoke read; 1 ok read 1; \
                   1 invoke read; 1 ok read nil";
    assert_eq!(answer(unknown), Linearizability::Holds);
}

/// Two thousand processes that crashed while they wrote.
#[test]
fn crashed_calls_are_told_apart_by_what_they_ask_for() {
    let mut lines = String::new();
    for number in 0..1000 {
        for (process, value) in [(2 * number + 1, number % 2), (2 * number + 2, 7)] {
            lines.push_str(&format!("{process} invoke write {value};"));
            lines.push_str(&format!("{process} info write {value};"));
        }
        lines.push_str(&format!("0 invoke read;0 ok read {};", number % 2));
    }
    assert_eq!(answer(lines.trim_end_matches(';')), Linearizability::Holds);
}

#[test]
fn too_many_orders_are_unknown() {
    let mut lines: Vec<String> = (1..9).map(|p| format!("{p} invoke write {p}")).collect();
    lines.extend(["9 invoke read".to_string(), "9 ok read 5".to_string()]);
    lines.extend((1..9).map(|p| format!("{p} ok write {p}")));
    let text = lines.join(";");
    assert_eq!(answer(&text), Linearizability::Holds);
    assert!(matches!(
        answer_within(&text, 4),
        Linearizability::Unknown(_)
    ));
}
