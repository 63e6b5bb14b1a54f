//! What the evidence of strong levels says in sentences, word for word.
use checker::{Options, SatSolver, Strategy, check};
use history::{Builder, History, Interval, Level, Op, OpKind, Status, Value, Verdict};

/// A history from lines such as `0 5..7 r x 0 w y 1`: the session, perhaps its times, operations.
/// Values of list operations are written as `1,2`.
fn history(lines: &[&str]) -> History {
    let mut builder = Builder::new();
    for (label, line) in lines.iter().enumerate() {
        let mut words = line.split(' ').peekable();
        let session = words.next().and_then(|word| word.parse().ok());
        let session = builder.session(session.expect("a session"));
        let times = words.next_if(|word| word.contains(".."));
        let interval = times.and_then(|word| {
            let (start, end) = word.split_once("..")?;
            let (start, end) = (start.parse().ok()?, end.parse().ok()?);
            Some(Interval { start, end })
        });
        let mut ops = Vec::new();
        while let (Some(kind), Some(key), Some(value)) = (words.next(), words.next(), words.next())
        {
            let key = builder.key(&Value::from(key));
            let numbers = value.split(',').filter_map(|word| word.parse::<u64>().ok());
            let mut codes: Vec<_> = numbers.map(|n| builder.value(&Value::from(n))).collect();
            let (kind, value) = match kind {
                "r" => (OpKind::Read, codes.remove(0)),
                "w" => (OpKind::Write, codes.remove(0)),
                "a" => (OpKind::Append, codes.remove(0)),
                _ => (OpKind::ReadList, builder.lists.push(&codes)),
            };
            ops.push(Op { kind, key, value });
        }
        let pushed = builder.push_txn(session, label as u64, Status::Committed, interval, &ops);
        pushed.expect("small");
    }
    builder.finish()
}

/// The name and the sentences of the first anomaly.
fn told(level: Level, lines: &[&str]) -> String {
    let history = history(lines);
    // Another solver may come to other cycles, which are as good.
    let options = Options {
        strategy: Strategy {
            solver: SatSolver::BatSat,
            ..Strategy::default()
        },
        ..Options::default()
    };
    let answer = &check(&history, &[level], &options)[0];
    match &answer.result.verdict {
        Verdict::Violated(anomalies) => {
            format!("{}: {}", anomalies[0].kind, anomalies[0].explanation)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lost_update_is_a_short_story() {
    let text = told(
        Level::SnapshotIsolation,
        &["0 w x 1", "1 r x 1 w x 2", "2 r x 1 w x 3"],
    );
    assert_eq!(
        text,
        "lost-update: s2t2 read x=1 and wrote x=3; s1t1 read x=1 and wrote x=2: both \
         overwrote the same version, so one of the updates is lost."
    );
}

#[test]
fn write_skew_is_a_short_story() {
    let text = told(
        Level::Serializable,
        &["0 w x 1 w y 1", "1 r x 1 w y 2", "2 r y 1 w x 2"],
    );
    assert_eq!(
        text,
        "write-skew: s2t2 read y=1, which s1t1 overwrote with y=2; s1t1 read x=1, which \
         s2t2 overwrote with x=2: neither saw what the other wrote, so neither can come \
         first. y=1 is older than y=2: the other way round, s1t1 read x=1 of s0t0; s0t0 \
         overwrote y=2 of s1t1 with y=1: a circle. x=1 is older than x=2: the other way \
         round, s2t2 read y=1 of s0t0; s0t0 overwrote x=2 of s2t2 with x=1: a circle."
    );
    let text = told(Level::Serializable, &["1 r x 0 w y 2", "2 r y 0 w x 2"]);
    assert_eq!(
        text,
        "write-skew: s2t1 read y=0, which s1t0 overwrote with y=2; s1t0 read x=0, which \
         s2t1 overwrote with x=2: neither saw what the other wrote, so neither can come \
         first."
    );
}

#[test]
fn a_long_fork_is_a_short_story() {
    let text = told(
        Level::SnapshotIsolation,
        &["0 w x 1", "1 w y 1", "2 r x 1 r y 0", "3 r y 1 r x 0"],
    );
    assert_eq!(
        text,
        "long-fork: s3t3 saw y=1 of s1t1 but not x=1 of s0t0; s2t2 saw x=1 of s0t0 but not \
         y=1 of s1t1: they saw the two writes in opposite orders."
    );
}

#[test]
fn real_time_is_told_with_its_times() {
    let text = told(Level::StrictSerializable, &["0 1..2 w x 1", "1 5..9 r x 0"]);
    assert_eq!(
        text,
        "G-single-realtime: Let s0t0 = [w(x, 1)], s1t1 = [r(x, 0)]. Then: s0t0 < s1t1, because \
         s0t0 ended at 2, before s1t1 began at 5. However, s1t1 < s0t0, because s1t1 did not \
         observe s0t0's write of 1 to x: a contradiction!"
    );
}

#[test]
fn uncertain_orders_are_told_with_their_reasons() {
    let text = told(
        Level::StrongSessionSerializable,
        &["0 w x 1 w z 1", "0 w x 2 r y 0", "1 w y 1", "1 r x 1 r z 1"],
    );
    assert_eq!(
        text,
        "G2-item-process: s0t1 read y=0, which s1t2 overwrote with y=1; s1t2 precedes s1t3 in \
         their session; s1t3 read x=1, which s0t1 overwrote with x=2: a circle. x=1 is \
         older than x=2: the other way round, s0t0 precedes s0t1 in their session; s0t0 \
         overwrote x=2 of s0t1 with x=1: a circle."
    );
}

#[test]
fn cycles_of_lists_are_told_as_in_the_paper() {
    let text = told(
        Level::Serializable,
        &["0 a x 1", "1 a x 2 l y ", "2 l x 1 a y 1", "3 l x 1,2"],
    );
    assert_eq!(
        text,
        "write-skew: Let s1t1 = [append(x, 2) r(y, [])], s2t2 = [r(x, [1]) append(y, 1)]. Then: \
         s1t1 < s2t2, because s1t1 did not observe s2t2's append of 1 to y. However, s2t2 < s1t1, \
         because s2t2 did not observe s1t1's append of 2 to x: a contradiction!"
    );
}

#[test]
fn list_orders_are_told_with_the_read_that_shows_them() {
    let text = told(
        Level::SnapshotIsolation,
        &["0 a x 1 a y 2", "1 a x 2 a y 1", "2 l x 1,2", "3 l y 1,2"],
    );
    assert_eq!(
        text,
        "G0: Let s0t0 = [append(x, 1) append(y, 2)], s1t1 = [append(x, 2) append(y, 1)]. Then: \
         s0t0 < s1t1, because s0t0's append of 1 to x came before s1t1's append of 2 to x, as \
         s2t2's r(x, [1 2]) shows. However, s1t1 < s0t0, because s1t1's append of 1 to y came before \
         s0t0's append of 2 to y, as s3t3's r(y, [1 2]) shows: a contradiction!"
    );
}

/// The first transaction of the paper's TiDB case: of the long list only what matters is shown.
#[test]
fn long_lists_are_cut_to_what_matters() {
    let text = told(
        Level::StrictSerializable,
        &[
            "0 a x 1 a x 2 a x 3 a x 4 a x 5 a x 6",
            "1 l x 1,2,3,4,5,6 a x 8 l z ",
            "2 l x 1,2,3,4,5,6 a x 9",
            "3 l x 1,2,3,4,5,6,9,8",
        ],
    );
    assert_eq!(
        text,
        "lost-update: Let s1t1 = [r(x, [… 5 6]) append(x, 8) …], s2t2 = [r(x, [… 5 6]) append(x, 9)]. Then: \
         s1t1 < s2t2, because s1t1 did not observe s2t2's append of 9 to x. However, s2t2 < s1t1, \
         because s2t2's append of 9 to x came before s1t1's append of 8 to x, as s3t3's \
         r(x, [… 6 9 8]) shows: a contradiction!"
    );
}

#[test]
fn two_choices_without_a_way_out_are_told_as_cases() {
    let writers = [
        "0 w x 1 w p 1",
        "1 w x 2 w q 1",
        "2 w y 1 w r 1",
        "3 w y 2 w s 1",
    ];
    let readers = [
        "4 r x 1 r s 1",
        "5 r x 1 r r 1",
        "6 r x 2 r s 1",
        "7 r x 2 r r 1",
        "8 r y 1 r q 1",
        "9 r y 2 r q 1",
        "10 r y 1 r p 1",
        "11 r y 2 r p 1",
    ];
    let lines: Vec<&str> = writers.into_iter().chain(readers).collect();
    let text = told(Level::SnapshotIsolation, &lines);
    assert_eq!(
        text,
        "no-version-order: No order of the versions is possible. Either order of x=2 and \
         x=1 leads to a contradiction. If x=2 is older than x=1: y=1 is older than y=2: \
         the other way round, s7t7 read r=1 of s2t2; s7t7 read x=2, which s0t0 overwrote \
         with x=1; s11t11 read p=1 of s0t0; s11t11 read y=2, which s2t2 overwrote with \
         y=1: a circle. s6t6 read s=1 of s3t3; s6t6 read x=2, which s0t0 overwrote with \
         x=1; s10t10 read p=1 of s0t0; s10t10 read y=1, which s3t3 overwrote with y=2: a \
         circle. If x=1 is older than x=2: y=2 is older than y=1: the other way round, \
         s4t4 read s=1 of s3t3; s4t4 read x=1, which s1t1 overwrote with x=2; s8t8 read \
         q=1 of s1t1; s8t8 read y=1, which s3t3 overwrote with y=2: a circle. s5t5 read \
         r=1 of s2t2; s5t5 read x=1, which s1t1 overwrote with x=2; s9t9 read q=1 of s1t1; \
         s9t9 read y=2, which s2t2 overwrote with y=1: a circle."
    );
}
