//! Every solver with every choice of shortcuts against the executable definitions, on small random
//! histories, every verdict certified. With the feature `cadical`, CaDiCaL is one of the solvers.
//!
//! `ISOLDE_SEEDS=60 cargo test --release -p isolde-checker --features cadical --test all solvers`
//! tries more than 100 000 histories.

use crate::small::{Shape, random_history, show};
use checker::{Checked, Options, SatSolver, Strategy, check};
use history::{History, Initial, Level, Verdict, definition};

#[cfg(not(feature = "cadical"))]
const SOLVERS: [SatSolver; 1] = [SatSolver::BatSat];
#[cfg(feature = "cadical")]
const SOLVERS: [SatSolver; 2] = [SatSolver::BatSat, SatSolver::Cadical];

/// Histories by shape, unless `ISOLDE_SEEDS` asks for so many times as many.
const SEEDS: u64 = 300;

fn seeds(start: u64) -> std::ops::Range<u64> {
    let factor = std::env::var("ISOLDE_SEEDS").ok();
    let factor: u64 = factor.and_then(|text| text.parse().ok()).unwrap_or(1);
    start..start + SEEDS * factor
}

/// Guess, pruning and repair, each on or off.
fn strategies(solver: SatSolver) -> impl Iterator<Item = Strategy> {
    (0..8u32).map(move |bits| Strategy {
        guess: bits & 1 != 0,
        prune: bits & 2 != 0,
        repair: bits & 4 != 0,
        solver,
        ..Strategy::default()
    })
}

/// How many cycles the solver ran into on the way to an answer.
fn cycles(answer: &Checked) -> u64 {
    let solving = answer.stages.iter().filter(|stage| stage.name == "solve");
    let counts = solving.flat_map(|stage| &stage.counts);
    counts
        .filter(|count| count.0 == "cycles")
        .map(|c| c.1)
        .sum()
}

struct Tally {
    histories: u64,
    answers: u64,
    /// Answers for which the solver had to learn from a cycle.
    solved: u64,
    unknown: u64,
}

fn ask(history: &History, strategy: Strategy, truth: &[(Level, bool)], at: &str) -> Tally {
    let levels: Vec<Level> = Level::all()
        .filter(|level| !Level::WEAK.contains(level))
        .collect();
    let options = Options {
        strategy,
        ..Options::default()
    };
    let mut tally = Tally {
        histories: 0,
        answers: 0,
        solved: 0,
        unknown: 0,
    };
    for answer in check(history, &levels, &options) {
        let level = answer.result.level;
        let said = match &answer.result.verdict {
            Verdict::Holds(_) => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(_) => {
                tally.unknown += 1;
                continue;
            }
        };
        let holds = truth.iter().any(|&(other, holds)| other == level && holds);
        let shown = || format!("{at}, {strategy:?}, {level}\n{}", show(history));
        assert_eq!(said, holds, "{}", shown());
        let certified = history::certify(history, &Initial::default(), &answer.result);
        assert!(certified.is_ok(), "{certified:?}, {}", shown());
        tally.answers += 1;
        tally.solved += u64::from(cycles(&answer) > 0);
    }
    tally
}

fn agree(shape: &Shape, start: u64) {
    for solver in SOLVERS {
        let mut total = Tally {
            histories: 0,
            answers: 0,
            solved: 0,
            unknown: 0,
        };
        for seed in seeds(start) {
            let history = random_history(shape, seed);
            let Ok(truth) = definition::holds_all(&history, &Initial::default()) else {
                continue;
            };
            total.histories += 1;
            for strategy in strategies(solver) {
                let tally = ask(&history, strategy, &truth, &format!("seed {seed}"));
                total.answers += tally.answers;
                total.solved += tally.solved;
                total.unknown += tally.unknown;
            }
        }
        let Tally {
            histories,
            answers,
            solved,
            unknown,
        } = total;
        println!(
            "{solver:?}: {histories} histories, {answers} answers, {solved} of them with \
             cycles, {unknown} unknown"
        );
        assert_eq!(unknown, 0);
        assert!(solved > 0, "the solver should have something to do");
    }
}

#[test]
fn solvers_agree_on_registers() {
    let shape = Shape {
        sessions: 5,
        txns: 7,
        ops: 4,
        keys: 3,
        ..Shape::default()
    };
    agree(&shape, 2_000_000);
}

#[test]
fn solvers_agree_on_blind_writes() {
    let shape = Shape {
        sessions: 6,
        keys: 2,
        txns: 7,
        ..Shape::default()
    };
    agree(&shape, 2_100_000);
}

#[test]
fn solvers_agree_on_values_written_twice() {
    let shape = Shape {
        duplicates: 40,
        txns: 5,
        sessions: 4,
        ..Shape::default()
    };
    agree(&shape, 2_200_000);
}

#[test]
fn solvers_agree_on_uncertain_histories() {
    let shape = Shape {
        duplicates: 30,
        aborted: 8,
        indeterminate: 25,
        txns: 5,
        sessions: 4,
        ..Shape::default()
    };
    agree(&shape, 2_300_000);
}

#[test]
fn solvers_agree_where_half_is_of_unknown_outcome() {
    let shape = Shape {
        duplicates: 50,
        indeterminate: 50,
        txns: 6,
        sessions: 3,
        ..Shape::default()
    };
    agree(&shape, 2_600_000);
}

#[test]
fn solvers_agree_on_read_modify_writes() {
    let shape = Shape {
        read_modify_write: 50,
        sessions: 5,
        keys: 3,
        ..Shape::default()
    };
    agree(&shape, 2_400_000);
}

#[test]
fn solvers_agree_on_times() {
    let shape = Shape {
        timed: true,
        sessions: 5,
        indeterminate: 10,
        ..Shape::default()
    };
    agree(&shape, 2_500_000);
}

/// Whether a stage of this name has counted something on the way to an answer.
fn did(answer: &Checked, name: &str) -> bool {
    let counts = |stage: &checker::Stage| stage.counts.iter().any(|count| count.1 > 0);
    let mut stages = answer.stages.iter().filter(|stage| stage.name == name);
    stages.any(counts)
}

/// With more transactions than the definitions can try, shortcuts are held against each other. So many are needed
/// before orders are decided by likelihood.
#[test]
fn shortcuts_agree_on_larger_histories() {
    let shape = Shape {
        sessions: 16,
        txns: 16,
        ops: 4,
        keys: 4,
        ..Shape::default()
    };
    let levels: Vec<Level> = Level::all()
        .filter(|level| !Level::WEAK.contains(level))
        .collect();
    let (mut likely, mut saturated, mut held) = (0, 0, 0);
    for seed in seeds(2_700_000) {
        let history = random_history(&shape, seed);
        let mut first: Option<Vec<bool>> = None;
        for strategy in strategies(SatSolver::default()) {
            let options = Options {
                strategy,
                ..Options::default()
            };
            let answers = check(&history, &levels, &options);
            for answer in &answers {
                let certified = history::certify(&history, &Initial::default(), &answer.result);
                let level = answer.result.level;
                let shown = || format!("seed {seed}, {level}\n{}", show(&history));
                assert!(certified.is_ok(), "{certified:?}, {}", shown());
                let is_known = !matches!(answer.result.verdict, Verdict::Unknown(_));
                assert!(is_known, "{strategy:?}, {}", shown());
                likely += u32::from(did(answer, "likely"));
                saturated += u32::from(did(answer, "saturate"));
            }
            let holds = |answer: &Checked| matches!(answer.result.verdict, Verdict::Holds(_));
            let said: Vec<bool> = answers.iter().map(holds).collect();
            held += said.iter().filter(|&&holds| holds).count();
            let wanted = first.get_or_insert_with(|| said.clone());
            assert_eq!(
                &said,
                wanted,
                "seed {seed}, {strategy:?}\n{}",
                show(&history)
            );
        }
    }
    println!("{likely} by likelihood, {saturated} saturated, {held} held");
    assert!(
        likely > 30 && saturated > 50 && held > 50,
        "{likely}, {saturated}, {held}"
    );
}
