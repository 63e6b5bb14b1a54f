//! Small random histories: reads mostly return some value that somebody wrote.

use checker::{Options, check};
use history::format::{Format, ReadOptions, Source, read};
use history::{Builder, History, Interval, Level, Op, OpKind, Status, Value, ValueCode, Verdict};
use history::{LevelResult, certificate, certify_assuming, definition};

/// What a random history looks like; shares in percent.
#[derive(Clone, Debug)]
pub struct Shape {
    pub sessions: u64,
    /// At most so many transactions.
    pub txns: u64,
    pub ops: u64,
    pub keys: u64,
    pub aborted: u64,
    pub indeterminate: u64,
    /// How often a write repeats a value of its key.
    pub duplicates: u64,
    pub read_modify_write: u64,
    /// How often a read returns anything at all, written or not, or a list that is spoilt.
    pub wild: u64,
    pub lists: bool,
    /// Whether the first key is a register, although the others are lists.
    pub mixed: bool,
    /// Whether transactions have times.
    pub timed: bool,
    /// How often an operation has a version number, mostly a right one.
    pub recorded: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            sessions: 3,
            txns: 6,
            ops: 3,
            keys: 2,
            aborted: 0,
            indeterminate: 0,
            duplicates: 0,
            read_modify_write: 0,
            wild: 0,
            lists: false,
            mixed: false,
            timed: false,
            recorded: 0,
        }
    }
}

impl Shape {
    fn is_list(&self, key: u64) -> bool {
        self.lists && !(self.mixed && key == 0)
    }
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

struct Plan {
    session: u64,
    status: Status,
    /// (is a write, key); values are filled in afterwards.
    ops: Vec<(bool, u64)>,
}

/// A history of a shape; the same seed gives the same one.
pub fn random_history(shape: &Shape, seed: u64) -> History {
    let mut random = Random(seed);
    let txn_count = 2 + random.below(shape.txns - 1);
    let mut plans: Vec<Plan> = (0..txn_count).map(|_| plan(shape, &mut random)).collect();
    plans.sort_by_key(|plan| plan.session);
    let mut written: Vec<Vec<u64>> = vec![Vec::new(); shape.keys as usize];
    let mut values: Vec<Vec<u64>> = Vec::new();
    for plan in &plans {
        let mut mine = Vec::new();
        for &(is_write, key) in &plan.ops {
            let known = &mut written[key as usize];
            let mut value = known.len() as u64 + 1;
            let may_repeat = !(shape.mixed && shape.is_list(key));
            if is_write && may_repeat && !known.is_empty() && random.chance(shape.duplicates) {
                value = known[random.below(known.len() as u64) as usize];
            }
            if is_write {
                known.push(value);
            }
            mine.push(value);
        }
        values.push(mine);
    }
    // One list per key that every list read is a prefix of.
    let mut orders = written.clone();
    for order in &mut orders {
        for at in (1..order.len()).rev() {
            if random.chance(30) {
                let other = random.below(at as u64 + 1) as usize;
                order.swap(at, other);
            }
        }
    }
    build(shape, &mut random, &plans, &values, &written, &orders)
}

fn plan(shape: &Shape, random: &mut Random) -> Plan {
    let session = random.below(shape.sessions);
    let status = match random.below(100) {
        roll if roll < shape.aborted => Status::Aborted,
        roll if roll < shape.aborted + shape.indeterminate => Status::Indeterminate,
        _ => Status::Committed,
    };
    let mut ops = Vec::new();
    if random.chance(shape.read_modify_write) {
        let key = random.below(shape.keys);
        ops.extend([(false, key), (true, key)]);
    }
    for _ in 0..1 + random.below(shape.ops) {
        ops.push((random.chance(50), random.below(shape.keys)));
    }
    Plan {
        session,
        status,
        ops,
    }
}

fn build(
    shape: &Shape,
    random: &mut Random,
    plans: &[Plan],
    values: &[Vec<u64>],
    written: &[Vec<u64>],
    orders: &[Vec<u64>],
) -> History {
    let mut builder = Builder::new();
    let mut clock = Random(random.0 ^ 0xC10C);
    for (label, plan) in plans.iter().enumerate() {
        let session = builder.session(plan.session as i64);
        let mut own: Vec<(u64, u64)> = Vec::new();
        let mut ops = Vec::new();
        for (at, &(is_write, key)) in plan.ops.iter().enumerate() {
            let key_id = builder.key(&Value::from(key));
            if is_write {
                let value = values[label][at];
                own.push((key, value));
                let kind = if shape.is_list(key) {
                    OpKind::Append
                } else {
                    OpKind::Write
                };
                ops.push(Op {
                    kind,
                    key: key_id,
                    value: ValueCode(value as u32),
                });
                continue;
            }
            let mine: Vec<u64> = own.iter().filter(|o| o.0 == key).map(|o| o.1).collect();
            let op = if shape.is_list(key) {
                let order = &orders[key as usize];
                let mut list = order[..random.below(order.len() as u64 + 1) as usize].to_vec();
                if let Some(at) = list.iter().position(|element| mine.contains(element)) {
                    list.truncate(at);
                }
                list.extend(&mine);
                if random.chance(shape.wild) {
                    spoil(random, &mut list);
                }
                let codes: Vec<ValueCode> = list.iter().map(|&v| ValueCode(v as u32)).collect();
                let value = builder.lists.push(&codes);
                Op {
                    kind: OpKind::ReadList,
                    key: key_id,
                    value,
                }
            } else {
                let value = read_value(shape, random, &written[key as usize], mine.last());
                Op {
                    kind: OpKind::Read,
                    key: key_id,
                    value,
                }
            };
            ops.push(op);
        }
        let start = clock.below(12) as i64;
        let interval = shape.timed.then(|| Interval {
            start,
            end: match clock.below(8) {
                0 => Interval::NEVER,
                1 => start - 1,
                length => start + length as i64,
            },
        });
        let ops_start = builder.ops.len();
        for &op in &ops {
            builder.ops.push(op);
            if shape.recorded > 0 && clock.chance(shape.recorded) {
                let noise = if clock.chance(10) { clock.below(4) } else { 0 };
                builder.record_version(u64::from(op.value.0 % 1000) + noise);
            }
        }
        builder
            .end_txn(session, label as u64, plan.status, interval, ops_start)
            .expect("small");
    }
    builder.finish()
}

/// Makes a list one that no store should return.
fn spoil(random: &mut Random, list: &mut Vec<u64>) {
    let at = random.below(list.len() as u64 + 1) as usize;
    match random.below(4) {
        0 => list.insert(at, 99),
        1 if at < list.len() => list.insert(at, list[at]),
        2 if at < list.len() => {
            list.remove(at);
        }
        _ if at > 1 => list.swap(at - 1, at - 2),
        _ => list.reverse(),
    }
}

fn read_value(shape: &Shape, random: &mut Random, written: &[u64], own: Option<&u64>) -> ValueCode {
    if random.chance(shape.wild) {
        let any = random.below(written.len() as u64 + 3);
        return if any == 0 {
            ValueCode::UNKNOWN
        } else {
            ValueCode(any as u32)
        };
    }
    if let Some(&value) = own {
        return ValueCode(value as u32);
    }
    match random.below(written.len() as u64 + 1) {
        0 => {
            if random.chance(50) {
                ValueCode::NIL
            } else {
                ValueCode::ZERO
            }
        }
        at => ValueCode(written[at as usize - 1] as u32),
    }
}

/// So many seeds from the first on; `ISOLDE_SEEDS` asks for more.
pub fn seeds(start: u64, count: u64) -> std::ops::Range<u64> {
    let factor = std::env::var("ISOLDE_SEEDS").ok();
    let factor: u64 = factor.and_then(|text| text.parse().ok()).unwrap_or(1);
    start..start + count * factor
}

/// How many verdicts were what.
#[derive(Default, Debug)]
pub struct Tally {
    pub held: u64,
    pub violated: u64,
    pub unknown: u64,
    /// Histories that the definitions give no answer on.
    pub out_of_scope: u64,
}

impl Tally {
    /// Holds the verdicts on a history against the definition and the certifier; what is wrong, if something is. An
    /// unknown verdict is wrong unless it is tolerated. Violations that nothing was to be said about are not certified.
    pub fn add(
        &mut self,
        history: &History,
        levels: &[Level],
        options: &Options<'_>,
        tolerates_unknown: bool,
    ) -> Result<(), String> {
        let (initial, keys) = (&options.initial, options.keys);
        let Ok(truth) = definition::holds_all_assuming(history, initial, keys) else {
            self.out_of_scope += 1;
            return Ok(());
        };
        self.compare(history, &truth, levels, options, tolerates_unknown)
    }

    /// The same where the truth is known.
    pub fn compare(
        &mut self,
        history: &History,
        truth: &[(Level, bool)],
        levels: &[Level],
        options: &Options<'_>,
        tolerates_unknown: bool,
    ) -> Result<(), String> {
        for answer in check(history, levels, options) {
            let result = &answer.result;
            let truth = truth.iter().find(|(level, _)| *level == result.level);
            let holds = truth.expect("every level").1;
            let wrong = |what: String| {
                let (level, verdict) = (result.level, &result.verdict);
                Err(format!("{level}: {what}\n{}\n{verdict:#?}", show(history)))
            };
            let said = match &result.verdict {
                Verdict::Unknown(why) if !tolerates_unknown => return wrong(why.clone()),
                Verdict::Unknown(_) => {
                    self.unknown += 1;
                    continue;
                }
                verdict => matches!(verdict, Verdict::Holds(_)),
            };
            if said != holds {
                return wrong(format!("the definition says holds = {holds}"));
            }
            if (holds || options.strategy.explain)
                && let Err(refusal) = certify_file(history, options, result)
            {
                return wrong(format!("refused: {refusal}"));
            }
            self.held += u64::from(holds);
            self.violated += u64::from(!holds);
        }
        Ok(())
    }
}

/// Re-checks what a certificate file says about a level.
pub fn certify_file(
    history: &History,
    options: &Options<'_>,
    result: &LevelResult,
) -> Result<(), String> {
    let (initial, keys) = (&options.initial, options.keys);
    let text = certificate::to_json(history, initial, keys, std::slice::from_ref(result));
    let read = certificate::from_json(history, &text).map_err(|error| error.to_string())?;
    let [read] = &read.results[..] else {
        return Err(format!("not one result: {text}"));
    };
    certify_assuming(history, initial, keys, read).map_err(|refusal| refusal.to_string())
}

/// The verdicts on a history in JSON lines agree with the definition at all levels, and none is unknown.
pub fn all_agree(lines: &str) {
    let levels: Vec<Level> = Level::all().collect();
    let checked = Tally::default().add(&parse(lines), &levels, &Options::default(), false);
    checked.unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// The history as text.
pub fn show(history: &History) -> String {
    let mut text = String::new();
    for txn in history.txn_ids() {
        let ops: Vec<String> = history
            .txn_ops(txn)
            .map(|(id, _)| history.op_text(id))
            .collect();
        let line = format!(
            "{} {:?}: {}\n",
            history.txn_name(txn),
            history.status(txn),
            ops.join(" ")
        );
        text.push_str(&line);
    }
    text
}

/// A history in JSON lines.
pub fn parse(lines: &str) -> History {
    let text = format!("{{\"isolde\":\"history\",\"version\":1}}\n{lines}");
    let source = Source {
        name: "test",
        bytes: text.as_bytes(),
    };
    let options = ReadOptions {
        format: Some(Format::Isolde),
        ..ReadOptions::default()
    };
    read(&[source], &options).expect("a good history").history
}
