//! SELECT: its tables as parts, its condition cut and given to the parts.

use super::clause::{returns_all, unread, writes};
use super::ddl::object_name;
use super::parse::parse;
use super::scope::{Builder, Columns, Scope, Source};
use crate::access::Reach;
use crate::expr::{Comparison, Condition, Expr, PartId};
use crate::ir::{Action, Lock, Ordering, Output, Part, Role, Shape};
use crate::place::ProgramError;
use crate::schema::ViewQuery;
use sqlparser::ast::{
    self, Distinct, GroupByExpr, JoinConstraint, JoinOperator, LimitClause, LockType, NonBlock,
    OrderByKind, OrderBySort, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    Statement, TableFactor, TableWithJoins,
};
use std::ops::Range;

type Translated<T> = Result<T, ProgramError>;

/// What a query gives.
pub(super) struct Found {
    /// The columns of its rows.
    pub outputs: Vec<Output>,
    /// How they are cut and ordered.
    pub shape: Shape,
    /// Its first part.
    pub first: Option<PartId>,
}

impl Builder<'_> {
    /// A query whose rows only serve another part.
    pub fn sub_query(&mut self, query: &Query) -> Translated<Found> {
        self.query(query, Role::SubQuery)
    }

    /// A query; its tables become parts of that role.
    pub fn query(&mut self, query: &Query, role: Role) -> Translated<Found> {
        self.enter()?;
        let named = self.named_queries.len();
        let found = self.query_of(query, role);
        self.named_queries.truncate(named);
        self.leave();
        found
    }

    fn query_of(&mut self, query: &Query, role: Role) -> Translated<Found> {
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(self.unsupported("WITH RECURSIVE"));
            }
            let mut written = with.cte_tables.iter().filter(|one| writes(&one.query.body));
            if let Some(named) = written.next()
                && (with.cte_tables.len() > 1 || !returns_all(query, &named.alias.name.value))
            {
                let what = "a WITH that writes, but for one whose rows are returned as they are,";
                return Err(self.unsupported(what));
            }
            for named in &with.cte_tables {
                let name = named.alias.name.value.clone();
                self.named_queries.push((name, (*named.query).clone()));
            }
        }
        let first = self.parts.len();
        self.scopes.push(Scope::default());
        let found = self.body(&query.body, role).and_then(|mut found| {
            self.order(query, &mut found)?;
            Ok(found)
        });
        self.scopes.pop();
        let mut found = found?;
        found.first = (self.parts.len() > first).then_some(PartId(first as u32));
        let mut lock = query.locks.iter().map(|lock| match lock.lock_type {
            LockType::Share => Lock::Share,
            LockType::Update => Lock::Update,
        });
        if query
            .locks
            .iter()
            .any(|lock| lock.nonblock == Some(NonBlock::SkipLocked))
        {
            self.note(
                self.sql,
                "SKIP LOCKED is taken for a lock that waits: no row is passed over",
            );
        }
        if let Some(lock) = lock.next_back() {
            for part in &mut self.parts[first..] {
                lock_part(part, lock);
            }
        }
        Ok(found)
    }

    fn body(&mut self, body: &SetExpr, role: Role) -> Translated<Found> {
        match body {
            SetExpr::Select(select) => self.select(select, role),
            SetExpr::Query(query) => self.query(query, role),
            SetExpr::SetOperation { left, right, .. } => {
                self.enter()?;
                let left = self.body(left, role)?;
                if let Some(scope) = self.scopes.last_mut() {
                    scope.sources.clear();
                }
                let right = self.body(right, role)?;
                self.leave();
                Ok(self.either(left, right))
            }
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement) => {
                let outputs = match statement {
                    ast::Statement::Insert(insert) => self.insert(insert)?,
                    ast::Statement::Update(update) => self.update(update)?,
                    ast::Statement::Delete(delete) => self.delete(delete)?,
                    other => return Err(self.unsupported(&format!("`{other}` as a query"))),
                };
                Ok(Found {
                    outputs,
                    shape: Shape::default(),
                    first: None,
                })
            }
            SetExpr::Values(_) => Err(self.unsupported("VALUES as a table")),
            other => Err(self.unsupported(&format!("`{other}` as a query"))),
        }
    }

    /// A row of a set operation comes from one side or the other.
    fn either(&mut self, left: Found, right: Found) -> Found {
        let pairs = left.outputs.into_iter().zip(right.outputs);
        let mut outputs = Vec::new();
        for (left, right) in pairs {
            outputs.push(Output {
                name: left.name,
                value: self.arguments.unknown(vec![left.value, right.value]),
            });
        }
        Found {
            outputs,
            shape: Shape::default(),
            first: left.first.or(right.first),
        }
    }

    fn select(&mut self, select: &ast::Select, role: Role) -> Translated<Found> {
        if let Some(clause) = unread(select) {
            return Err(self.unsupported(clause));
        }
        let first = self.parts.len();
        let mut conditions = Vec::new();
        // The outputs come first in the text, and placeholders are counted in the order of the
        // text; those of a select list are rare, and only then the order is followed exactly.
        let counted = self.placeholders;
        let in_list: usize = select.projection.iter().map(placeholders_in).sum();
        self.placeholders += in_list;
        for table in &select.from {
            self.from(table, role, &mut conditions)?;
        }
        let own = first..self.parts.len();
        let after_from = self.placeholders;
        self.placeholders = counted;
        let outputs = self.outputs(&select.projection)?;
        self.placeholders = after_from.max(self.placeholders);
        if let Some(condition) = &select.selection {
            conditions.push(self.condition(condition)?);
        }
        let group_by = match &select.group_by {
            GroupByExpr::Expressions(all, _) => self.ordered_by(all.iter(), &outputs)?,
            GroupByExpr::All(_) => Vec::new(),
        };
        let mut read_after = Vec::new();
        let mut kept = None;
        if let Some(having) = &select.having {
            let having = self.condition(having)?;
            read_after.extend(having.expressions().into_iter().cloned());
            kept = Some(having);
        }
        let outside = self.parts.len() > own.end;
        let aggregated = outputs
            .iter()
            .any(|output| has_aggregate(&output.value, &own, outside));
        self.give(conditions, own, None);
        let mut group_by = group_by;
        group_by.extend(read_after);
        let mut shape = Shape {
            distinct: matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))),
            group_by,
            having: kept,
            aggregate: aggregated,
            ..Shape::default()
        };
        if let Some(ast::Top {
            quantity: Some(ast::TopQuantity::Constant(most)),
            ..
        }) = &select.top
        {
            shape.limit = Some(Expr::integer(i64::try_from(*most).unwrap_or(i64::MAX)));
        }
        Ok(Found {
            outputs,
            shape,
            first: None,
        })
    }

    pub fn outputs(&mut self, items: &[SelectItem]) -> Translated<Vec<Output>> {
        let mut outputs = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let name = output_name(expr);
                    let value = self.expr(expr)?;
                    outputs.push(Output { name, value });
                }
                SelectItem::ExprWithAlias { expr, alias } => outputs.push(Output {
                    name: alias.value.clone(),
                    value: self.expr(expr)?,
                }),
                SelectItem::Wildcard(_) => {
                    let sources = self.scopes.last().map(|scope| scope.sources.clone());
                    for source in sources.unwrap_or_default() {
                        outputs.extend(self.all_columns(&source));
                    }
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let name = object_name(name);
                    let sources = self.scopes.last().map(|scope| scope.sources.clone());
                    let same = |source: &Source| source.name.eq_ignore_ascii_case(&name);
                    for source in sources.unwrap_or_default().iter().filter(|s| same(s)) {
                        outputs.extend(self.all_columns(source));
                    }
                }
                other => return Err(self.unsupported(&format!("`{other}` in a select list"))),
            }
        }
        Ok(outputs)
    }

    /// Adds the tables of a FROM item; conditions of its joins are collected.
    pub fn from(
        &mut self,
        from: &TableWithJoins,
        role: Role,
        conditions: &mut Vec<Condition>,
    ) -> Translated<()> {
        self.factor(&from.relation, role, conditions)?;
        for join in &from.joins {
            let (constraint, outer) = match &join.join_operator {
                JoinOperator::Join(c) | JoinOperator::Inner(c) | JoinOperator::CrossJoin(c) => {
                    (Some(c), false)
                }
                JoinOperator::StraightJoin(c) => (Some(c), false),
                JoinOperator::Left(c)
                | JoinOperator::LeftOuter(c)
                | JoinOperator::Right(c)
                | JoinOperator::RightOuter(c)
                | JoinOperator::FullOuter(c) => (Some(c), true),
                JoinOperator::Semi(c) | JoinOperator::LeftSemi(c) => (Some(c), false),
                _ => return Err(self.unsupported(&format!("the join `{join}`"))),
            };
            let role = match (outer, role) {
                (true, Role::From) => Role::Outer,
                _ => role,
            };
            let left = self.scopes.last().map_or(0, |scope| scope.sources.len());
            self.factor(&join.relation, role, conditions)?;
            if let Some(constraint) = constraint {
                self.constraint(constraint, left, conditions)?;
            }
        }
        Ok(())
    }

    fn constraint(
        &mut self,
        constraint: &JoinConstraint,
        left: usize,
        conditions: &mut Vec<Condition>,
    ) -> Translated<()> {
        let shared: Vec<String> = match constraint {
            JoinConstraint::On(condition) => {
                conditions.push(self.condition(condition)?);
                return Ok(());
            }
            JoinConstraint::None => return Ok(()),
            JoinConstraint::Using(names) => names.iter().map(object_name).collect(),
            JoinConstraint::Natural => self.shared_names(left),
        };
        let sources = self.scopes.last().map(|scope| scope.sources.clone());
        let sources = sources.unwrap_or_default();
        for name in shared {
            let named = |source: &Source| {
                let all = self.all_columns(source).into_iter();
                all.filter(|output| output.name.eq_ignore_ascii_case(&name))
                    .map(|output| output.value)
                    .next()
            };
            let one = sources.iter().take(left).find_map(named);
            let two = sources.iter().skip(left).find_map(named);
            if let (Some(one), Some(two)) = (one, two) {
                conditions.push(Condition::compare(Comparison::Equal, one, two));
            }
        }
        Ok(())
    }

    fn shared_names(&self, left: usize) -> Vec<String> {
        let sources = self.scopes.last().map_or(&[][..], |scope| &scope.sources);
        let names = |sources: &[Source]| -> Vec<String> {
            let all = sources.iter().flat_map(|source| self.all_columns(source));
            all.map(|output| output.name.to_ascii_lowercase()).collect()
        };
        let (one, two) = sources.split_at(left.min(sources.len()));
        let known = names(one);
        names(two)
            .into_iter()
            .filter(|name| known.contains(name))
            .collect()
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        role: Role,
        conditions: &mut Vec<Condition>,
    ) -> Translated<()> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let table = object_name(name);
                let alias = alias.as_ref().map(|alias| alias.name.value.clone());
                let known = self.named_queries.iter().rev();
                let known = known
                    .clone()
                    .find(|(name, _)| name.eq_ignore_ascii_case(&table));
                if let Some((_, query)) = known.cloned() {
                    return self.derived(&query, alias.unwrap_or(table), role);
                }
                let schema = self.schema;
                if schema.find(&table).is_none()
                    && let Some(view) = schema.view(&table)
                {
                    return self.view(view, alias.unwrap_or(table), role);
                }
                let id = self.table(&table)?;
                let part = self.add_select(id, role)?;
                self.source(alias.unwrap_or(table), Columns::Table(part, id));
                Ok(())
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => {
                let alias = alias.as_ref().map(|alias| alias.name.value.clone());
                self.derived(subquery, alias.unwrap_or_default(), role)
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => {
                self.enter()?;
                self.from(table_with_joins, role, conditions)?;
                self.leave();
                Ok(())
            }
            other => Err(self.unsupported(&format!("`{other}` in FROM"))),
        }
    }

    /// A view is its query; names of that query's surroundings mean nothing in it.
    fn view(&mut self, view: &ViewQuery, name: String, role: Role) -> Translated<()> {
        let Statement::Query(query) = parse(&view.query, self.place)? else {
            return Err(self.unsupported(&format!("the view {}", view.name)));
        };
        self.enter()?;
        let outside = std::mem::take(&mut self.named_queries);
        let found = self.derived(&query, name, role);
        self.named_queries = outside;
        self.leave();
        found?;
        let scope = self.scopes.last_mut();
        let source = scope.and_then(|scope| scope.sources.last_mut());
        if let Some(Columns::Outputs(outputs)) = source.map(|source| &mut source.columns) {
            for (output, name) in outputs.iter_mut().zip(&view.columns) {
                output.name.clone_from(name);
            }
        }
        Ok(())
    }

    fn derived(&mut self, query: &Query, name: String, role: Role) -> Translated<()> {
        let found = self.query(query, role)?;
        let shape = &found.shape;
        if shape.aggregate || shape.limit.is_some() || !shape.group_by.is_empty() {
            self.note(
                &query.to_string(),
                "its rows are joined one by one, without its groups and limits, so that an anomaly found may be none: \
                 play it on a server; Select from it in a statement of its own",
            );
        }
        self.source(name, Columns::Outputs(found.outputs));
        Ok(())
    }

    pub fn source(&mut self, name: String, columns: Columns) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.sources.push(Source { name, columns });
        }
    }

    /// Gives each conjunct to the part that is looked up last among those it mentions, of this
    /// query's own parts: its sub-queries come before. `target`, the part that writes, is looked up
    /// last of all.
    pub fn give(&mut self, conditions: Vec<Condition>, own: Range<usize>, target: Option<PartId>) {
        let mut conjuncts: Vec<Condition> = Vec::new();
        for condition in &conditions {
            conjuncts.extend(condition.conjuncts().into_iter().cloned());
        }
        let order = self.lookup_order(&conjuncts, own, target);
        for conjunct in conjuncts {
            let mentions = |part: &&PartId| mentions(&conjunct, **part);
            let last = order.iter().rev().find(mentions).or(order.first());
            let Some(last) = last.copied() else { continue };
            let part = &mut self.parts[last.0 as usize];
            let before = std::mem::replace(&mut part.filter, Condition::True);
            part.filter = before.and(conjunct);
        }
    }

    /// Parts in the order in which a database would look them up: those reached by a key first.
    fn lookup_order(
        &mut self,
        conjuncts: &[Condition],
        own: Range<usize>,
        target: Option<PartId>,
    ) -> Vec<PartId> {
        let all = own.map(|at| PartId(at as u32));
        let mut left: Vec<PartId> = all.filter(|id| Some(*id) != target).collect();
        let mut order: Vec<PartId> = Vec::new();
        while !left.is_empty() {
            let keyed = |id: &PartId| self.reached_by_key(*id, conjuncts, &left);
            let at = left.iter().position(keyed).unwrap_or_else(|| {
                let bound = |at: &usize| self.joined(left[*at], conjuncts, &left).bindings().len();
                let places = (0..left.len()).rev();
                places.max_by_key(bound).unwrap_or(0)
            });
            order.push(left.remove(at));
        }
        order.extend(target);
        order
    }

    fn reached_by_key(&self, id: PartId, conjuncts: &[Condition], left: &[PartId]) -> bool {
        let part = self.joined(id, conjuncts, left);
        matches!(part.reach(self.schema), Reach::Key(_) | Reach::Unique(_))
    }

    /// The part with all conjuncts that can be tested once the parts that are not left are known.
    fn joined(&self, id: PartId, conjuncts: &[Condition], left: &[PartId]) -> Part {
        let mut part = self.parts[id.0 as usize].clone();
        let others = |condition: &Condition| {
            let mut others = left.iter().filter(|other| **other != id);
            others.any(|other| mentions(condition, *other))
        };
        for conjunct in conjuncts.iter().filter(|conjunct| !others(conjunct)) {
            part.filter = part.filter.and(conjunct.clone());
        }
        part
    }

    fn order(&mut self, query: &Query, found: &mut Found) -> Translated<()> {
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(all) = &order.kind
        {
            let values = self.ordered_by(all.iter().map(|one| &one.expr), &found.outputs)?;
            for (value, one) in values.into_iter().zip(all) {
                let descending = matches!(one.options.sort, Some(OrderBySort::Desc));
                found.shape.order_by.push(Ordering { value, descending });
            }
        }
        // Placeholders are counted in the order of the text.
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                found.shape.limit = self.optional(limit.as_ref())?;
                let offset = offset.as_ref().map(|offset| &offset.value);
                found.shape.offset = self.optional(offset)?;
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                found.shape.offset = Some(self.expr(offset)?);
                found.shape.limit = Some(self.expr(limit)?);
            }
            None => {}
        }
        let fetch = query.fetch.as_ref().and_then(|f| f.quantity.as_ref());
        if let Some(fetch) = fetch {
            found.shape.limit = Some(self.expr(fetch)?);
        }
        Ok(())
    }

    fn optional(&mut self, expr: Option<&ast::Expr>) -> Translated<Option<Expr>> {
        expr.map(|expr| self.expr(expr)).transpose()
    }

    /// Values to group or order by: expressions, names of outputs, or their positions.
    fn ordered_by<'e>(
        &mut self,
        all: impl Iterator<Item = &'e ast::Expr>,
        outputs: &[Output],
    ) -> Translated<Vec<Expr>> {
        let mut values = Vec::new();
        for expr in all {
            let output = match expr {
                ast::Expr::Identifier(name) => outputs
                    .iter()
                    .find(|output| output.name.eq_ignore_ascii_case(&name.value)),
                ast::Expr::Value(value) => {
                    let position = value.value.to_string().parse::<usize>().ok();
                    position.and_then(|at| outputs.get(at.wrapping_sub(1)))
                }
                _ => None,
            };
            match output {
                Some(output) => values.push(output.value.clone()),
                None => values.push(self.expr(expr)?),
            }
        }
        Ok(values)
    }
}

fn mentions(condition: &Condition, part: PartId) -> bool {
    let exists = |condition: &Condition| match condition {
        Condition::Exists(found) => *found == part,
        Condition::Not(inner) => matches!(**inner, Condition::Exists(found) if found == part),
        _ => false,
    };
    exists(condition) || !condition.columns_of(part).is_empty()
}

/// Whether an output is made of many rows of these parts. A sub-query in the select list makes its
/// aggregates of its own rows; where there is one, `count(*)` inside an unknown is taken for its.
fn has_aggregate(output: &Expr, own: &Range<usize>, outside: bool) -> bool {
    let mut waiting = vec![(output, false)];
    while let Some((expr, unknown)) = waiting.pop() {
        if let Expr::Aggregate { argument, .. } = expr {
            let inside = argument.iter().flat_map(|argument| argument.all());
            let mut parts = inside.filter_map(|expr| match expr {
                Expr::Column { part, .. } => Some(part.0 as usize),
                _ => None,
            });
            let found = match parts.next() {
                Some(part) => own.contains(&part),
                None => !(unknown && outside),
            };
            if found {
                return true;
            }
            continue;
        }
        let unknown = unknown || matches!(expr, Expr::Unknown { .. });
        waiting.extend(expr.children().into_iter().map(|child| (child, unknown)));
    }
    false
}

fn lock_part(part: &mut Part, lock: Lock) {
    if let Action::Select(select) = &mut part.action {
        select.lock = lock;
    }
}

fn placeholders_in(item: &SelectItem) -> usize {
    item.to_string().matches('?').count()
}

fn output_name(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Identifier(name) => name.value.clone(),
        ast::Expr::CompoundIdentifier(names) => names
            .last()
            .map_or(String::new(), |name| name.value.clone()),
        other => other.to_string(),
    }
}
