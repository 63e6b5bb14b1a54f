//! Bounds and values of numbers under inequalities.

use super::constraint::{Constraints, Formula, Linear, Node, Variable};
use rustc_hash::FxHashMap;

/// Values lie within this distance of 0, or of the constants at hand.
const RANGE: i64 = 1_000_000;
/// How often bounds are narrowed in one go.
const ROUNDS_MAX: usize = 40;
/// How many values are tried in all.
const TRIES_MAX: u32 = 3000;

/// Inequalities.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Terms that are at most 0.
    pub at_most: Vec<Linear>,
    /// Terms that are not 0.
    pub distinct: Vec<Linear>,
}

impl Numbers {
    /// Whether the term is said to be at most 0, or to be greater.
    pub fn is_at_most(&self, term: &Linear) -> Option<bool> {
        let opposite = term.times(-1);
        for known in &self.at_most {
            if known.terms == term.terms && known.constant >= term.constant {
                return Some(true);
            }
            // -t + c <= 0 is t >= c.
            if known.terms == opposite.terms && known.constant > opposite.constant {
                return Some(false);
            }
        }
        None
    }
}

impl Constraints {
    /// Whether a formula holds for these values.
    pub fn is(&self, formula: Formula, values: &[i64]) -> bool {
        let of = |variable: Variable| values[variable.0 as usize];
        match self.node(formula) {
            Node::True => true,
            Node::False => false,
            Node::Zero(term) => term.value(of) == 0,
            Node::AtMostZero(term) => term.value(of) <= 0,
            Node::And(all) => all.iter().all(|inner| self.is(*inner, values)),
            Node::Or(all) => all.iter().any(|inner| self.is(*inner, values)),
            Node::Not(inner) => !self.is(*inner, values),
        }
    }
}

type Bounds = FxHashMap<Variable, (i64, i64)>;

/// Whether differences of two variables go round in a circle: no value is less than itself. Bounds
/// alone would come to that one step at a time.
fn circular(at_most: &[Linear]) -> bool {
    let mut arcs: Vec<(Variable, Variable, i64)> = Vec::new();
    for term in at_most {
        if let [(first, a), (second, b)] = term.terms.as_slice() {
            // x - y + c <= 0 is x <= y - c.
            match (a, b) {
                (1, -1) => arcs.push((*second, *first, term.constant)),
                (-1, 1) => arcs.push((*first, *second, term.constant)),
                _ => {}
            }
        }
    }
    let mut least: FxHashMap<Variable, i64> = FxHashMap::default();
    for _ in 0..=arcs.len() {
        let mut changed = false;
        for (from, to, constant) in &arcs {
            let start = least.get(from).copied().unwrap_or(0);
            let bound = start.saturating_sub(*constant);
            if bound < least.get(to).copied().unwrap_or(0) {
                least.insert(*to, bound);
                changed = true;
            }
        }
        if !changed {
            return false;
        }
    }
    true
}

/// The bounds of the variables that occur; nothing where some variable has no value left.
pub(super) fn narrow(at_most: &[Linear], constraints: &Constraints) -> Option<Bounds> {
    if circular(at_most) {
        return None;
    }
    let constants = at_most.iter().map(|term| term.constant.saturating_abs());
    let range = constants
        .max()
        .unwrap_or(0)
        .saturating_mul(4)
        .saturating_add(RANGE);
    let mut bounds = Bounds::default();
    for (variable, _) in at_most.iter().flat_map(|term| &term.terms) {
        let truth = constraints.variables[variable.0 as usize].truth;
        bounds.insert(*variable, if truth { (0, 1) } else { (-range, range) });
    }
    narrow_from(at_most, bounds)
}

fn narrow_from(at_most: &[Linear], mut bounds: Bounds) -> Option<Bounds> {
    for _ in 0..ROUNDS_MAX {
        let mut changed = false;
        for term in at_most {
            let least = |bounds: &Bounds, (variable, factor): &(Variable, i64)| {
                let (low, high) = bounds.get(variable).copied().unwrap_or((0, 0));
                let end = if *factor > 0 { low } else { high };
                end.saturating_mul(*factor)
            };
            let sum = |bounds: &Bounds| {
                let each = term.terms.iter().map(|one| least(bounds, one));
                each.fold(term.constant, i64::saturating_add)
            };
            let total = sum(&bounds);
            if total > 0 {
                return None;
            }
            for one in &term.terms {
                let (variable, factor) = *one;
                // factor * x <= -(the least of the rest)
                let room = least(&bounds, one).saturating_sub(total);
                let (low, high) = bounds.get(&variable).copied().unwrap_or((0, 0));
                let narrowed = match factor > 0 {
                    true => (low, high.min(room.div_euclid(factor))),
                    false => (low.max(-room.div_euclid(-factor)), high),
                };
                if narrowed.0 > narrowed.1 {
                    return None;
                }
                if narrowed != (low, high) {
                    bounds.insert(variable, narrowed);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    Some(bounds)
}

/// Values for the free variables that fulfil the inequalities. Free variables that do not occur
/// take their defaults; so do the others, where they can.
pub(super) fn assign(
    numbers: &Numbers,
    constraints: &Constraints,
    free: impl Fn(usize) -> bool,
) -> Option<Vec<i64>> {
    let mut values: Vec<i64> = constraints.variables.iter().map(|v| v.default).collect();
    let bounds = narrow(&numbers.at_most, constraints)?;
    let mut order: Vec<Variable> = Vec::new();
    let terms = numbers.at_most.iter().chain(&numbers.distinct);
    for (variable, _) in terms.flat_map(|term| &term.terms) {
        if free(variable.0 as usize) && !order.contains(variable) {
            order.push(*variable);
        }
    }
    let width = |variable: &Variable| {
        let (low, high) = bounds.get(variable).copied().unwrap_or((-RANGE, RANGE));
        high.saturating_sub(low)
    };
    order.sort_by_key(|variable| (width(variable), *variable));
    let mut search = Search {
        numbers,
        constraints,
        order: &order,
        tries: 0,
    };
    search.run(bounds, &mut values).then_some(values)
}

struct Search<'a> {
    numbers: &'a Numbers,
    constraints: &'a Constraints,
    order: &'a [Variable],
    tries: u32,
}

impl Search<'_> {
    /// Gives the variables their values one after the other, with undoing.
    fn run(&mut self, bounds: Bounds, values: &mut [i64]) -> bool {
        let mut stack: Vec<(Bounds, Vec<i64>)> = Vec::new();
        let mut bounds = bounds;
        loop {
            let depth = stack.len();
            match self.order.get(depth) {
                None => return true,
                Some(variable) => {
                    let mut options = self.options(*variable, &bounds, values);
                    options.reverse();
                    stack.push((bounds, options));
                }
            }
            bounds = loop {
                let at = stack.len();
                let Some((before, options)) = stack.last_mut() else {
                    return false;
                };
                let Some(value) = options.pop() else {
                    stack.pop();
                    continue;
                };
                self.tries += 1;
                if self.tries > TRIES_MAX {
                    return false;
                }
                let variable = self.order[at - 1];
                let mut tried = before.clone();
                tried.insert(variable, (value, value));
                if let Some(narrowed) = narrow_from(&self.numbers.at_most, tried) {
                    values[variable.0 as usize] = value;
                    if self.apart(&self.order[..at], values) {
                        break narrowed;
                    }
                }
            };
        }
    }

    /// Whether nothing that must differ is equal among the variables that have values.
    fn apart(&self, chosen: &[Variable], values: &[i64]) -> bool {
        self.numbers.distinct.iter().all(|term| {
            let mut inside = term.terms.iter();
            let decided = inside.all(|(variable, _)| chosen.contains(variable));
            !decided || term.value(|v| values[v.0 as usize]) != 0
        })
    }

    fn options(&self, variable: Variable, bounds: &Bounds, values: &[i64]) -> Vec<i64> {
        let default = values[variable.0 as usize];
        if self.constraints.variables[variable.0 as usize].truth {
            let (low, high) = bounds.get(&variable).copied().unwrap_or((0, 1));
            let both = [default, 1 - default].into_iter();
            return both.filter(|value| (low..=high).contains(value)).collect();
        }
        let (low, high) = bounds.get(&variable).copied().unwrap_or((-RANGE, RANGE));
        let mut options = vec![self.constraints.variables[variable.0 as usize].default];
        let room = self.numbers.distinct.len() as i64 + 1;
        for step in 0..=room.min(8) {
            for from in [default, low, high, (low / 2).saturating_add(high / 2)] {
                options.extend([from.saturating_add(step), from.saturating_sub(step)]);
            }
        }
        let mut kept: Vec<i64> = Vec::new();
        for value in options {
            if (low..=high).contains(&value) && !kept.contains(&value) {
                kept.push(value);
            }
        }
        kept
    }
}
