//! What is assumed of each key: the engine against the executable definition, with evidence
//! certified under the same assumption, on small random histories.
use crate::small;

use checker::{Options, cyclic_versions};
use history::{Initial, KeyOrder, Level, certify, definition};
use small::{Shape, Tally, random_history, seeds, show};

fn agree(shape: &Shape, seeds: std::ops::Range<u64>) {
    let levels: Vec<Level> = Level::all().collect();
    let initial = Initial::default();
    let mut tally = Tally::default();
    let (mut differing, mut circles) = (0, 0);
    for seed in seeds {
        let history = random_history(shape, seed);
        let free = definition::holds_all(&history, &initial).expect("in scope");
        for keys in KeyOrder::ALL {
            let truth = definition::holds_all_assuming(&history, &initial, keys);
            let truth = truth.expect("in scope");
            differing += u64::from(truth != free);
            let options = Options {
                keys,
                ..Options::default()
            };
            let checked = tally.add(&history, &levels, &options, shape.duplicates > 0);
            checked.unwrap_or_else(|wrong| panic!("seed {seed}, {keys}, {wrong}"));
            let circle = cyclic_versions(&history, &options).expect("no limit");
            if let Some(anomaly) = circle {
                circles += 1;
                let certified =
                    certify::certify_cyclic_versions(&history, &initial, keys, &anomaly);
                let refused = certified.err().map(|refusal| refusal.to_string());
                assert_eq!(refused, None, "seed {seed}, {keys}\n{}", show(&history));
            }
        }
    }
    println!("{tally:?}, {differing} differ, {circles} have circles");
    assert!(differing > 20 && circles > 20, "assumptions should matter");
}

#[test]
fn registers_agree_with_the_definition() {
    let shape = Shape {
        timed: true,
        recorded: 60,
        ..Shape::default()
    };
    agree(&shape, seeds(2_000_000, 1500));
}

#[test]
fn uncertain_registers_agree_with_the_definition() {
    let shape = Shape {
        timed: true,
        recorded: 60,
        aborted: 10,
        indeterminate: 20,
        read_modify_write: 30,
        ..Shape::default()
    };
    agree(&shape, seeds(2_010_000, 1500));
}

#[test]
fn values_written_twice_agree_with_the_definition() {
    let shape = Shape {
        timed: true,
        recorded: 60,
        duplicates: 20,
        txns: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(2_020_000, 1000));
}
