//! A statement executed: what it sees, and what it writes.

use super::super::candidate::visible_by_level;
use super::super::constraint::{Constraints, Formula};
use super::{Encoder, Here, Symbol, View, Write, WriteKind, WrittenRow, strength};
use crate::access::Reach;
use crate::ir::{Action, Insert, OnConflict, Part, Set};
use crate::scenario::Point;
use crate::schema::{ColumnId, TableId, Type};
use std::rc::Rc;

impl Encoder<'_> {
    /// Executes a statement in its turn.
    pub(super) fn execute(&mut self, turn: usize, instance: usize, position: usize) {
        let view = self.visible(turn, instance);
        self.views.insert((instance, position), view.clone());
        let statement = self.statement(instance, position);
        for part in &statement.parts {
            self.bind_key(instance, position, part, &view);
        }
        let point = Point {
            instance,
            statement: position as u32,
        };
        for part in &statement.parts {
            match &part.action {
                Action::Select(_) => {}
                Action::Update { sets } => {
                    self.change(turn, point, part, WriteKind::Update, sets, &view);
                }
                Action::Delete => self.change(turn, point, part, WriteKind::Delete, &[], &view),
                Action::Insert(insert) => self.insert(turn, point, part, insert, &view),
            }
        }
    }

    /// The writes that a turn sees.
    fn visible(&self, turn: usize, instance: usize) -> View {
        let step = &self.candidate.schedule[turn];
        let sees = |write: &Write| {
            write.point.instance == instance
                || match &step.sees {
                    Some(sees) => sees.contains(&write.turn),
                    None => {
                        let level = self.candidate.instances[instance].level;
                        visible_by_level(&self.candidate.schedule, level, write.turn, turn)
                    }
                }
        };
        let all = self.writes.iter().enumerate();
        let seen = all.filter(|(_, write)| sees(write)).map(|(at, _)| at);
        Rc::new(seen.collect())
    }

    /// The key of the row a part calls is what the part says.
    fn bind_key(&mut self, instance: usize, position: usize, part: &Part, view: &View) {
        let Some(name) = self.called.get(&(instance, position, part.id.0 as usize)) else {
            return;
        };
        let key = self.names[*name].key.clone();
        let Reach::Key(bindings) = part.reach(&self.program.schema) else {
            return;
        };
        let here = self.here(instance, position, view);
        for (bound, term) in bindings.iter().zip(key) {
            let (null, value) = self.scalar_of(bound.value, &here);
            self.link(&value, &term);
            let equal = self.constraints.equal(&value, &term);
            match &part.action {
                // A new row has a key.
                Action::Insert(insert) if !insert.from_select => {
                    let there = self.constraints.not(null);
                    self.demand(instance, there);
                }
                _ => {}
            }
            let bound = self.constraints.or([equal, null]);
            self.constraints.require(bound);
        }
    }

    /// Where these values are written, none is NULL that must not be.
    fn not_null(
        &mut self,
        instance: usize,
        part: &Part,
        values: &[(ColumnId, Symbol)],
        when: Formula,
    ) {
        let table = self.program.schema.table(part.table);
        for (column, value) in values {
            if let (Symbol::Scalar { null, .. }, false) =
                (value, table.columns[column.index()].nullable)
            {
                let there = self.constraints.not(*null);
                let written = self.constraints.implies(when, there);
                self.demand(instance, written);
            }
        }
    }

    fn here(&self, instance: usize, statement: usize, view: &View) -> Here {
        let parts = self.statement(instance, statement).parts.len();
        Here {
            instance,
            statement,
            rows: vec![None; parts],
            view: view.clone(),
        }
    }

    /// An update or a delete.
    fn change(
        &mut self,
        turn: usize,
        point: Point,
        part: &Part,
        kind: WriteKind,
        sets: &[Set],
        view: &View,
    ) {
        let (instance, position) = (point.instance, point.statement as usize);
        let at = part.id.0 as usize;
        let tuples = self.matches(instance, position, view);
        let mut rows: Vec<WrittenRow> = Vec::new();
        for name in self.candidates(instance, position, at) {
            let found = tuples.iter().filter(|tuple| tuple.rows[at] == Some(name));
            let when = self.constraints.or(found.clone().map(|tuple| tuple.when));
            let Some(first) = found.clone().next() else {
                continue;
            };
            let here = Here {
                instance,
                statement: position,
                rows: first.rows.clone(),
                view: view.clone(),
            };
            let values = self.sets(part, sets, &here);
            self.not_null(instance, part, &values, when);
            self.stay_unique(instance, (part, name), &values, when, view);
            rows.push(WrittenRow { name, when, values });
        }
        self.writes.push(Write {
            point,
            turn,
            table: part.table,
            kind,
            rows,
            scan: !self.called.contains_key(&(instance, position, at)),
        });
    }

    fn sets(&mut self, part: &Part, sets: &[Set], here: &Here) -> Vec<(ColumnId, Symbol)> {
        let table = self.program.schema.table(part.table);
        let mut values = Vec::new();
        for set in sets {
            if table.primary_key.contains(&set.column) {
                // The key of a new row is its name; a row that changes its name is not followed.
                self.caps.not_followed |= !matches!(part.action, Action::Insert(_));
                continue;
            }
            let value = self.value(&set.value, here);
            self.learn_type(&value, table.columns[set.column.index()].ty);
            values.push((set.column, value));
        }
        values
    }

    /// A value of that type is written here, or looked for.
    pub(super) fn learn_type(&mut self, value: &Symbol, ty: Type) {
        if let Symbol::Scalar { value, .. } = value
            && let Some(variable) = value.single()
        {
            let known = self.types.entry(variable).or_insert(ty);
            if strength(ty) > strength(*known) {
                *known = ty;
            }
        }
    }

    fn insert(&mut self, turn: usize, point: Point, part: &Part, insert: &Insert, view: &View) {
        let (instance, position) = (point.instance, point.statement as usize);
        let at = part.id.0 as usize;
        let Some(name) = self.called.get(&(instance, position, at)).copied() else {
            return;
        };
        let tuples = self.matches(instance, position, view);
        let mut here = self.here(instance, position, view);
        let mut wanted = Constraints::TRUE;
        if insert.from_select {
            // One row is followed: that of the first row selected.
            self.caps.not_followed = true;
            wanted = self.constraints.or(tuples.iter().map(|tuple| tuple.when));
            here.rows = tuples.first().map_or(here.rows, |tuple| tuple.rows.clone());
        }
        let table = self.program.schema.table(part.table);
        if self.names[name].key.is_empty() || part.reach(&self.program.schema) == Reach::Fresh {
            let absent = self.constraints.not(self.names[name].present);
            self.constraints.require(absent);
        }
        let mut values = self.sets(part, &insert.values, &here);
        self.not_null(instance, part, &values, wanted);
        for column in table.column_ids() {
            let given = values.iter().any(|(known, _)| *known == column);
            if !given && !table.primary_key.contains(&column) {
                let value = self.default_value(part.table, column, name);
                values.push((column, value));
            }
        }
        let present = self.present(name, view);
        let absent = self.constraints.not(present);
        let (new, old) = match &insert.on_conflict {
            OnConflict::Fail => {
                let able = self.constraints.implies(wanted, absent);
                self.demand(instance, able);
                self.stay_unique(instance, (part, name), &values, wanted, view);
                (wanted, None)
            }
            OnConflict::Ignore => (self.constraints.and([wanted, absent]), None),
            OnConflict::Replace => (wanted, None),
            OnConflict::Update(sets) => {
                here.rows[at] = Some(name);
                let changed = self.sets(part, sets, &here);
                let old = self.constraints.and([wanted, present]);
                (self.constraints.and([wanted, absent]), Some((old, changed)))
            }
        };
        self.parents(instance, part, &values, new, view);
        self.write_one(turn, point, part, (WriteKind::Insert, name, new, values));
        if let Some((when, values)) = old {
            self.write_one(turn, point, part, (WriteKind::Update, name, when, values));
        }
    }

    fn write_one(
        &mut self,
        turn: usize,
        point: Point,
        part: &Part,
        (kind, name, when, values): (WriteKind, usize, Formula, Vec<(ColumnId, Symbol)>),
    ) {
        self.writes.push(Write {
            point,
            turn,
            table: part.table,
            kind,
            rows: vec![WrittenRow { name, when, values }],
            scan: false,
        });
    }

    fn default_value(&mut self, table: TableId, id: ColumnId, name: usize) -> Symbol {
        if let Some(known) = self.generated.get(&(name, id)) {
            return known.clone();
        }
        let column = &self.program.schema.table(table).columns[id.index()];
        let label = format!("r{name}.{}", column.name);
        let default = column.default.as_deref().map(str::trim);
        let value = match default.map(|text| (text.parse::<i64>(), text)) {
            _ if column.generated => self.fresh(label, column.ty, true),
            None => Encoder::null(),
            Some((_, "NULL" | "null")) => Encoder::null(),
            Some((Ok(number), _)) => Encoder::scalar(super::Linear::constant(number)),
            Some(_) => self.fresh(label, column.ty, false),
        };
        self.generated.insert((name, id), value.clone());
        value
    }

    /// Rows that a new row refers to are there, as far as they have names.
    fn parents(
        &mut self,
        instance: usize,
        part: &Part,
        values: &[(ColumnId, Symbol)],
        when: Formula,
        view: &View,
    ) {
        let table = self.program.schema.table(part.table);
        for foreign in &table.foreign_keys {
            for parent in self.by_table[foreign.table.index()].clone() {
                let mut same = vec![when];
                for (column, referred) in foreign.columns.iter().zip(&foreign.referred) {
                    let value = values.iter().find(|(known, _)| known == column);
                    let Some((_, Symbol::Scalar { null, value })) = value else {
                        same.push(Constraints::FALSE);
                        continue;
                    };
                    let there = self.constraints.not(*null);
                    let Symbol::Scalar { value: other, .. } = self.cell(parent, *referred, view)
                    else {
                        continue;
                    };
                    same.push(there);
                    same.push(self.constraints.equal(value, &other));
                }
                let same = self.constraints.and(same);
                let present = self.present(parent, view);
                let needed = self.constraints.implies(same, present);
                self.demand(instance, needed);
            }
        }
    }

    /// How many rows a statement returned or changed.
    pub(super) fn row_count(&mut self, instance: usize, position: usize) -> Symbol {
        let view = self.view_of(instance, position);
        let statement = self.statement(instance, position);
        if statement
            .parts
            .iter()
            .all(|part| matches!(part.action, Action::Insert(_)))
        {
            let point = Point {
                instance,
                statement: position as u32,
            };
            let mut sum = super::Linear::constant(0);
            let rows = self.writes.iter().filter(|write| write.point == point);
            let rows: Vec<Formula> = rows.flat_map(|w| w.rows.iter().map(|r| r.when)).collect();
            for when in rows {
                let one = vec![(when, super::Linear::constant(1))];
                sum = sum.plus(&self.constraints.cases(one, super::Linear::constant(0)), 1);
            }
            return Encoder::scalar(sum);
        }
        let tuples = self.matches(instance, position, &view);
        Encoder::scalar(self.count(&tuples))
    }
}
