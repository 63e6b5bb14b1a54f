//! The search visits as many states of two-phase commit as others do.
use crate::machines;

use machines::two_phase::{Seen, TwoPhase};
use protocol::search;

/// Resource managers, states generated and distinct: what stateright 0.31.0 prints for its example
/// `2pc check N`. It counts the first state as generated.
const STATERIGHT: [(usize, u64, u64); 4] = [
    (3, 1_146, 288),
    (4, 8_258, 1_568),
    (5, 58_146, 8_832),
    (6, 402_306, 50_816),
];

#[test]
fn as_many_states_as_stateright() {
    for (managers, generated, distinct) in STATERIGHT {
        let machine = TwoPhase { managers };
        for threads in [1, 2] {
            let mut workers: Vec<Seen> = (0..threads).map(|_| Seen::default()).collect();
            let found = search(&machine, &mut workers);
            assert_eq!((found.generated + 1, found.states), (generated, distinct));
            let sum = |count: fn(&Seen) -> u64| workers.iter().map(count).sum::<u64>();
            assert_eq!(sum(|seen| seen.inconsistent), 0);
            assert!(sum(|seen| seen.all_committed) > 0);
            assert!(sum(|seen| seen.all_aborted) > 0);
        }
    }
}
