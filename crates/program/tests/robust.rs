//! The published robust subsets of SmallBank, TPC-C and Auction.

use program::robust::{CycleKind, Level, Method, Relations, RobustOptions, check_at, subsets};
use program::{Program, read_sql_file};
use std::path::Path;

fn read(name: &str) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let path = folder.join(format!("{name}.sql"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    read_sql_file(&text, name, None).unwrap_or_else(|error| panic!("{error}"))
}

/// The maximal robust subsets, by the first letters of the transactions.
fn maximal(program: &Program, level: Level, options: &RobustOptions) -> Vec<String> {
    let found = subsets(program, level, options);
    found
        .maximal
        .iter()
        .map(|set| named(program, set))
        .collect()
}

fn named<'a>(program: &Program, set: impl IntoIterator<Item = &'a usize>) -> String {
    let name = |at: &usize| program.transactions[*at].name.as_str();
    let names: Vec<&str> = set.into_iter().map(name).collect();
    names.join(" ")
}

fn options(method: Option<Method>, cycles: CycleKind, relations: Relations) -> RobustOptions {
    RobustOptions {
        method,
        cycles,
        relations,
        ..RobustOptions::default()
    }
}

fn programs(cycles: CycleKind, relations: Relations) -> RobustOptions {
    options(Some(Method::Programs), cycles, relations)
}

#[test]
fn smallbank_at_read_committed() {
    let bank = read("smallbank");
    let expected = [
        "DepositChecking TransactSavings Amalgamate",
        "Balance DepositChecking",
        "Balance TransactSavings",
    ];
    let exact = RobustOptions::default();
    assert_eq!(maximal(&bank, Level::ReadCommitted, &exact), expected);
    let type_two = programs(CycleKind::TypeII, Relations::Keys);
    assert_eq!(maximal(&bank, Level::ReadCommitted, &type_two), expected);
    let type_one = programs(CycleKind::TypeI, Relations::Keys);
    assert_eq!(
        maximal(&bank, Level::ReadCommitted, &type_one),
        ["DepositChecking TransactSavings Amalgamate", "Balance"]
    );
}

#[test]
fn smallbank_with_ported_updates_at_read_committed() {
    let bank = read("smallbank-ported");
    for method in [None, Some(Method::Programs)] {
        let options = options(method, CycleKind::TypeII, Relations::Keys);
        assert_eq!(maximal(&bank, Level::ReadCommitted, &options), ["Balance"]);
    }
}

#[test]
fn smallbank_at_snapshot_isolation() {
    let bank = read("smallbank");
    let expected = [
        "Balance DepositChecking TransactSavings Amalgamate",
        "Balance DepositChecking Amalgamate WriteCheck",
        "DepositChecking TransactSavings Amalgamate WriteCheck",
    ];
    for method in [None, Some(Method::Programs)] {
        let related = options(method, CycleKind::TypeII, Relations::Keys);
        assert_eq!(maximal(&bank, Level::Snapshot, &related), expected);
        let found = subsets(&bank, Level::Snapshot, &related);
        let minimal: Vec<String> = found.minimal.iter().map(|set| named(&bank, set)).collect();
        assert_eq!(minimal, ["Balance TransactSavings WriteCheck"]);
        let unrelated = options(method, CycleKind::TypeII, Relations::SameRow);
        assert_eq!(
            maximal(&bank, Level::Snapshot, &unrelated),
            [
                "Balance DepositChecking TransactSavings Amalgamate",
                "DepositChecking TransactSavings Amalgamate WriteCheck",
                "Balance DepositChecking WriteCheck",
            ]
        );
    }
}

#[test]
fn tpcc_at_read_committed() {
    let tpcc = read("tpcc");
    let table = [
        (
            programs(CycleKind::TypeII, Relations::Keys),
            vec!["Payment OrderStatus StockLevel", "NewOrder Payment"],
        ),
        (
            programs(CycleKind::TypeI, Relations::Keys),
            vec![
                "NewOrder Payment",
                "Payment StockLevel",
                "OrderStatus StockLevel",
            ],
        ),
        (
            programs(CycleKind::TypeII, Relations::None),
            vec!["OrderStatus StockLevel", "NewOrder"],
        ),
    ];
    for (options, expected) in table {
        assert_eq!(maximal(&tpcc, Level::ReadCommitted, &options), expected);
    }
}

#[test]
fn auction_at_read_committed() {
    let auction = read("auction");
    let table = [
        (
            programs(CycleKind::TypeII, Relations::Keys),
            vec!["FindBids PlaceBid"],
        ),
        (
            programs(CycleKind::TypeI, Relations::Keys),
            vec!["FindBids", "PlaceBid"],
        ),
        (
            programs(CycleKind::TypeII, Relations::None),
            vec!["FindBids"],
        ),
    ];
    for (options, expected) in table {
        assert_eq!(maximal(&auction, Level::ReadCommitted, &options), expected);
    }
}

#[test]
fn tpcc_is_serializable_at_snapshot_isolation() {
    for name in ["tpcc", "tpcc-ported"] {
        let tpcc = read(name);
        let answer = check_at(&tpcc, Level::Snapshot, &RobustOptions::default());
        assert!(answer.is_robust(), "{name}: {answer:?}");
    }
}
