//! A test of redb, an embedded database: `cargo run --example redb --features embedded`.
//!
//! Eight threads read and write a few keys as fast as they can. What they were told is a strictly serializable
//! history, every time.

use isolde::{Level, Recorder, check, strongest};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, backends::InMemoryBackend};
use std::sync::atomic::{AtomicU64, Ordering};

const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("registers");
const CLIENTS: u64 = 8;
const TXNS: u64 = 250;
const KEYS: u64 = 5;

fn main() -> Result<(), redb::Error> {
    let store = Database::builder().create_with_backend(InMemoryBackend::new())?;
    let setup = store.begin_write()?;
    setup.open_table(TABLE)?;
    setup.commit()?;
    let recorder = Recorder::new();
    // Every value is written once, so that who wrote what was read is known.
    let values = AtomicU64::new(1);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (store, values, recorder) = (&store, &values, &recorder);
                scope.spawn(move || drive(store, values, recorder, client))
            })
            .collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().expect("no client panics"))
    })?;
    let history = recorder.history();
    check(&history, Level::StrictSerializable).assert();
    println!(
        "{} transactions, {} operations: {}",
        history.txn_count(),
        history.op_count(),
        strongest(&history)[0]
    );
    Ok(())
}

/// One client: an audit of all keys, and two updates of one key from another, over and over.
fn drive(
    store: &Database,
    values: &AtomicU64,
    recorder: &Recorder,
    client: u64,
) -> Result<(), redb::Error> {
    let mut session = recorder.session();
    for round in 0..TXNS {
        let txn = session.begin();
        if (round + client) % 3 == 0 {
            let table = store.begin_read()?.open_table(TABLE)?;
            for key in 0..KEYS {
                txn.read(key, table.get(key)?.map(|found| found.value()));
            }
        } else {
            let change = store.begin_write()?;
            let (from, to) = (round % KEYS, (round + client + 1) % KEYS);
            let value = values.fetch_add(1, Ordering::Relaxed);
            let mut table = change.open_table(TABLE)?;
            txn.read(from, table.get(from)?.map(|found| found.value()));
            txn.write(to, value);
            table.insert(to, value)?;
            drop(table);
            change.commit()?;
        }
        txn.commit();
    }
    Ok(())
}
