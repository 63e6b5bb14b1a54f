//! Which queries are of a kind that is read, by their clauses.

use super::ddl::object_name;
use sqlparser::ast::{self, GroupByExpr, Query, SelectItem, SetExpr, TableFactor};

/// A clause of other dialects that changes which rows are found.
pub(super) fn unread(select: &ast::Select) -> Option<&'static str> {
    let clauses = [
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (select.qualify.is_some(), "QUALIFY"),
    ];
    let found = clauses.into_iter().find(|(there, _)| *there);
    found.map(|(_, name)| name)
}

/// Whether a query is a statement that writes.
pub(super) fn writes(body: &SetExpr) -> bool {
    matches!(
        body,
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_)
    )
}

/// Whether a query only selects columns of all rows of the one of that name.
pub(super) fn returns_all(query: &Query, name: &str) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return false;
    };
    let [from] = select.from.as_slice() else {
        return false;
    };
    let TableFactor::Table { name: table, .. } = &from.relation else {
        return false;
    };
    let grouped =
        |by: &GroupByExpr| !matches!(by, GroupByExpr::Expressions(all, _) if all.is_empty());
    let column = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => matches!(
            expr,
            ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
        ),
        other => matches!(other, SelectItem::Wildcard(_)),
    };
    object_name(table).eq_ignore_ascii_case(name)
        && from.joins.is_empty()
        && select.selection.is_none()
        && select.having.is_none()
        && select.distinct.is_none()
        && !grouped(&select.group_by)
        && select.projection.iter().all(column)
        && query.limit_clause.is_none()
        && query.order_by.is_none()
}
