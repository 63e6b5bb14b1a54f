//! Writes finished transactions into the history.

use super::client::{Client, Held};
use super::config::{Config, ConfigError, Datatype, Shape};
use super::simulate::TICK;
use history::{
    Builder, History, Interval, KeyId, KeyTable, Op, OpKind, SessionId, Status, TooLarge, ValueCode,
};

pub struct Recorder {
    builder: Builder,
    datatype: Datatype,
    times: bool,
    /// How many transactions were recorded; the next one's label, unless `by_line`.
    count: u64,
    /// How many lines a log of invocations and completions has so far.
    lines: u64,
    /// Whether a transaction's label is the line of its invocation, as in Jepsen's files, which
    /// then need not say it.
    by_line: bool,
    next_session: i64,
    ops: Vec<Op>,
}

impl Recorder {
    pub fn new(config: &Config) -> Recorder {
        let mut builder = Builder::new();
        // The size is known, and doubling a column of gigabytes would double the memory.
        let ops = config.op_count() as usize;
        builder.ops.kinds.reserve_exact(ops);
        builder.ops.keys.reserve_exact(ops);
        builder.ops.values.reserve_exact(ops);
        Recorder {
            builder,
            datatype: config.datatype,
            times: config.times,
            count: 0,
            lines: 0,
            by_line: config.shape == Shape::ListAppend,
            next_session: 0,
            ops: Vec::new(),
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn new_session(&mut self) -> SessionId {
        let session = self.builder.session(self.next_session);
        self.next_session += 1;
        session
    }

    /// The line of an invocation now.
    pub fn start(&mut self) -> u64 {
        self.lines += 1;
        self.lines - 1
    }

    /// Records a transaction as given.
    pub fn push(
        &mut self,
        session: SessionId,
        status: Status,
        interval: Interval,
        ops: &[Op],
    ) -> Result<(), ConfigError> {
        let line = self.start();
        self.lines += 1;
        self.push_at(line, session, status, interval, ops)
    }

    fn push_at(
        &mut self,
        line: u64,
        session: SessionId,
        status: Status,
        interval: Interval,
        ops: &[Op],
    ) -> Result<(), ConfigError> {
        let interval = self.times.then_some(interval);
        let label = if self.by_line { line } else { self.count };
        self.count += 1;
        self.builder
            .push_txn(session, label, status, interval, ops)
            .map_err(too_large)
    }

    pub fn push_list(&mut self, key: KeyId, elements: &[ValueCode]) -> ValueCode {
        if elements.is_empty() {
            return ValueCode::NIL;
        }
        self.builder.push_list(key, elements)
    }

    /// Records a client's finished transaction. With `swap`, it may change places with the next
    /// one of its session: the times stay where they are, the contents move.
    pub fn finish(
        &mut self,
        client: &mut Client,
        now: i64,
        swap: Option<bool>,
    ) -> Result<(), ConfigError> {
        let status = client.fate.status();
        let unheard = status == Status::Indeterminate;
        let interval = Interval {
            start: client.started * TICK + client.skew,
            end: if unheard {
                Interval::NEVER
            } else {
                now * TICK + client.skew
            },
        };
        let mut ops = std::mem::take(&mut self.ops);
        ops.clear();
        self.ops_of(client, unheard, &mut ops);
        if unheard {
            self.flush(client)?;
        }
        let (session, line) = (client.session, client.line);
        // A crash is no line: it is known only at the end.
        self.lines += u64::from(!unheard);
        if let Some(held) = client.held.take() {
            self.push_at(held.line, session, status, held.interval, &ops)?;
            self.push_at(line, session, held.status, interval, &held.ops)?;
        } else if swap == Some(true) && !unheard {
            client.held = Some(Held {
                ops: ops.clone(),
                status,
                interval,
                line,
            });
        } else {
            self.push_at(line, session, status, interval, &ops)?;
        }
        self.ops = ops;
        if unheard && client.remaining > 0 {
            client.session = self.new_session();
        }
        Ok(())
    }

    /// Records what a client still holds back.
    pub fn flush(&mut self, client: &mut Client) -> Result<(), ConfigError> {
        match client.held.take() {
            Some(held) => self.push_at(
                held.line,
                client.session,
                held.status,
                held.interval,
                &held.ops,
            ),
            None => Ok(()),
        }
    }

    fn ops_of(&mut self, client: &Client, unheard: bool, ops: &mut Vec<Op>) {
        let mut lists = client.steps.iter().filter(|s| !s.write).skip(1);
        for step in &client.steps {
            let datatype = self.datatype.of_key(step.key);
            let key = KeyId(step.key);
            let grows = self.datatype != Datatype::Registers;
            let mut value = ValueCode(step.value);
            let mut elements: &[ValueCode] = &[];
            if grows && !step.write {
                // The elements of this read end where those of the next one begin.
                let start = step.value as usize;
                let next = lists.next();
                let end = next.map_or(client.elements.len(), |s| s.value as usize);
                elements = &client.elements[start..end];
            }
            let kind = kind_of(datatype, step.write);
            if unheard && !step.write {
                value = ValueCode::UNKNOWN;
            } else if kind.reads_list() {
                value = self.push_list(key, elements);
            } else if kind == OpKind::ReadCounter {
                value = ValueCode(elements.iter().map(|&element| amount(element)).sum());
            } else if kind == OpKind::Increment {
                value = ValueCode(amount(value));
            } else if grows && kind == OpKind::Read {
                value = elements.last().copied().unwrap_or(ValueCode::ZERO);
            }
            ops.push(Op { kind, key, value });
        }
    }

    /// The history; keys are below `key_limit`.
    pub fn into_history(mut self, key_limit: u32) -> History {
        self.builder.keys = KeyTable::Dense { limit: key_limit };
        self.builder.finish()
    }
}

fn kind_of(datatype: Datatype, write: bool) -> OpKind {
    match (datatype, write) {
        (Datatype::Lists, false) => OpKind::ReadList,
        (Datatype::Lists, true) => OpKind::Append,
        (Datatype::Sets, false) => OpKind::ReadSet,
        (Datatype::Sets, true) => OpKind::Add,
        (Datatype::Counters, false) => OpKind::ReadCounter,
        (Datatype::Counters, true) => OpKind::Increment,
        (_, false) => OpKind::Read,
        (_, true) => OpKind::Write,
    }
}

/// What a counter is incremented by where a list would get an element.
fn amount(element: ValueCode) -> u32 {
    1 + element.0 % 5
}

fn too_large(problem: TooLarge) -> ConfigError {
    ConfigError {
        field: "txns_per_session",
        problem: problem.to_string(),
    }
}
