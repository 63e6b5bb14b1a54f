//! RUBiS, an auction site, on Cobra's 20 000 users and 200 000 items: browsing (37 %), offering an
//! item (36 %), bidding (11 %), commenting (11 %), and registering (5 %). Items are zipfian, users
//! uniform. A bid updates the item and the summary of its bids; what is offered, bid, commented and
//! registered are new rows.
//!
//! The mix is about that of Cobra's published logs; the paper does not say it.

use super::{Plan, Rows};
use crate::generate::random::Random;
use crate::generate::zipf::Zipf;

const USERS: u32 = 20_000;
const ITEMS: u32 = 200_000;
const ITEM: u32 = USERS;
const SUMMARY: u32 = ITEM + ITEMS;
pub const KEYS: u32 = SUMMARY + ITEMS;

/// How many items a page shows.
const PAGE: u32 = 4;

pub struct Rubis {
    items: Zipf,
}

impl Rubis {
    pub fn new() -> Rubis {
        Rubis {
            items: Zipf::new(u64::from(ITEMS), 0.99),
        }
    }

    pub fn plan(&mut self, plan: &mut Plan, random: &mut Random, rows: &mut Rows) {
        match random.below(100) {
            0..37 => {
                for _ in 0..PAGE {
                    let item = self.item(random);
                    plan.read(ITEM + item);
                    plan.read(SUMMARY + item);
                }
            }
            37..73 => {
                let offered = rows.take(2);
                plan.read(user(random));
                plan.write(offered);
                plan.write(offered + 1);
            }
            73..84 => {
                let item = self.item(random);
                plan.read(user(random));
                plan.update(ITEM + item);
                plan.update(SUMMARY + item);
                plan.write(rows.take(1));
            }
            84..95 => {
                plan.read(ITEM + self.item(random));
                plan.write(rows.take(1));
            }
            // Nobody may have the name yet.
            _ => plan.update(rows.take(1)),
        }
    }

    fn item(&self, random: &mut Random) -> u32 {
        self.items.draw(random) as u32 - 1
    }
}

fn user(random: &mut Random) -> u32 {
    random.below(u64::from(USERS)) as u32
}
