//! Properties in both forms: golden logs, and random logs against the executable definition.
use history::{Builder, History, Interval, KeyOrder, Level, Op as Did, OpKind, Value, definition};
use history::{Initial, Status as Became, ValueCode};
use protocol::{
    Detail, Event, Form, Judge, Key, Log, Op, Property, Question, Session, Setup, Site, Status,
    Txn, TxnSet, Version, VersionOrder,
};

const K1: Key = Key(0);
const K2: Key = Key(1);
const S1: Site = Site(0);
const S2: Site = Site(1);

fn v(number: u16, site: Site) -> Version {
    Version::new(number, site)
}

const INITIAL: Version = Version::INITIAL;

/// Two sites, `k1` at the first and `k2` at the second; each transaction reads, then writes.
struct Golden {
    setup: Setup,
    log: Log,
}

type Pairs<'a> = &'a [(Key, Version)];

fn golden(txns: &[(Site, Pairs<'_>, Pairs<'_>)], events: &[Event]) -> Golden {
    let session = |(site, reads, writes): &(Site, Pairs<'_>, Pairs<'_>)| {
        let reads = reads.iter().map(|(key, _)| Op::Read(*key));
        let writes = writes.iter().map(|(key, _)| Op::Write(*key));
        Session {
            site: *site,
            txns: vec![reads.chain(writes).collect()],
        }
    };
    let sessions = txns.iter().map(session).collect();
    let setup = Setup::new(2, vec![vec![S1], vec![S2]], sessions).expect("a good setup");
    let mut log = Log::new(&setup, Detail::Full);
    log.events = events.to_vec();
    for (record, (_, reads, writes)) in log.records.iter_mut().zip(txns) {
        record.reads = reads.to_vec();
        record.writes = writes.to_vec();
        for (key, version) in *writes {
            log.installed[key.index()].push(*version);
        }
    }
    for event in events {
        let ended: TxnSet = log.ended();
        match event {
            Event::Start(txn) => {
                log.records[txn.index()].status = Status::Running;
                log.records[txn.index()].after = ended;
            }
            Event::Commit(txn) => log.records[txn.index()].status = Status::Committed,
            Event::Abort(txn) => log.records[txn.index()].status = Status::Aborted,
            Event::Applied(..) => {}
        }
    }
    Golden { setup, log }
}

/// The properties of the table that the log does not have, by short name.
fn broken(golden: &Golden, form: Form) -> Vec<&'static str> {
    let all: Vec<Property> = Property::table()
        .chain([Property::UpdateSerializable])
        .collect();
    let questions: Vec<Question> = all
        .iter()
        .map(|&property| Question { property, form })
        .collect();
    let mut judge = Judge::new(&questions, VersionOrder::Installed, false);
    let bits = judge.violated(&golden.setup, &golden.log);
    let mut names = Vec::new();
    for (place, question) in questions.iter().enumerate() {
        let (anomalies, words) = judge.explain(&golden.setup, &golden.log, *question);
        let violated = bits & (1 << place) != 0;
        assert_eq!(violated, !words.is_empty(), "{question}: {words}");
        assert_eq!(violated && form == Form::Strict, !anomalies.is_empty());
        if violated {
            names.push(question.property.short().expect("of the table"));
        }
    }
    assert_eq!(judge.undecided(), None);
    names
}

fn start(txn: u8) -> Event {
    Event::Start(Txn(txn))
}

fn commit(txn: u8) -> Event {
    Event::Commit(Txn(txn))
}

#[test]
fn a_single_update_has_everything() {
    let one = golden(
        &[(S1, &[(K1, INITIAL)], &[(K1, v(1, S1))])],
        &[start(0), commit(0)],
    );
    assert!(broken(&one, Form::Strict).is_empty());
    assert!(broken(&one, Form::Paper).is_empty());
}

#[test]
fn a_serial_chain_of_rola_is_serializable_whatever_its_timestamps() {
    let chain = golden(
        &[
            (S1, &[(K1, INITIAL)], &[(K1, v(2, S1))]),
            (S1, &[(K1, v(2, S1))], &[(K1, v(4, S1))]),
            (S2, &[(K1, v(4, S1))], &[(K1, v(2, S2))]),
        ],
        &[
            start(0),
            commit(0),
            start(1),
            commit(1),
            start(2),
            commit(2),
        ],
    );
    assert!(broken(&chain, Form::Strict).is_empty());
    let paper = broken(&chain, Form::Paper);
    assert!(paper.contains(&"ser") && paper.contains(&"us"), "{paper:?}");
}

#[test]
fn an_overlapping_chain_of_rola_is_strictly_serializable() {
    let chain = golden(
        &[
            (S1, &[(K1, INITIAL)], &[(K1, v(2, S1))]),
            (S2, &[(K1, v(2, S1))], &[(K1, v(2, S2))]),
            (S1, &[(K1, v(2, S2))], &[(K1, v(5, S1))]),
        ],
        &[
            start(0),
            start(1),
            commit(0),
            start(2),
            commit(2),
            commit(1),
        ],
    );
    assert!(broken(&chain, Form::Strict).is_empty());
    let paper = broken(&chain, Form::Paper);
    assert!(paper.contains(&"sser"), "{paper:?}");
    assert!(!paper.contains(&"ser"), "{paper:?}");
}

#[test]
fn the_lost_update_of_walter_without_merge_breaks_both_forms() {
    let lost = golden(
        &[
            (S2, &[(K1, INITIAL)], &[(K1, v(1, S2))]),
            (S2, &[(K1, INITIAL)], &[(K1, v(2, S2))]),
        ],
        &[start(0), commit(0), start(1), commit(1)],
    );
    let strict = broken(&lost, Form::Strict);
    assert_eq!(
        strict,
        ["cs", "ua", "nmsi", "psi", "si", "ser", "sser", "us"]
    );
    let paper = broken(&lost, Form::Paper);
    assert_eq!(paper, ["cs", "ua", "ser", "us"]);
}

#[test]
fn commits_of_jessy_in_reverse_order_break_the_papers_nmsi_only() {
    let reverse = golden(
        &[
            (S1, &[(K1, INITIAL)], &[(K1, v(1, S1))]),
            (S1, &[(K2, INITIAL)], &[(K2, v(2, S1))]),
        ],
        &[
            start(0),
            commit(0),
            start(1),
            commit(1),
            Event::Applied(Txn(1), S2),
            Event::Applied(Txn(0), S2),
        ],
    );
    assert!(broken(&reverse, Form::Strict).is_empty());
    assert_eq!(broken(&reverse, Form::Paper), ["nmsi", "psi"]);
}

#[test]
fn a_read_of_p_store_before_the_writers_client_heard_breaks_the_papers_si_only() {
    let early = golden(
        &[
            (S1, &[(K1, INITIAL)], &[(K1, v(1, S1))]),
            (S2, &[(K1, v(1, S1))], &[(K1, v(2, S1))]),
        ],
        &[start(0), start(1), commit(0), commit(1)],
    );
    assert!(broken(&early, Form::Strict).is_empty());
    assert_eq!(broken(&early, Form::Paper), ["si"]);
}

#[test]
fn the_fractured_read_of_faster_breaks_both_forms() {
    let fractured = golden(
        &[
            (S2, &[], &[(K1, v(2, S2)), (K2, v(2, S2))]),
            (S1, &[(K1, INITIAL), (K2, v(2, S2))], &[]),
        ],
        &[start(0), start(1), commit(0), commit(1)],
    );
    let strict = broken(&fractured, Form::Strict);
    assert_eq!(strict, ["ra", "ua", "nmsi", "psi", "si", "ser", "sser"]);
    let paper = broken(&fractured, Form::Paper);
    assert!(paper.contains(&"ra") && paper.contains(&"ua"), "{paper:?}");
}

#[test]
fn names_are_read_as_they_are_printed() {
    for property in Property::table() {
        let short = property.short().expect("of the table");
        assert_eq!(short.parse(), Ok(property));
        assert_eq!(property.to_string().parse(), Ok(property));
    }
    assert_eq!("SER".parse(), Ok(Property::Level(Level::Serializable)));
    assert_eq!("si".parse(), Ok(Property::Level(Level::SnapshotIsolation)));
    assert_eq!("causal".parse(), Ok(Property::Level(Level::Causal)));
    assert_eq!("us".parse(), Ok(Property::UpdateSerializable));
    assert!("nothing".parse::<Property>().is_err());
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % count as u64) as usize
    }
}

/// A random log, and the same as a history that was made without it.
struct Case {
    setup: Setup,
    log: Log,
    whole: History,
    updates: History,
}

fn random_setup(random: &mut Random) -> Setup {
    let keys = 1 + random.below(3);
    let mut sessions: Vec<Session> = Vec::new();
    for _ in 0..1 + random.below(4) {
        let mut ops: Vec<Op> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let key = Key(random.below(keys) as u8);
            let read = Op::Read(key);
            if random.below(2) == 0 && !ops.iter().any(|op| op.key() == key) {
                ops.push(read);
            } else {
                ops.push(Op::Write(key));
            }
        }
        match sessions.last_mut() {
            Some(session) if random.below(3) == 0 => session.txns.push(ops),
            _ => sessions.push(Session {
                site: S1,
                txns: vec![ops],
            }),
        }
    }
    Setup::new(1, vec![vec![S1]; keys], sessions).expect("a good setup")
}

fn random_case(seed: u64, sessions: bool) -> Case {
    let mut random = Random(seed);
    let setup = random_setup(&mut random);
    let mut log = Log::new(&setup, Detail::RealTime);
    let mut next = 0;
    for txn in setup.txns() {
        for op in setup.ops(txn) {
            if let Op::Write(key) = op {
                next += 1;
                log.records[txn.index()].writes.push((*key, v(next, S1)));
            }
        }
    }
    for key in setup.keys() {
        let writes = log.records.iter().flat_map(|record| &record.writes);
        let mut versions: Vec<Version> = writes.filter(|w| w.0 == key).map(|w| w.1).collect();
        for place in (1..versions.len()).rev() {
            if random.below(3) == 0 {
                versions.swap(place, random.below(place + 1));
            }
        }
        for txn in setup.txns().filter(|txn| setup.reads(*txn).contains(key)) {
            let choice = random.below(versions.len() + 1);
            let version = choice
                .checked_sub(1)
                .map_or(INITIAL, |place| versions[place]);
            log.records[txn.index()].reads.push((key, version));
        }
        versions.retain(|_| random.below(8) > 0);
        log.installed[key.index()] = versions;
    }
    for record in &mut log.records {
        record.reads.sort_by_key(|read| read.0);
        record.writes.sort_by_key(|write| write.0);
    }
    let times = random_times(&mut random, &setup, &mut log);
    let whole = history(&setup, &log, &times, sessions, false);
    let updates = history(&setup, &log, &times, sessions, true);
    Case {
        setup,
        log,
        whole,
        updates,
    }
}

/// Starts and ends everything in some order, and says when.
fn random_times(random: &mut Random, setup: &Setup, log: &mut Log) -> Vec<Interval> {
    let mut times = vec![Interval { start: 0, end: 0 }; log.records.len()];
    let fates: Vec<Status> = setup
        .txns()
        .map(|_| match random.below(10) {
            0 => Status::Aborted,
            1 => Status::Running,
            _ => Status::Committed,
        })
        .collect();
    let mut now = 0;
    loop {
        let free = |txn: &Txn| {
            let before = setup.txns().take_while(|other| other != txn);
            let mut before = before.filter(|other| setup.session(*other) == setup.session(*txn));
            let ended = log.ended();
            log.record(*txn).status == Status::Waiting && before.all(|other| ended.contains(other))
        };
        let mut can: Vec<(Txn, bool)> = setup.txns().filter(free).map(|t| (t, true)).collect();
        let ending = |txn: &Txn| {
            log.record(*txn).status == Status::Running && fates[txn.index()] != Status::Running
        };
        can.extend(setup.txns().filter(ending).map(|txn| (txn, false)));
        if can.is_empty() {
            return times;
        }
        now += 1;
        let (txn, starts) = can[random.below(can.len())];
        let ended = log.ended();
        let record = &mut log.records[txn.index()];
        if starts {
            record.status = Status::Running;
            record.after = ended;
            times[txn.index()] = Interval {
                start: now,
                end: Interval::NEVER,
            };
        } else {
            record.status = fates[txn.index()];
            times[txn.index()].end = now;
        }
    }
}

fn history(setup: &Setup, log: &Log, times: &[Interval], sessions: bool, updates: bool) -> History {
    let mut builder = Builder::new();
    for txn in setup.txns() {
        let record = log.record(txn);
        if record.status == Status::Waiting || updates && record.writes.is_empty() {
            continue;
        }
        let label = if sessions {
            setup.session(txn) as i64
        } else {
            i64::from(txn.0)
        };
        let session = builder.session(label);
        let ops_start = builder.ops.len();
        let mut writes = record.writes.clone();
        for op in setup.ops(txn) {
            let (kind, list) = match op {
                Op::Read(_) => (OpKind::Read, &mut record.reads.clone()),
                Op::Write(_) => (OpKind::Write, &mut writes),
            };
            let place = list.iter().position(|(key, _)| *key == op.key());
            let (key, version) = list.remove(place.expect("it was recorded"));
            let value = match version.is_initial() {
                true => ValueCode::NIL,
                false => builder.value(&Value::Int(i128::from(version.number))),
            };
            let key_code = builder.key(&Value::Int(i128::from(key.0)));
            builder.ops.push(Did {
                kind,
                key: key_code,
                value,
            });
            let order = &log.installed[key.index()];
            let committed = |version: &&Version| {
                let wrote = |txn: &Txn| log.record(*txn).writes.contains(&(key, **version));
                log.with(Status::Committed).any(|txn| wrote(&txn))
            };
            let mut order = order.iter().filter(committed);
            if version.is_initial() {
                builder.record_version(0);
            } else if let Some(place) = order.position(|other| *other == version) {
                builder.record_version(place as u64 + 1);
            }
        }
        let status = match record.status {
            Status::Committed => Became::Committed,
            Status::Aborted => Became::Aborted,
            _ => Became::Indeterminate,
        };
        let time = Some(times[txn.index()]);
        let ended = builder.end_txn(session, txn.0.into(), status, time, ops_start);
        ended.expect("a small history");
    }
    builder.finish()
}

#[test]
fn random_logs_are_judged_as_the_definition_says() {
    let questions: Vec<Question> = Level::all()
        .map(Property::Level)
        .chain([Property::UpdateSerializable])
        .map(|property| Question {
            property,
            form: Form::Strict,
        })
        .collect();
    let initial = Initial::default();
    for sessions in [false, true] {
        let mut judge = Judge::new(&questions, VersionOrder::Installed, sessions);
        let mut counts = vec![0; questions.len()];
        let seeds = 6_000_000..6_001_500;
        for seed in seeds.clone() {
            let case = random_case(seed, sessions);
            let bits = judge.violated(&case.setup, &case.log);
            let keys = KeyOrder::Recorded;
            let truth = definition::holds_all_assuming(&case.whole, &initial, keys);
            let updates = definition::holds_all_assuming(&case.updates, &initial, keys);
            let (truth, updates) = (truth.expect("in scope"), updates.expect("in scope"));
            for (place, question) in questions.iter().enumerate() {
                let (level, truth) = match question.property {
                    Property::Level(level) => (level, &truth),
                    Property::UpdateSerializable => (Level::Serializable, &updates),
                };
                let holds = truth.iter().find(|row| row.0 == level).expect("all").1;
                let violated = bits & (1 << place) != 0;
                // These two do not look at the order of a transaction's reads, the definition does.
                let weaker = [Level::ReadCommitted, Level::CursorStability].contains(&level);
                let right = violated != holds || weaker && !violated;
                assert!(right, "seed {seed}, {question}: {}", case.setup);
                counts[place] += u32::from(violated);
                for (other, weaker) in questions.iter().enumerate() {
                    let implied = question.property.implies(weaker.property, sessions);
                    let weaker_too = bits & (1 << other) == 0;
                    assert!(
                        violated || !implied || weaker_too,
                        "seed {seed}, {question}"
                    );
                }
            }
        }
        assert_eq!(judge.undecided(), None);
        let count = seeds.count() as u32;
        println!(
            "{} histories, violated {counts:?} of {count}",
            judge.histories()
        );
        assert!(counts.iter().all(|bad| *bad < count) && counts[17] > count / 10);
    }
}
