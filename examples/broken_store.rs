//! A store that loses an update, and the test that finds it: `cargo run --example broken_store`.

use isolde::{Level, Recorder, check};
use std::collections::HashMap;
use std::sync::{Barrier, Mutex};

/// Registers by name. A transaction reads a snapshot, keeps its writes to itself, and puts them back when it
/// commits. Which it should refuse if somebody else has written the same register since; it never does.
#[derive(Default)]
struct Store {
    registers: Mutex<HashMap<&'static str, u64>>,
}

struct Change<'a> {
    store: &'a Store,
    snapshot: HashMap<&'static str, u64>,
    written: HashMap<&'static str, u64>,
}

impl Store {
    fn begin(&self) -> Change<'_> {
        Change {
            store: self,
            snapshot: self.registers.lock().expect("nobody panics").clone(),
            written: HashMap::new(),
        }
    }
}

impl Change<'_> {
    fn get(&self, name: &'static str) -> Option<u64> {
        let written = self.written.get(name);
        written.or_else(|| self.snapshot.get(name)).copied()
    }

    fn put(&mut self, name: &'static str, value: u64) {
        self.written.insert(name, value);
    }

    fn commit(self) {
        let mut registers = self.store.registers.lock().expect("nobody panics");
        registers.extend(self.written);
    }
}

fn main() {
    let (store, recorder) = (Store::default(), Recorder::new());
    // Both clients read before either writes: a moment that a test without it has to wait for.
    let both_have_read = Barrier::new(2);
    std::thread::scope(|scope| {
        for client in 1..=2 {
            let mut session = recorder.session();
            let (store, both_have_read) = (&store, &both_have_read);
            scope.spawn(move || {
                let txn = session.begin();
                let mut change = store.begin();
                txn.read("seats", change.get("seats"));
                both_have_read.wait();
                txn.write("seats", client);
                change.put("seats", client);
                change.commit();
                txn.commit();
            });
        }
    });
    let history = recorder.history();
    println!("{}", check(&history, Level::ReadAtomic));
    println!("{}", check(&history, Level::SnapshotIsolation));
}
