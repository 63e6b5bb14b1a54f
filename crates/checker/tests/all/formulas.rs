//! Formulas as histories: what makes the question hard, planted. A history satisfies its level if
//! and only if the formula can be satisfied, and nothing but trying the choices tells.
//!
//! A *choice* is a key with two blind writes: either may be older. A reader of the older version
//! precedes the writer of the newer one, so readers who saw such writers close circles for some
//! choices only. A variable is a choice, and so is each place where it occurs in a clause: its copy,
//! which cannot be true where the literal is false. The copies of a clause close a circle if all are
//! false. Without copies, circles could cross from clause to clause. Source: the idea of
//! Papadimitriou, JACM 1979.

#[cfg(feature = "cadical")]
use checker::SatSolver;
use checker::{Options, Strategy, check};
use history::{AnomalyKind, Builder, History, Initial, Level, Op, OpKind, Status, Value, Verdict};

type Formula = Vec<Vec<i32>>;

/// The levels that two reads of overwritten versions on a circle contradict.
const LEVELS: [Level; 9] = [
    Level::Prefix,
    Level::SnapshotIsolation,
    Level::StrongSessionSnapshotIsolation,
    Level::StrongSnapshotIsolation,
    Level::Serializable,
    Level::StrongSessionSerializable,
    Level::StrictSerializable,
    // These two allow circles with several such reads.
    Level::ParallelSnapshotIsolation,
    Level::NonMonotonicSnapshotIsolation,
];

struct Writer {
    builder: Builder,
    count: u64,
}

impl Writer {
    /// A transaction in a session of its own, from operations such as `("w", "x1", 2)`.
    fn txn(&mut self, ops: &[(OpKind, String, u64)]) {
        let session = self.builder.session(self.count as i64);
        let mut made = Vec::new();
        for (kind, key, value) in ops {
            made.push(Op {
                kind: *kind,
                key: self.builder.key(&Value::from(key.as_str())),
                value: self.builder.value(&Value::from(*value)),
            });
        }
        let pushed = self
            .builder
            .push_txn(session, self.count, Status::Committed, None, &made);
        pushed.expect("small");
        self.count += 1;
    }

    /// Two blind writes to a key; each writer writes a key of its own, too.
    fn choice(&mut self, key: &str) {
        for value in [1, 2] {
            self.txn(&[
                (OpKind::Write, key.to_string(), value),
                (OpKind::Write, format!("{key}.{value}"), 1),
            ]);
        }
    }

    /// A read of a version, by somebody who saw the writer of another one.
    fn reader(&mut self, (key, value): (&str, u64), (seen, by): (&str, u64)) {
        self.txn(&[
            (OpKind::Read, key.to_string(), value),
            (OpKind::Read, format!("{seen}.{by}"), 1),
        ]);
    }
}

/// See the module's text.
fn history_of(formula: &Formula) -> History {
    let mut writer = Writer {
        builder: Builder::new(),
        count: 0,
    };
    for variable in 1..=variables(formula) {
        writer.choice(&format!("x{variable}"));
    }
    let mut occurrence = 0;
    for clause in formula {
        let copy = |place: usize| format!("copy{}", occurrence + place % clause.len());
        for (place, &literal) in clause.iter().enumerate() {
            let variable = format!("x{}", literal.unsigned_abs());
            let (older, newer) = if literal > 0 { (2, 1) } else { (1, 2) };
            writer.choice(&copy(place));
            // Not both: the literal is false, and its copy is true.
            writer.reader((&variable, older), (&copy(place), 1));
            writer.reader((&copy(place), 2), (&variable, newer));
        }
        for place in 0..clause.len() {
            // The copies are not all false.
            writer.reader((&copy(place + 1), 1), (&copy(place), 2));
        }
        occurrence += clause.len();
    }
    writer.builder.finish()
}

fn variables(formula: &Formula) -> u32 {
    let literals = formula.iter().flatten();
    let numbers = literals.map(|literal| literal.unsigned_abs());
    numbers.max().unwrap_or(0)
}

/// A history that only a search can tell to have no order.
pub fn unsatisfiable() -> History {
    history_of(&all_clauses(3))
}

/// Whether some values satisfy a formula, by trying all.
fn is_satisfiable(formula: &Formula) -> bool {
    (0..1u64 << variables(formula)).any(|values| {
        let is_true = |&literal: &i32| {
            let value = values >> (literal.unsigned_abs() - 1) & 1 == 1;
            value == (literal > 0)
        };
        formula.iter().all(|clause| clause.iter().any(is_true))
    })
}

/// Every level must say what the formula says; returns the name and the sentences if it is violated.
fn decide(
    formula: &Formula,
    levels: &[Level],
    strategy: Strategy,
) -> Option<(AnomalyKind, String)> {
    let history = history_of(formula);
    let expected = is_satisfiable(formula);
    let options = Options {
        strategy,
        ..Options::default()
    };
    let mut told = None;
    for answer in check(&history, levels, &options) {
        let level = answer.result.level;
        let certified = history::certify(&history, &Initial::default(), &answer.result);
        assert!(certified.is_ok(), "{level}: {certified:?}, {formula:?}");
        let allows_all = level == Level::ParallelSnapshotIsolation
            || level == Level::NonMonotonicSnapshotIsolation;
        match answer.result.verdict {
            Verdict::Holds(_) => assert!(expected || allows_all, "{level}: {formula:?}"),
            Verdict::Violated(anomalies) => {
                assert!(!expected && !allows_all, "{level}: {formula:?}");
                let anomaly = anomalies.into_iter().next().expect("at least one");
                told = Some((anomaly.kind, anomaly.explanation));
            }
            Verdict::Unknown(why) => panic!("{level}: {why}, {formula:?}"),
        }
    }
    told
}

/// All clauses over so many variables: no clause can be left out, and none settles anything.
fn all_clauses(variables: u32) -> Formula {
    let literal = |signs: u32, variable: u32| {
        let sign = if signs >> variable & 1 == 1 { 1 } else { -1 };
        sign * (variable as i32 + 1)
    };
    let clause = |signs: u32| (0..variables).map(|v| literal(signs, v)).collect();
    (0..1 << variables).map(clause).collect()
}

/// So many pigeons in one hole less.
fn pigeons(count: i32) -> Formula {
    let holes = count - 1;
    let sits = |pigeon: i32, hole: i32| pigeon * holes + hole + 1;
    let mut formula: Formula = Vec::new();
    for pigeon in 0..count {
        formula.push((0..holes).map(|hole| sits(pigeon, hole)).collect());
    }
    for hole in 0..holes {
        for first in 0..count {
            for second in first + 1..count {
                formula.push(vec![-sits(first, hole), -sits(second, hole)]);
            }
        }
    }
    formula
}

#[test]
fn all_clauses_are_refuted_by_cases() {
    for variables in [2, 3] {
        let formula = all_clauses(variables);
        let (kind, text) = decide(&formula, &LEVELS, Strategy::default()).expect("violated");
        assert_eq!(kind, AnomalyKind::NoVersionOrder, "{text}");
        assert!(
            text.starts_with("No order of the versions is possible. Either order of "),
            "{text}"
        );
        for without in 0..formula.len() {
            let mut fewer = formula.clone();
            fewer.remove(without);
            assert_eq!(
                decide(&fewer, &LEVELS[..5], Strategy::default()),
                None,
                "{fewer:?}"
            );
        }
    }
}

#[test]
fn pigeons_without_a_hole_are_refuted_by_cases() {
    let formula = pigeons(3);
    let (kind, text) = decide(&formula, &LEVELS, Strategy::default()).expect("violated");
    assert_eq!(kind, AnomalyKind::NoVersionOrder, "{text}");
    let mut one_less = formula.clone();
    one_less.remove(0);
    assert_eq!(decide(&one_less, &LEVELS[..5], Strategy::default()), None);
}

/// Clauses of three literals, about as many as leave half of the formulas without a solution.
fn random_formula(seed: u64) -> Formula {
    let mut random = crate::small::Random(seed);
    let variables = 3 + random.below(3);
    let count = variables * 43 / 10 + random.below(5);
    let clause = |_| {
        let mut clause: Vec<i32> = Vec::new();
        while clause.len() < 3 {
            let variable = random.below(variables) as i32 + 1;
            if clause.iter().all(|other| other.abs() != variable) {
                clause.push(if random.chance(50) {
                    variable
                } else {
                    -variable
                });
            }
        }
        clause
    };
    (0..count).map(clause).collect()
}

#[test]
fn random_formulas_are_decided() {
    let (mut held, mut violated) = (0, 0);
    let asked = [Level::SnapshotIsolation, Level::Serializable];
    for seed in 0..8 {
        let formula = random_formula(seed);
        for bits in [0, 2, 7] {
            let strategy = Strategy {
                guess: bits & 1 != 0,
                prune: bits & 2 != 0,
                repair: bits & 4 != 0,
                ..Strategy::default()
            };
            match decide(&formula, &asked, strategy) {
                None => held += 1,
                Some(_) => violated += 1,
            }
        }
    }
    println!("{held} hold, {violated} violated");
    assert!(held > 4 && violated > 4, "{held} hold, {violated} do not");
}

#[cfg(feature = "cadical")]
#[test]
fn cadical_decides_formulas_too() {
    let strategy = Strategy {
        solver: SatSolver::Cadical,
        ..Strategy::default()
    };
    assert!(decide(&all_clauses(3), &LEVELS, strategy).is_some());
    assert!(decide(&pigeons(3), &LEVELS, strategy).is_some());
    for seed in 0..8 {
        decide(&random_formula(seed), &LEVELS[..5], strategy);
    }
}
