//! Conditions as formulas. A comparison with NULL is neither true nor false.

use super::super::constraint::{Constraints, Formula, Linear};
use super::{Encoder, Here, Symbol, View};
use crate::expr::{Comparison, Condition, Expr, PartId, Row};
use crate::schema::Type;

/// When it is true, and when it is false; where neither, it is unknown.
#[derive(Clone, Copy)]
struct Truth {
    yes: Formula,
    no: Formula,
}

impl Encoder<'_> {
    /// That a condition is true.
    pub(super) fn holds(&mut self, condition: &Condition, here: &Here) -> Formula {
        self.truth(condition, here).yes
    }

    fn truth(&mut self, condition: &Condition, here: &Here) -> Truth {
        match condition {
            Condition::True => self.plain(Constraints::TRUE),
            Condition::False => self.plain(Constraints::FALSE),
            Condition::Compare {
                comparison,
                left,
                right,
            } => self.compare(*comparison, left, right, here),
            Condition::IsNull(value) => {
                let null = self.scalar_of(value, here).0;
                self.plain(null)
            }
            Condition::In { value, members } => self.member(value, members, here),
            Condition::Between { value, low, high } => {
                let above = self.compare(Comparison::GreaterOrEqual, value, low, here);
                let below = self.compare(Comparison::LessOrEqual, value, high, here);
                self.both(&[above, below])
            }
            // A pattern without wildcards, which the arguments may always be.
            Condition::Like { value, pattern } => {
                self.compare(Comparison::Equal, value, pattern, here)
            }
            Condition::Exists(part) => {
                let exists = self.exists(*part, here);
                self.plain(exists)
            }
            Condition::HasRow {
                statement,
                row: Row::Nth(row),
            } => {
                let statement = statement.0 as usize;
                let view = self.view_of(here.instance, statement);
                let has = self.has_row(here.instance, statement, *row, &view);
                self.plain(has)
            }
            Condition::HasRow { .. } => {
                self.caps.not_followed = true;
                self.plain(Constraints::TRUE)
            }
            Condition::And(all) => {
                let all: Vec<Truth> = all.iter().map(|one| self.truth(one, here)).collect();
                self.both(&all)
            }
            Condition::Or(all) => {
                let all: Vec<Truth> = all.iter().map(|one| self.truth(one, here).not()).collect();
                self.both(&all).not()
            }
            Condition::Not(inner) => self.truth(inner, here).not(),
            Condition::Unknown { id, .. } => {
                let symbol = self.unknown(here.instance, id.0);
                let Symbol::Scalar { value, .. } = symbol else {
                    return self.plain(Constraints::TRUE);
                };
                if let Some(variable) = value.single() {
                    self.types.insert(variable, Type::Boolean);
                }
                let yes = self.constraints.equal(&value, &Linear::constant(1));
                let no = self.constraints.equal(&value, &Linear::constant(0));
                let either = self.constraints.or([yes, no]);
                self.constraints.require(either);
                Truth { yes, no }
            }
        }
    }

    fn plain(&mut self, yes: Formula) -> Truth {
        let no = self.constraints.not(yes);
        Truth { yes, no }
    }

    fn both(&mut self, all: &[Truth]) -> Truth {
        Truth {
            yes: self.constraints.and(all.iter().map(|one| one.yes)),
            no: self.constraints.or(all.iter().map(|one| one.no)),
        }
    }

    fn compare(&mut self, how: Comparison, left: &Expr, right: &Expr, here: &Here) -> Truth {
        let (a, x) = self.scalar_of(left, here);
        let (b, y) = self.scalar_of(right, here);
        self.link(&x, &y);
        self.compare_values(how, (a, x), (b, y))
    }

    fn compare_values(
        &mut self,
        how: Comparison,
        (a, x): (Formula, Linear),
        (b, y): (Formula, Linear),
    ) -> Truth {
        let constraints = &mut self.constraints;
        let yes = match how {
            Comparison::Equal => constraints.equal(&x, &y),
            Comparison::NotEqual => {
                let equal = constraints.equal(&x, &y);
                constraints.not(equal)
            }
            Comparison::Less => constraints.less(&x, &y),
            Comparison::LessOrEqual => constraints.at_most(&x, &y),
            Comparison::Greater => constraints.less(&y, &x),
            Comparison::GreaterOrEqual => constraints.at_most(&y, &x),
        };
        let no = constraints.not(yes);
        let (a, b) = (constraints.not(a), constraints.not(b));
        Truth {
            yes: constraints.and([a, b, yes]),
            no: constraints.and([a, b, no]),
        }
    }

    fn member(&mut self, value: &Expr, members: &[Expr], here: &Here) -> Truth {
        let (null, number) = self.scalar_of(value, here);
        let mut found: Vec<Truth> = Vec::new();
        for member in members {
            match self.value(member, here) {
                Symbol::Scalar { null: other, value } => {
                    self.link(&number, &value);
                    let equal = self.compare_values(
                        Comparison::Equal,
                        (null, number.clone()),
                        (other, value),
                    );
                    found.push(equal.not());
                }
                Symbol::List { size, items } => {
                    for (at, item) in items.into_iter().enumerate() {
                        let Symbol::Scalar { null: other, value } = item else {
                            continue;
                        };
                        self.link(&number, &value);
                        let there = self.constraints.less(&Linear::constant(at as i64), &size);
                        let missing = self.constraints.not(there);
                        let equal = self.compare_values(
                            Comparison::Equal,
                            (null, number.clone()),
                            (other, value),
                        );
                        found.push(Truth {
                            yes: self.constraints.or([missing, equal.no]),
                            no: self.constraints.and([there, equal.yes]),
                        });
                    }
                }
            }
        }
        self.both(&found).not()
    }

    /// That a sub-query finds a row.
    fn exists(&mut self, part: PartId, here: &Here) -> Formula {
        let statement = self.statement(here.instance, here.statement);
        let Some(found) = statement.parts.get(part.0 as usize) else {
            return Constraints::FALSE;
        };
        let mut any = Vec::new();
        for name in self.candidates(here.instance, here.statement, part.0 as usize) {
            let mut inside = here.clone();
            inside.rows[part.0 as usize] = Some(name);
            let present = self.present(name, &here.view);
            let holds = self.holds(&found.filter, &inside);
            any.push(self.constraints.and([present, holds]));
        }
        self.constraints.or(any)
    }

    /// Every guard of every path holds.
    pub(super) fn guards(&mut self) {
        for (instance, run) in self.candidate.instances.iter().enumerate() {
            if self.is_copy(instance) {
                continue;
            }
            let here = Here {
                instance,
                statement: 0,
                rows: Vec::new(),
                view: View::default(),
            };
            for guard in &run.path.guards {
                // The side not taken: its condition was not true.
                let holds = match &guard.condition {
                    Condition::Not(inner) => {
                        let yes = self.holds(inner, &here);
                        self.constraints.not(yes)
                    }
                    condition => self.holds(condition, &here),
                };
                self.constraints.require(holds);
            }
        }
    }
}

impl Truth {
    fn not(self) -> Truth {
        Truth {
            yes: self.no,
            no: self.yes,
        }
    }
}
