//! The orders that scripts are tried in.

use crate::recorded::cell;
use workload::plan::Action;
use workload::replay::{Move, Script, interleave};

/// A client that runs so many transactions of so many writes each, all of them different, with reads between.
fn client(number: i64, txns: i64, writes: i64) -> Vec<Move> {
    let mut moves = Vec::new();
    for txn in 0..txns {
        moves.push(Move::Begin);
        for write in 0..writes {
            let value = number * 10_000 + txn * 100 + write;
            moves.push(Move::Act(Action::Write(cell(write), value)));
            moves.push(Move::Act(Action::Read(cell(value))));
        }
        moves.push(if txn % 2 == 0 {
            Move::Commit
        } else {
            Move::Rollback
        });
    }
    moves
}

fn of_client(script: &Script, client: usize) -> Vec<Move> {
    let own = script.moves.iter().filter(|(who, _)| *who == client);
    own.map(|(_, next)| *next).collect()
}

#[test]
fn every_order_keeps_the_moves_of_each_client() {
    let sets = [
        vec![client(0, 1, 2), client(1, 1, 2)],
        vec![client(0, 1, 1), client(1, 1, 4), client(2, 1, 0)],
        vec![client(0, 2, 1), client(1, 1, 2), client(2, 3, 1)],
        vec![client(0, 5, 3), client(1, 2, 9)],
        vec![client(0, 1, 2), Vec::new()],
        vec![client(0, 1, 20), client(1, 1, 1)],
        vec![client(0, 3, 1)],
        vec![vec![Move::Commit], vec![Move::Begin], client(2, 1, 1)],
        Vec::new(),
    ];
    for clients in &sets {
        let total: usize = clients.iter().map(Vec::len).sum();
        for attempt in 0..200 {
            let script = interleave(clients, 3, attempt, 7);
            assert_eq!(script.moves.len(), total, "attempt {attempt}");
            assert_eq!(script.nodes.len(), clients.len());
            assert!(script.nodes.iter().all(|node| *node < 3));
            for (number, own) in clients.iter().enumerate() {
                assert_eq!(&of_client(&script, number), own, "attempt {attempt}");
            }
            assert_eq!(script, interleave(clients, 3, attempt, 7));
        }
    }
}

#[test]
fn orders_differ_and_clients_move_from_node_to_node() {
    let clients = [client(0, 1, 2), client(1, 1, 2)];
    let scripts: Vec<Script> = (0..50).map(|at| interleave(&clients, 2, at, 1)).collect();
    let mut orders: Vec<String> = scripts.iter().map(|s| format!("{:?}", s.moves)).collect();
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 40, "{}", orders.len());
    assert_eq!(scripts[0].nodes, [0, 1]);
    assert_eq!(scripts[1].nodes, [1, 0]);
    // No nodes make no difference.
    assert_eq!(interleave(&clients, 0, 5, 1).nodes, [0, 0]);
}

#[test]
fn the_first_orders_overlap_everything() {
    let clients = [client(0, 1, 1), client(1, 1, 1)];
    for attempt in 0..2 {
        let moves = interleave(&clients, 1, attempt, 1).moves;
        let ends = |next: &Move| matches!(next, Move::Commit | Move::Rollback);
        let first_end = moves.iter().position(|(_, next)| ends(next));
        assert_eq!(first_end, Some(moves.len() - 2), "{moves:?}");
        let begins = moves[..2].iter().all(|(_, next)| *next == Move::Begin);
        assert!(begins, "{moves:?}");
    }
}

#[test]
fn a_script_without_a_client_keeps_the_others_and_their_numbers() {
    let clients = [client(0, 1, 1), client(1, 2, 1), client(2, 1, 2)];
    let script = interleave(&clients, 2, 3, 9);
    let without = script.without(1);
    assert_eq!(without.nodes, script.nodes);
    assert_eq!(of_client(&without, 0), clients[0]);
    assert_eq!(of_client(&without, 1), []);
    assert_eq!(of_client(&without, 2), clients[2]);
    let kept = script.moves.iter().filter(|(who, _)| *who != 1);
    assert!(kept.eq(without.moves.iter()));
    assert_eq!(script.without(5), script);
}
