//! The initial states to explore: those given, those of a workload, or all within bounds.

use crate::exit::{Exit, Failure};
use crate::model_args::{AskArgs, BoundsArgs, ClientsArg, PlacementArg, ShapeArg};
use crate::output;
use protocol::{Bounds, Mix, Model, Placement, Sessions, Setup, Shape, Symmetry, separating};

/// Initial states, and how many they stand for.
pub struct Initial {
    /// One of each kind.
    pub setups: Vec<Setup>,
    /// How many there are before those alike are dropped.
    pub raw: u64,
}

impl Initial {
    fn these(setups: Vec<Setup>) -> Initial {
        let raw = setups.len() as u64;
        Initial { setups, raw }
    }
}

/// What the arguments choose; with `single`, of transactions of one operation.
pub fn chosen(args: &AskArgs, model: &dyn Model, single: bool) -> Result<Initial, Failure> {
    let mut initial = all_chosen(args, model.symmetry(), single)?;
    initial.setups.retain(|setup| model.accepts(setup));
    match initial.setups.is_empty() {
        false => Ok(initial),
        true => Err(Failure(format!(
            "{} is not made for any of these initial states; see its file in the catalogue for what \
             it runs, or try --ops 1",
            model.name()
        ))),
    }
}

fn all_chosen(args: &AskArgs, symmetry: Symmetry, single: bool) -> Result<Initial, Failure> {
    if !args.setups.is_empty() {
        return Ok(Initial::these(args.setups.clone()));
    }
    if !args.workload.is_empty() {
        return Ok(Initial::these(workloads(&args.workload)?));
    }
    let mut bounds = bounds(&args.bounds, 3, 1, &[Shape::General]);
    if let (true, Mix::Any { ops, .. }) = (single, &mut bounds.mix) {
        *ops = 1..=1;
    }
    within(&bounds, symmetry, !args.effort.no_reduction)
}

/// What the table is computed of: all within the paper's bounds, with transactions as CAT makes
/// them (of a set of keys each), and the workloads that separate levels.
pub fn of_table(args: &BoundsArgs, symmetry: Symmetry) -> Result<Initial, Failure> {
    let shapes = [Shape::ReadOnly, Shape::WriteOnly, Shape::ReadModifyWrite];
    let mut bounds = bounds(args, 4, usize::from(args.ops), &shapes);
    bounds.keys_in_order = true;
    let mut initial = within(&bounds, symmetry, true)?;
    for (_, setup) in separating() {
        if !initial.setups.contains(&setup) {
            initial.raw += 1;
            initial.setups.push(setup);
        }
    }
    Ok(initial)
}

/// All within bounds. Those that differ by names only are one, unless nothing is to be reduced.
fn within(bounds: &Bounds, symmetry: Symmetry, reduction: bool) -> Result<Initial, Failure> {
    let symmetry = match reduction {
        true => symmetry,
        false => Symmetry::default(),
    };
    let setups = bounds
        .setups(symmetry)
        .map_err(|problem| Failure(problem.to_string()))?;
    if setups.setups.is_empty() {
        return Err(Failure("no initial state is within these bounds".into()));
    }
    Ok(Initial {
        setups: setups.setups,
        raw: u64::try_from(setups.raw).unwrap_or(u64::MAX),
    })
}

/// The bounds of the arguments, where they say nothing: so many transactions, of these shapes, with
/// at least so many operations.
fn bounds(args: &BoundsArgs, txns: u8, ops_min: usize, otherwise: &[Shape]) -> Bounds {
    let shape = |shape: &ShapeArg| match shape {
        ShapeArg::Ro => Shape::ReadOnly,
        ShapeArg::Wo => Shape::WriteOnly,
        ShapeArg::Rmw => Shape::ReadModifyWrite,
        ShapeArg::General => Shape::General,
    };
    let sites = usize::from(args.sites);
    let replication = args.replication.iter().map(|count| usize::from(*count));
    Bounds {
        mix: Mix::Any {
            txns: 1..=usize::from(args.txns.unwrap_or(txns)),
            ops: ops_min..=usize::from(args.ops),
            shapes: match args.shapes.is_empty() {
                true => otherwise.to_vec(),
                false => args.shapes.iter().map(shape).collect(),
            },
        },
        keys: usize::from(args.keys),
        sites,
        replication: replication.filter(|count| *count <= sites).collect(),
        placement: match args.placement {
            PlacementArg::All => Placement::All,
            PlacementArg::Fixed => Placement::Fixed,
        },
        sessions: match args.clients {
            ClientsArg::Site => Sessions::OneASite,
            ClientsArg::Txn => Sessions::OneATxn,
            ClientsArg::Any => Sessions::Any,
        },
        ..Bounds::default()
    }
}

/// The workloads of these names, each with keys at one site and at two; `all` is all.
fn workloads(names: &[String]) -> Result<Vec<Setup>, Failure> {
    let all = separating();
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        let wanted = |full: &str| {
            let short = full.split('/').next().unwrap_or(full);
            name == "all" || full == name || short == name
        };
        let setups = all.iter().filter(|(full, _)| wanted(full));
        found.extend(setups.map(|(_, setup)| setup.clone()));
        if found.len() == before {
            let known: Vec<&str> = all.iter().map(|(full, _)| full.as_str()).collect();
            return Err(Failure(format!(
                "no workload is called '{name}'; there are {}",
                known.join(", ")
            )));
        }
    }
    Ok(found)
}

/// Lists the workloads.
pub fn help() -> Result<Exit, Failure> {
    let line = |(name, setup): &(String, Setup)| format!("{name:<24} {setup}\n");
    let text: String = separating().iter().map(line).collect();
    output::print_asked(&text)?;
    Ok(Exit::Holds)
}
