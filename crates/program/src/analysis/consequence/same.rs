//! Whether a play has the cycle of an anomaly.

use super::super::report::Anomaly;
use crate::execute::{Next, Play, Runner};
use crate::expr::StatementId;
use crate::ir::Program;
use crate::scenario::{Edge, EdgeKind, Point, Scenario};

/// A statement of the text, executed by an instance.
type Place = (usize, StatementId);

/// The dependencies of a cycle, between statements of the text: a play may execute them at other
/// positions than the scenario of the anomaly.
pub(super) struct Wanted {
    dependencies: Vec<(Place, Place, Edge)>,
    /// The same as the scenario of the anomaly has them.
    pub edges: Vec<Edge>,
}

impl Wanted {
    pub fn new(program: &Program, anomaly: &Anomaly) -> Wanted {
        let place = |at: usize| -> Option<Place> {
            let site = &anomaly.sites[at % anomaly.sites.len()];
            let statements = program.transactions.get(site.transaction)?.statements();
            Some((site.point.instance, statements.get(site.statement)?.id))
        };
        let mut dependencies = Vec::new();
        for (at, edge) in anomaly.edges.iter().enumerate() {
            if let (Some(from), Some(to)) = (place(at), place(at + 1))
                && edge.kind != EdgeKind::Sibling
            {
                dependencies.push((from, to, edge.clone()));
            }
        }
        let edges = dependencies.iter().map(|(_, _, edge)| edge.clone());
        Wanted {
            edges: edges.collect(),
            dependencies,
        }
    }

    /// Whether every dependency of the cycle happened.
    pub fn holds(&self, program: &Program, scenario: &Scenario, played: &Play) -> bool {
        let executed = executed(program, scenario, played);
        self.dependencies.iter().all(|(from, to, wanted)| {
            played.edges.iter().any(|edge| {
                let meets = wanted.columns.is_empty()
                    || edge.columns.is_empty()
                    || !wanted.columns.is_disjoint(&edge.columns);
                edge.kind == wanted.kind
                    && edge.table == wanted.table
                    && meets
                    && place_of(&executed, edge.from) == Some(*from)
                    && place_of(&executed, edge.to) == Some(*to)
            })
        })
    }

    /// Whether the dependencies between other statements than those of the cycle have no circle.
    pub fn is_alone(&self, program: &Program, scenario: &Scenario, played: &Play) -> bool {
        let executed = executed(program, scenario, played);
        let on_cycle = |point: Point| {
            let place = place_of(&executed, point);
            let mut all = self.dependencies.iter();
            all.any(|(from, to, _)| place == Some(*from) || place == Some(*to))
        };
        let others = played.edges.iter();
        let others = others.filter(|edge| !on_cycle(edge.from) || !on_cycle(edge.to));
        let mut pairs: Vec<(usize, usize)> = others
            .map(|edge| (edge.from.instance, edge.to.instance))
            .collect();
        // Takes away who has nobody before, until nobody is left or everybody has.
        let mut left: Vec<usize> = (0..scenario.instances.len()).collect();
        while let Some(at) = left
            .iter()
            .position(|one| pairs.iter().all(|(_, to)| to != one))
        {
            let gone = left.remove(at);
            pairs.retain(|(from, _)| *from != gone);
        }
        left.is_empty()
    }
}

fn place_of(executed: &[Vec<StatementId>], point: Point) -> Option<Place> {
    let statements = executed.get(point.instance)?;
    let id = statements.get(point.statement as usize)?;
    Some((point.instance, *id))
}

/// The statements that each instance executed.
fn executed(program: &Program, scenario: &Scenario, played: &Play) -> Vec<Vec<StatementId>> {
    let pairs = scenario.instances.iter().zip(&played.runs);
    pairs
        .map(|(instance, run)| {
            let mut runner = Runner::new(program, instance);
            let mut found = Vec::new();
            for result in &run.results {
                let Ok(Next::Execute(call)) = runner.next() else {
                    break;
                };
                found.push(call.statement.id);
                runner.feed(result.clone());
            }
            found
        })
        .collect()
}
