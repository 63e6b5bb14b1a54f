//! The list-append histories of the Elle paper (section 6.1): transactions of one to five appends
//! and reads on 100 lists; a list is replaced by a fresh one after 100 appends.
//!
//! Reads and appends are equally likely and lists uniform; the paper does not say. Where we differ:
//! the simulated store does not abort what conflicts, it runs it at one instant, so that histories of
//! different concurrency have equally many commits. A fixed share of transactions aborts instead, and
//! one of unknown outcome ends its process, so that ever more operations are open.

use super::Plan;
use crate::generate::random::Random;

/// How many lists there are at a time.
pub const KEYS: u32 = 100;

/// How many appends a list gets.
pub const APPENDS_MAX: u8 = 100;

const OPS_MAX: u32 = 5;

pub fn plan(plan: &mut Plan, random: &mut Random) {
    for _ in 0..random.between(1, OPS_MAX) {
        let key = random.between(0, KEYS - 1);
        if random.one_in(2) {
            plan.read(key);
        } else {
            plan.write(key);
        }
    }
}
