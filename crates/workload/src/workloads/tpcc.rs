//! TPC-C on tables, in the mix of the standard (revision 5.11, clause 5.2.3): 45 % new-order, 43 % payment,
//! and 4 % each of order-status, delivery and stock-level. Customers and items are chosen by the
//! standard's non-uniform numbers (clause 2.1.6).
//!
//! Every update reads its cell first. The lines of an order are one group of rows, which one statement
//! reads. What is read does not decide what is done, so orders have unique numbers, not the
//! district's next one, and those to deliver or to look at are the ones that we know to have committed.
//! Where we differ from the standard: two warehouses of 10 districts, 1 000 items and 100 customers a
//! district, so that set-up is quick; stock-level looks at the latest order, not at the latest twenty;
//! delivery marks the order, not each of its lines.

use super::client::{Client, Script, cell, scripted};
use super::{Shape, filled};
use crate::generate::random::Random;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Cell, Schema, Table};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

const DISTRICTS: u64 = 10;
const CUSTOMERS: u64 = 100;
const ITEMS: u64 = 1000;

/// Rows of a group of order lines; an order has at most 15.
const LINES: u64 = 16;

const WAREHOUSE: u16 = 0;
const DISTRICT: u16 = 1;
const CUSTOMER: u16 = 2;
const ITEM: u16 = 3;
const STOCK: u16 = 4;
const ORDERS: u16 = 5;
const NEW_ORDER: u16 = 6;
const ORDER_LINE: u16 = 7;
const HISTORY: u16 = 8;

/// The tables in the order of their numbers, with their columns.
const TABLES: [(&str, &[&str]); 9] = [
    ("tpcc_warehouse", &["tax", "ytd"]),
    ("tpcc_district", &["next_o_id", "ytd"]),
    ("tpcc_customer", &["balance", "ytd_payment", "delivery_cnt"]),
    ("tpcc_item", &["price"]),
    ("tpcc_stock", &["quantity", "ytd"]),
    ("tpcc_orders", &["customer", "carrier"]),
    ("tpcc_new_order", &["waiting"]),
    ("tpcc_order_line", &["item"]),
    ("tpcc_history", &["amount"]),
];

/// Orders that wait for delivery in a district; the standard begins with as many.
const WAITING_MAX: usize = 900;

/// A new order, by the numbers of its rows.
#[derive(Clone)]
struct Order {
    number: u64,
    district: u64,
    customer: u64,
    stocks: Vec<u64>,
}

impl Order {
    fn lines(&self) -> Cell {
        cell(ORDER_LINE, 0, self.number * LINES)
    }
}

/// What is known of orders; shared by all clients.
#[derive(Default)]
struct Orders {
    /// By district: the order that committed last.
    latest: HashMap<u64, Order>,
    /// By district: orders that nobody has delivered yet, the oldest first.
    waiting: HashMap<u64, VecDeque<Order>>,
    /// By the tag of a transaction under way: the order it makes, or those it delivers.
    under_way: HashMap<u64, Vec<Order>>,
}

struct TpcC {
    warehouses: u64,
    orders: Mutex<Orders>,
}

/// `keys` is the number of warehouses.
pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let warehouses = shape.keys.unwrap_or(2);
    let rows = |table: u16| match table {
        WAREHOUSE => warehouses,
        DISTRICT => warehouses * DISTRICTS,
        CUSTOMER => warehouses * DISTRICTS * CUSTOMERS,
        ITEM => ITEMS,
        STOCK => warehouses * ITEMS,
        _ => 0,
    };
    let tables = (0..).zip(TABLES).map(|(number, (name, columns))| Table {
        group: if number == ORDER_LINE {
            LINES as u32
        } else {
            0
        },
        ..Table::registers(name, columns, filled(rows(number)))
    });
    let schema = Schema {
        tables: tables.collect(),
    };
    let script = TpcC {
        warehouses,
        orders: Mutex::default(),
    };
    // The standard rolls back one new-order of a hundred (clause 2.4.1.4).
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.01),
    )
}

impl Script for TpcC {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let warehouse = client.random.below(self.warehouses);
        let district = warehouse * DISTRICTS + client.random.below(DISTRICTS);
        match client.random.below(100) {
            0..45 => self.new_order(client, plan, district),
            45..88 => payment(client, plan, district),
            88..92 => self.order_status(client, plan, district),
            92..96 => self.delivery(client, plan, warehouse),
            _ => self.stock_level(plan, district),
        }
    }

    fn ended(&self, plan: &Plan, committed: bool) {
        let mut orders = self.orders();
        let Some(ended) = orders.under_way.remove(&plan.tag) else {
            return;
        };
        match (plan.name, committed) {
            ("new order", true) => ended.into_iter().for_each(|order| {
                orders.latest.insert(order.district, order.clone());
                let waiting = orders.waiting.entry(order.district).or_default();
                if waiting.len() < WAITING_MAX {
                    waiting.push_back(order);
                }
            }),
            // Somebody has to deliver them yet.
            ("delivery", false) => ended.into_iter().for_each(|order| {
                let waiting = orders.waiting.entry(order.district).or_default();
                waiting.push_front(order);
            }),
            _ => {}
        }
    }
}

impl TpcC {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An order of 5 to 15 items.
    fn new_order(&self, client: &mut Client, plan: &mut Plan, district: u64) {
        plan.name = "new order";
        let warehouse = district / DISTRICTS;
        let number = client.unique.take() as u64;
        let customer = customer(district, &mut client.random);
        plan.act(Action::Read(cell(WAREHOUSE, 0, warehouse)));
        client.update(plan, cell(DISTRICT, 0, district));
        plan.act(Action::Read(cell(CUSTOMER, 0, customer)));
        client.write(plan, cell(ORDERS, 0, number));
        client.write(plan, cell(NEW_ORDER, 0, number));
        let mut items = Vec::new();
        for _ in 0..client.random.between(5, 15) {
            let item = non_uniform(8191, 7911, ITEMS, &mut client.random);
            if !items.contains(&item) {
                items.push(item);
            }
        }
        // In one order for all, lest transactions wait for each other in a circle.
        items.sort_unstable();
        for (line, item) in (0..).zip(&items) {
            let stock = warehouse * ITEMS + item;
            plan.act(Action::Read(cell(ITEM, 0, *item)));
            client.update(plan, cell(STOCK, 0, stock));
            client.update(plan, cell(STOCK, 1, stock));
            client.write(plan, cell(ORDER_LINE, 0, number * LINES + line));
        }
        plan.tag = number;
        let order = Order {
            number,
            district,
            customer,
            stocks: items.iter().map(|item| warehouse * ITEMS + item).collect(),
        };
        self.orders().under_way.insert(number, vec![order]);
    }

    /// A customer's order, if the district has one, and its lines.
    fn order_status(&self, client: &mut Client, plan: &mut Plan, district: u64) {
        plan.name = "order status";
        let customer = customer(district, &mut client.random);
        let latest = self.orders().latest.get(&district).cloned();
        let Some(order) = latest else {
            plan.act(Action::Read(cell(CUSTOMER, 0, customer)));
            return;
        };
        plan.act(Action::Read(cell(CUSTOMER, 0, order.customer)));
        plan.act(Action::Read(cell(ORDERS, 1, order.number)));
        plan.act(Action::ReadGroup(order.lines()));
    }

    /// The oldest order of every district of the warehouse that has one waiting.
    fn delivery(&self, client: &mut Client, plan: &mut Plan, warehouse: u64) {
        plan.name = "delivery";
        plan.act(Action::Read(cell(WAREHOUSE, 0, warehouse)));
        let mut orders = self.orders();
        let districts = warehouse * DISTRICTS..(warehouse + 1) * DISTRICTS;
        let delivered: Vec<Order> = districts
            .filter_map(|district| orders.waiting.get_mut(&district)?.pop_front())
            .collect();
        for order in &delivered {
            client.update(plan, cell(NEW_ORDER, 0, order.number));
            client.update(plan, cell(ORDERS, 1, order.number));
            plan.act(Action::ReadGroup(order.lines()));
            client.update(plan, cell(CUSTOMER, 0, order.customer));
            client.update(plan, cell(CUSTOMER, 2, order.customer));
        }
        plan.tag = client.unique.take() as u64;
        orders.under_way.insert(plan.tag, delivered);
    }

    /// The lines of the district's latest order and the stock of their items.
    fn stock_level(&self, plan: &mut Plan, district: u64) {
        plan.name = "stock level";
        plan.act(Action::Read(cell(DISTRICT, 0, district)));
        let latest = self.orders().latest.get(&district).cloned();
        if let Some(order) = latest {
            plan.act(Action::ReadGroup(order.lines()));
            for stock in order.stocks {
                plan.act(Action::Read(cell(STOCK, 0, stock)));
            }
        }
    }
}

fn payment(client: &mut Client, plan: &mut Plan, district: u64) {
    plan.name = "payment";
    let customer = customer(district, &mut client.random);
    client.update(plan, cell(WAREHOUSE, 1, district / DISTRICTS));
    client.update(plan, cell(DISTRICT, 1, district));
    client.update(plan, cell(CUSTOMER, 0, customer));
    client.update(plan, cell(CUSTOMER, 1, customer));
    let entry = client.unique.take() as u64;
    client.write(plan, cell(HISTORY, 0, entry));
}

fn customer(district: u64, random: &mut Random) -> u64 {
    district * CUSTOMERS + non_uniform(1023, 259, CUSTOMERS, random)
}

/// The standard's NURand from 0 on: some numbers below `count` come far more often than others.
fn non_uniform(spread: u32, constant: u64, count: u64, random: &mut Random) -> u64 {
    let mask = u64::from(random.between(0, spread));
    ((mask | random.below(count)) + constant) % count
}
