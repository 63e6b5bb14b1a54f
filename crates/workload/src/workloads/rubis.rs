//! RUBiS, an auction site, on tables: browsing (37 %), offering an item (36 %), bidding (11 %), commenting
//! (11 %), and registering (5 %). Items are zipfian, users uniform. A bid updates the item's highest bid
//! and how many there are; what is offered, bid, commented and registered are new rows.
//!
//! Source: Cobra (OSDI 2020, section 6); PolySI (VLDB 2023, section 5.1). The mix is about that of
//! Cobra's published logs. Where we differ: a tenth as many users as items, and 1 000 items unless the
//! user says otherwise, where Cobra has 20 000 and 200 000.

use super::client::{Client, Script, cell, scripted};
use super::{Shape, filled};
use crate::generate::config::Distribution;
use crate::generate::keys::KeyChoice;
use crate::generate::random::Random;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Cell, Schema, Table};

const USER: u16 = 0;
const ITEM: u16 = 1;
const BID: u16 = 2;
const COMMENT: u16 = 3;

const RATING: u16 = 0;
const SELLER: u16 = 0;
const BID_MAX: u16 = 1;
const BID_COUNT: u16 = 2;

/// How many items a page shows.
const PAGE: u32 = 4;

struct Rubis {
    users: u64,
    items: u64,
    choice: KeyChoice,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let items = shape.keys.unwrap_or(1000);
    let users = (items / 10).max(1);
    let distribution = shape.distribution.unwrap_or(Distribution::Zipfian(0.99));
    let script = Rubis {
        users,
        items,
        choice: KeyChoice::new(distribution, items),
    };
    let table = Table::registers;
    let schema = Schema {
        tables: vec![
            table("rubis_user", &["rating"], filled(users)),
            table(
                "rubis_item",
                &["seller", "bid_max", "bid_count"],
                filled(items),
            ),
            table("rubis_bid", &["amount"], 0),
            table("rubis_comment", &["content"], 0),
        ],
    };
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for Rubis {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        match client.random.below(100) {
            0..37 => {
                plan.name = "browse";
                for _ in 0..PAGE {
                    let item = self.item(&mut client.random);
                    plan.act(Action::Read(cell(ITEM, SELLER, item)));
                    plan.act(Action::Read(cell(ITEM, BID_MAX, item)));
                    plan.act(Action::Read(cell(ITEM, BID_COUNT, item)));
                }
            }
            37..73 => {
                plan.name = "offer";
                plan.act(Action::Read(self.user(&mut client.random)));
                let item = self.items + client.unique.take() as u64;
                client.write(plan, cell(ITEM, SELLER, item));
                client.write(plan, cell(ITEM, BID_MAX, item));
                client.write(plan, cell(ITEM, BID_COUNT, item));
            }
            73..84 => {
                plan.name = "bid";
                plan.act(Action::Read(self.user(&mut client.random)));
                let item = self.item(&mut client.random);
                client.update(plan, cell(ITEM, BID_MAX, item));
                client.update(plan, cell(ITEM, BID_COUNT, item));
                let bid = client.unique.take() as u64;
                client.write(plan, cell(BID, 0, bid));
            }
            84..95 => {
                plan.name = "comment";
                let item = self.item(&mut client.random);
                plan.act(Action::Read(cell(ITEM, SELLER, item)));
                let rated = self.user(&mut client.random);
                client.update(plan, rated);
                let comment = client.unique.take() as u64;
                client.write(plan, cell(COMMENT, 0, comment));
            }
            _ => {
                plan.name = "register";
                // Nobody may have the name yet.
                let user = self.users + client.unique.take() as u64;
                client.update(plan, cell(USER, RATING, user));
            }
        }
    }
}

impl Rubis {
    fn item(&self, random: &mut Random) -> u64 {
        u64::from(self.choice.draw(random))
    }

    fn user(&self, random: &mut Random) -> Cell {
        cell(USER, RATING, random.below(self.users))
    }
}
