//! TPC-C on one warehouse with 10 districts, 30 000 customers and 100 000 items, in the mix of the
//! standard (revision 5.11, clause 5.2.3): 45 % new-order, 43 % payment, and 4 % each of
//! order-status, delivery and stock-level. Customers and items are chosen by the standard's
//! non-uniform numbers (clause 2.1.6).
//!
//! Every update reads its row first, so the version order follows from the reads, except where a
//! delivery is older than the order it delivers. Where we differ from the standard, as Cobra's
//! version does: payments add to the customer and to a history row, not to totals of the warehouse
//! and the district, so that not all transactions meet in one row; and stock-level looks at the
//! latest order of a district, not at the latest twenty.

use super::{Plan, Rows};
use crate::generate::random::Random;
use std::collections::VecDeque;

const DISTRICTS: u32 = 10;
const CUSTOMERS: u32 = 3000;
const ITEMS: u32 = 100_000;

const WAREHOUSE: u32 = 0;
const DISTRICT: u32 = 1;
const CUSTOMER: u32 = DISTRICT + DISTRICTS;
const ITEM: u32 = CUSTOMER + DISTRICTS * CUSTOMERS;
const STOCK: u32 = ITEM + ITEMS;
pub const KEYS: u32 = STOCK + ITEMS;

/// Orders that wait for delivery in a district; the standard begins with as many.
const WAITING_MAX: usize = 900;

/// An order: the order row, the new-order row, and the lines have consecutive keys.
#[derive(Clone, Debug)]
pub struct Order {
    district: u32,
    customer: u32,
    first: u32,
    items: Vec<u32>,
}

impl Order {
    fn lines(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.first + 2;
        first..first + self.items.len() as u32
    }
}

#[derive(Default)]
struct District {
    latest: Option<Order>,
    waiting: VecDeque<Order>,
}

pub struct TpcC {
    districts: Vec<District>,
}

impl TpcC {
    pub fn new() -> TpcC {
        TpcC {
            districts: (0..DISTRICTS).map(|_| District::default()).collect(),
        }
    }

    pub fn plan(&mut self, plan: &mut Plan, random: &mut Random, rows: &mut Rows) {
        let district = random.below(u64::from(DISTRICTS)) as u32;
        match random.below(100) {
            0..45 => new_order(district, plan, random, rows),
            45..88 => payment(district, plan, random, rows),
            88..92 => self.order_status(district, plan, random),
            92..96 => self.delivery(plan),
            _ => self.stock_level(district, plan),
        }
    }

    /// A customer's order, if the district has one, and its lines.
    fn order_status(&self, district: u32, plan: &mut Plan, random: &mut Random) {
        let Some(order) = &self.districts[district as usize].latest else {
            plan.read(customer(district, random));
            return;
        };
        plan.read(order.customer);
        plan.read(order.first);
        order.lines().for_each(|line| plan.read(line));
    }

    /// The oldest order of every district that has one waiting.
    fn delivery(&mut self, plan: &mut Plan) {
        plan.read(WAREHOUSE);
        for district in &mut self.districts {
            if let Some(order) = district.waiting.pop_front() {
                plan.update(order.first + 1);
                plan.update(order.first);
                plan.update(order.customer);
            }
        }
    }

    /// The lines of the district's latest order and the stock of their items.
    fn stock_level(&self, district: u32, plan: &mut Plan) {
        plan.read(DISTRICT + district);
        if let Some(order) = &self.districts[district as usize].latest {
            for (line, item) in order.lines().zip(&order.items) {
                plan.read(line);
                plan.read(STOCK + item);
            }
        }
    }

    pub fn committed(&mut self, order: Order) {
        let district = &mut self.districts[order.district as usize];
        district.latest = Some(order.clone());
        if district.waiting.len() < WAITING_MAX {
            district.waiting.push_back(order);
        }
    }
}

/// An order of 5 to 15 items.
fn new_order(district: u32, plan: &mut Plan, random: &mut Random, rows: &mut Rows) {
    let customer = customer(district, random);
    plan.read(WAREHOUSE);
    plan.update(DISTRICT + district);
    plan.read(customer);
    let mut items = Vec::new();
    for _ in 0..random.between(5, 15) {
        let item = non_uniform(8191, 7911, ITEMS, random);
        if !items.contains(&item) {
            items.push(item);
        }
    }
    let first = rows.take(2 + items.len() as u32);
    plan.write(first);
    plan.write(first + 1);
    let order = Order {
        district,
        customer,
        first,
        items,
    };
    for (line, &item) in order.lines().zip(&order.items) {
        plan.read(ITEM + item);
        plan.update(STOCK + item);
        plan.write(line);
    }
    plan.order = Some(order);
}

fn payment(district: u32, plan: &mut Plan, random: &mut Random, rows: &mut Rows) {
    plan.read(WAREHOUSE);
    plan.read(DISTRICT + district);
    plan.update(customer(district, random));
    plan.write(rows.take(1));
}

fn customer(district: u32, random: &mut Random) -> u32 {
    CUSTOMER + district * CUSTOMERS + non_uniform(1023, 259, CUSTOMERS, random)
}

/// The standard's NURand from 0 on: some numbers below `count` come far more often than others.
fn non_uniform(spread: u32, constant: u32, count: u32, random: &mut Random) -> u32 {
    let mask = random.between(0, spread);
    let number = random.between(0, count - 1);
    ((mask | number) + constant) % count
}
