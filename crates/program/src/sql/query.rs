//! SELECT: its tables as parts, its condition cut and given to the parts.

use super::clause::{returns_all, unread, writes};
use super::ddl::object_name;
use super::lookup::has_aggregate;
use super::nested::set_operation;
use super::parse::parse;
use super::scope::{Builder, Columns, Joined, Scope, Source};
use crate::expr::{Comparison, Condition, Expr, PartId};
use crate::ir::{Action, Lock, Ordering, Output, Part, Role, Shape};
use crate::place::ProgramError;
use crate::schema::ViewQuery;
use sqlparser::ast::{
    self, Distinct, GroupByExpr, JoinConstraint, JoinOperator, LimitClause, LockType, NonBlock,
    OrderByKind, OrderBySort, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    Statement, TableFactor, TableWithJoins,
};

type Translated<T> = Result<T, ProgramError>;

/// What a query gives.
pub(super) struct Found {
    /// The columns of its rows.
    pub outputs: Vec<Output>,
    /// How they are cut and ordered.
    pub shape: Shape,
    /// Its first part.
    pub first: Option<PartId>,
    /// What it joins.
    pub joined: Joined,
}

impl Builder<'_> {
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
            SetExpr::SetOperation {
                left,
                right,
                op,
                set_quantifier,
            } => {
                self.enter()?;
                let left = self.body(left, role)?;
                self.clear_scope();
                let right = self.body(right, role)?;
                self.clear_scope();
                self.leave();
                self.combined(left, right, set_operation(*op, *set_quantifier), role)
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
                    joined: Joined::default(),
                })
            }
            SetExpr::Values(_) => Err(self.unsupported("VALUES as a table")),
            other => Err(self.unsupported(&format!("`{other}` as a query"))),
        }
    }

    fn select(&mut self, select: &ast::Select, role: Role) -> Translated<Found> {
        if let Some(clause) = unread(select) {
            return Err(self.unsupported(clause));
        }
        let mut conditions = Vec::new();
        // The outputs come first in the text, and placeholders are counted in the order of the
        // text; those of a select list are rare, and only then the order is followed exactly.
        let counted = self.placeholders;
        let in_list: usize = select.projection.iter().map(placeholders_in).sum();
        self.placeholders += in_list;
        for table in &select.from {
            self.from(table, role, &mut conditions)?;
        }
        let after_from = self.placeholders;
        self.placeholders = counted;
        let outputs = self.outputs(&select.projection)?;
        self.placeholders = after_from.max(self.placeholders);
        let joined = self.joined();
        let mut after = None;
        if let Some(condition) = &select.selection {
            let condition = self.condition(condition)?;
            after = self.after_outer_joins(condition, &joined, &mut conditions);
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
        let aggregated = outputs.iter().any(|output| has_aggregate(&output.value));
        self.give(conditions, &joined, None);
        let mut group_by = group_by;
        group_by.extend(read_after);
        let mut shape = Shape {
            filter: after,
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
            joined,
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
        let start = self.joined();
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
            let right = matches!(
                join.join_operator,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_)
            );
            let role = match (outer && !right, role) {
                (true, Role::From) => Role::Outer,
                _ => role,
            };
            let left = self.scopes.last().map_or(0, |scope| scope.sources.len());
            let before = self.joined();
            self.factor(&join.relation, role, conditions)?;
            let Some(constraint) = constraint else {
                continue;
            };
            let mut on = Vec::new();
            self.constraint(constraint, left, &mut on)?;
            match role {
                // What an outer join asks decides which of its rows match, not which rows there are.
                Role::Outer => {
                    let new = self.joined().since(&before);
                    self.give(on, &new, None);
                }
                Role::From if right => {
                    let new = before.since(&start);
                    self.set_outer(&new);
                    self.give(on, &new, None);
                }
                Role::From | Role::SubQuery => conditions.extend(on),
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
            TableFactor::Table { args: Some(_), .. } => Err(self.error(
                format!("`{factor}` in FROM is a function, not a table"),
                "Write what it does as statements, in its place; or leave the transaction out.",
            )),
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
                self.join_part(part);
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

    pub fn source(&mut self, name: String, columns: Columns) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.sources.push(Source { name, columns });
        }
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
