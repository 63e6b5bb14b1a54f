//! Stretches of a table between two keys, as InnoDB locks them.

use crate::execute::value::total_order;
use crate::expr::Value;
use crate::schema::TableId;
use std::cmp::Ordering;

/// The keys between two others, both excluded; without one, up to the end of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Region {
    pub table: TableId,
    pub low: Option<Vec<Value>>,
    pub high: Option<Vec<Value>>,
}

impl Region {
    pub fn whole(table: TableId) -> Region {
        Region {
            table,
            low: None,
            high: None,
        }
    }

    /// A single key; nothing but [`Region::covers`] of another region is asked of it.
    pub fn point(table: TableId, key: Vec<Value>) -> Region {
        Region {
            table,
            low: Some(key.clone()),
            high: Some(key),
        }
    }

    /// Whether a key, given as a point, lies inside.
    pub fn covers(&self, point: &Region) -> bool {
        let Some(key) = &point.low else {
            return false;
        };
        let above = |low: &Vec<Value>| order(low, key).is_lt();
        let below = |high: &Vec<Value>| order(key, high).is_lt();
        self.table == point.table
            && self.low.as_ref().is_none_or(above)
            && self.high.as_ref().is_none_or(below)
    }

    /// The gap around a key or a beginning of keys, between those of `keys` that do not begin so.
    pub fn around(table: TableId, beginning: &[Value], keys: &[Vec<Value>]) -> Region {
        let mut region = Region::whole(table);
        for key in keys {
            let start = &key[..beginning.len().min(key.len())];
            match order(start, beginning) {
                Ordering::Less => {
                    if region
                        .low
                        .as_ref()
                        .is_none_or(|low| order(low, key).is_lt())
                    {
                        region.low = Some(key.clone());
                    }
                }
                Ordering::Greater => {
                    if region
                        .high
                        .as_ref()
                        .is_none_or(|high| order(key, high).is_lt())
                    {
                        region.high = Some(key.clone());
                    }
                }
                Ordering::Equal => {}
            }
        }
        region
    }
}

fn order(a: &[Value], b: &[Value]) -> Ordering {
    let pairs = a.iter().zip(b);
    let mut orders = pairs.map(|(a, b)| total_order(a, b));
    let unequal = orders.find(|order| *order != Ordering::Equal);
    unequal.unwrap_or(a.len().cmp(&b.len()))
}
