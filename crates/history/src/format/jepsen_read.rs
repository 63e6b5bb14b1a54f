//! Pairs Jepsen's invocations with their completions and makes each pair a transaction.
//!
//! Steps: scan one map at a time; remember an invocation under its process; at the completion,
//! parse the value that counts and close the transaction; at the end, what is still open is
//! indeterminate; then settle what each key is (`jepsen_value`). Cost: one pass, plus one memory
//! cell an open operation. Maps without a process pair with the newest open invocation of the same
//! `:f`, and each such transaction is a session of its own: nothing says who issued it.

use super::ReadOptions;
use super::codes::key_table;
use super::edn::{Flaw, Scan, Scanner};
use super::jepsen_clock::EventOrder;
use super::jepsen_event::{Event, Later, Phase, Process, ValueReader, next_event};
use super::jepsen_open::{Open, Processes};
use super::jepsen_value::{Certainty, Values};
use crate::{Builder, History, Interval, Status};

/// How much of a file is given back at a time.
const RELEASED_AT_ONCE: usize = 8 << 20;
/// How much stays: the latest lists are compared with the next ones.
const KEPT: usize = 1 << 20;
/// How many values on pages given back are read again before these are given back once more.
const READ_AGAIN_MAX: u32 = 64;

/// Which clock the intervals are on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// `:time` in the order of `:index`, as long as every map has both and neither descends.
    Indexed,
    /// `:time`, as long as every map has one.
    Time,
    /// The position in the file.
    Position,
}

/// Reads the values of transactions that succeeded as soon as they are met.
struct Eager<'r> {
    builder: &'r mut Builder,
    values: &'r mut Values,
    /// Where the operations of the map begin.
    ops_start: usize,
    is_read: bool,
}

impl<const JSON: bool> ValueReader<JSON> for Eager<'_> {
    #[inline]
    fn read(&mut self, scanner: &mut Scanner<'_, JSON>, phase: Option<Phase>, f: &[u8]) -> bool {
        self.builder.ops.truncate(self.ops_start);
        let start = scanner.pos;
        let is_wanted = phase == Some(Phase::Ok) && f == b"txn" && scanner.peek() == Some(b'[');
        self.is_read = is_wanted && self.values.unchecked_txn(self.builder, scanner).is_ok();
        if !self.is_read {
            // What is wrong is said by whoever needs the value.
            self.builder.ops.truncate(self.ops_start);
            scanner.pos = start;
        }
        self.is_read
    }
}

/// The state of one pass.
pub(crate) struct Reader<'a, const JSON: bool> {
    bytes: &'a [u8],
    clock: Clock,
    builder: Builder,
    values: Values,
    processes: Processes,
    order: EventOrder,
    /// The `:index` and `:time` of the last map, and whether all had the same time.
    last_index: Option<u64>,
    last_time: Option<i64>,
    has_one_time: bool,
    /// Open invocations without a process, with their `:f`.
    nameless: Vec<(Open, &'a [u8])>,
    event_count: u64,
    txn_number: u64,
    nameless_count: i64,
    fault_count: u64,
    orphan_count: u64,
    strange_count: u64,
    /// Transactions whose completion has an earlier time than their invocation.
    backward_count: u64,
    notes: Vec<String>,
    /// The bytes before this were given back.
    released: usize,
    /// How often some of them were needed nevertheless.
    read_again: u32,
}

impl<'a, const JSON: bool> Reader<'a, JSON> {
    /// Reads a whole file.
    pub fn read(bytes: &'a [u8], options: &ReadOptions, notes: &mut Vec<String>) -> Scan<History> {
        // A file is first taken to have indices and times; the first map without sends us back.
        for clock in [Clock::Indexed, Clock::Time, Clock::Position] {
            if let Some((history, more)) = Self::new(bytes, clock).run(options)? {
                notes.extend(more);
                return Ok(history);
            }
        }
        Err(Flaw::new(0, "positions cannot be missing"))
    }

    fn new(bytes: &'a [u8], clock: Clock) -> Self {
        Reader {
            bytes,
            clock,
            builder: Builder::new(),
            values: Values::default(),
            processes: Processes::default(),
            order: EventOrder::new(),
            last_index: None,
            last_time: None,
            has_one_time: true,
            nameless: Vec::new(),
            event_count: 0,
            txn_number: 0,
            nameless_count: 0,
            fault_count: 0,
            orphan_count: 0,
            strange_count: 0,
            backward_count: 0,
            notes: Vec::new(),
            released: 0,
            read_again: 0,
        }
    }

    /// One pass; nothing if a map lacks what the clock asks for.
    fn run(mut self, options: &ReadOptions) -> Scan<Option<(History, Vec<String>)>> {
        let mut scanner = Scanner::<JSON>::at(self.bytes, 0);
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            scanner.pos = 3;
        }
        loop {
            self.give_back(scanner.pos, options);
            let is_first = self.event_count == 0 && self.fault_count == 0;
            let ops_start = self.builder.ops.len();
            let mut eager = Eager {
                builder: &mut self.builder,
                values: &mut self.values,
                ops_start,
                is_read: false,
            };
            let event = next_event(&mut scanner, is_first, &mut eager);
            let is_read = eager.is_read;
            let is_kept = |event: &Event<'_>| {
                event.phase == Phase::Ok && event.process != Process::Fault && event.f == b"txn"
            };
            let is_read = is_read && matches!(&event, Ok(Some(event)) if is_kept(event));
            if !is_read {
                self.builder.ops.truncate(ops_start);
            }
            match event {
                Ok(None) => break,
                Ok(Some(event)) if event.process == Process::Fault => self.fault_count += 1,
                Ok(Some(event)) => {
                    let Some(now) = self.time_of(&event) else {
                        return Ok(None);
                    };
                    self.take(event, now, ops_start, is_read)?;
                }
                // A file without one whole operation is no recording that was cut short.
                Err(flaw) if flaw.at_end && !is_first => {
                    self.notes.push(format!(
                        "the file ends in the middle of an operation; the {} whole ones before it \
                         were read",
                        self.event_count
                    ));
                    break;
                }
                Err(flaw) => return Err(flaw),
            }
        }
        self.finish(options).map(Some)
    }

    /// When an event was, by the clock; nothing if it does not say.
    #[inline]
    fn time_of(&mut self, event: &Event<'a>) -> Option<i64> {
        let position = self.event_count as i64;
        self.event_count += 1;
        if self.clock == Clock::Position {
            return Some(position);
        }
        let time = event.time?;
        let last_time = self.last_time.replace(time);
        self.has_one_time &= last_time.is_none_or(|last| last == time);
        if self.clock == Clock::Time {
            return Some(time);
        }
        let index = event.index?;
        let descends = self.last_index.is_some_and(|last| last >= index);
        if descends || last_time.is_some_and(|last| last > time) {
            return None;
        }
        self.last_index = Some(index);
        let process = match event.process {
            Process::Client(process) => Some(process),
            _ => None,
        };
        Some(match event.phase {
            Phase::Invoke => self.order.invocation(time, process),
            phase => self.order.completion(time, process, phase == Phase::Ok),
        })
    }

    /// `is_read`: whether the operations were read already, from `ops_start` on.
    fn take(&mut self, event: Event<'a>, now: i64, ops_start: usize, is_read: bool) -> Scan<()> {
        if event.phase == Phase::Invoke {
            return self.invoke(event, now);
        }
        let invocation = match event.process {
            Process::Client(process) => self.processes.end(process),
            _ => {
                let newest = self.nameless.iter().rposition(|(_, f)| *f == event.f);
                newest.map(|at| self.nameless.remove(at).0)
            }
        };
        let (status, end) = match event.phase {
            Phase::Ok => (Status::Committed, now),
            Phase::Fail => (Status::Aborted, now),
            Phase::Info | Phase::Invoke => (Status::Indeterminate, Interval::NEVER),
        };
        if !is_read {
            let invoked = invocation.map(|open| open.at);
            self.ops_of(invoked, &event, ops_start)?;
            if self.leave_out_strange() {
                return Ok(());
            }
        }
        let open = invocation.unwrap_or_else(|| {
            self.orphan_count += 1;
            self.txn_number += 1;
            Open {
                at: event.at,
                // The invocation is unknown, so it may have been at any time before.
                start: i64::MIN,
                label: label(&event, self.txn_number - 1),
            }
        });
        self.close(&open, event.process, status, end, ops_start)
    }

    /// The map that starts at a place where one was read before.
    fn event_at(&self, at: usize) -> Scan<Event<'a>> {
        let mut scanner = Scanner::<JSON>::at(self.bytes, at);
        let event = next_event(&mut scanner, false, &mut Later)?;
        event.ok_or_else(|| Flaw::new(at, "an operation was here before"))
    }

    fn invoke(&mut self, event: Event<'a>, now: i64) -> Scan<()> {
        let open = Open {
            at: event.at,
            start: now,
            label: label(&event, self.txn_number),
        };
        self.txn_number += 1;
        if event.f == b"read"
            && let Some(at) = event.value
        {
            self.values
                .note_asked(&mut Scanner::<JSON>::at(self.bytes, at));
        }
        let Process::Client(process) = event.process else {
            self.nameless.push((open, event.f));
            return Ok(());
        };
        match self.processes.begin(process, open) {
            true => Ok(()),
            false => Err(Flaw::new(
                event.at,
                format!("process {process} invokes an operation before its last one completed"),
            )
            .hint("a process does one thing at a time; were two recordings joined?")),
        }
    }

    /// The operations of a completed transaction, whose invocation starts at `invoked`.
    fn ops_of(&mut self, invoked: Option<usize>, event: &Event<'a>, ops_start: usize) -> Scan<()> {
        if event.phase == Phase::Ok {
            return self.committed_ops(invoked, event);
        }
        let asked = match invoked {
            Some(at) => self.event_at(at)?,
            None => *event,
        };
        self.fill(&asked, asked.value, Certainty::Attempted)?;
        if !self.values.is_strange {
            self.merge_results(event, ops_start);
        }
        Ok(())
    }

    /// Whether the operation just read is none on data. Such a one is not a transaction.
    fn leave_out_strange(&mut self) -> bool {
        let is_strange = std::mem::take(&mut self.values.is_strange);
        self.strange_count += u64::from(is_strange);
        is_strange
    }

    /// Operations of an `:ok`: the completion's value, or the invocation's where it has none.
    fn committed_ops(&mut self, invoked: Option<usize>, event: &Event<'a>) -> Scan<()> {
        let mut event = *event;
        let nil: &[u8] = if JSON { b"null" } else { b"nil" };
        let has_value = |at: usize| !self.bytes[at..].starts_with(nil);
        let is_whole = !event.f.is_empty() && event.value.is_some_and(has_value);
        let invoked = invoked.filter(|_| !is_whole);
        let invocation = invoked.map(|at| self.event_at(at)).transpose()?;
        if event.f.is_empty() {
            event.f = invocation.map_or(b"".as_slice(), |asked| asked.f);
        }
        let plain_read = event.f == b"read";
        match (event.value, invocation.and_then(|asked| asked.value)) {
            (Some(at), _) if has_value(at) || plain_read => {
                self.fill(&event, Some(at), Certainty::Observed)
            }
            (_, asked) => self.fill(&event, asked, Certainty::Attempted),
        }
    }

    /// Gives back the pages behind `pos`, now and then.
    #[inline]
    fn give_back(&mut self, pos: usize, options: &ReadOptions) {
        if self.read_again >= READ_AGAIN_MAX {
            (options.release)(0..self.released);
            self.read_again = 0;
        }
        if pos - self.released >= RELEASED_AT_ONCE + KEPT {
            let end = self.released + RELEASED_AT_ONCE;
            (options.release)(self.released..end);
            (options.progress)(end as u64);
            self.released = end;
        }
    }

    fn fill(&mut self, event: &Event<'a>, value: Option<usize>, how: Certainty) -> Scan<()> {
        let at = value.unwrap_or(event.at);
        self.read_again += u32::from(at < self.released);
        let mut scanner = Scanner::<JSON>::at(self.bytes, at);
        let (values, builder) = (&mut self.values, &mut self.builder);
        values.operation(builder, &mut scanner, event, value.is_some(), how)
    }

    /// Adds what the completion of an operation that did not succeed says it read, if it speaks of
    /// the same operations as the invocation (whose ops lie from `ops_start` on).
    fn merge_results(&mut self, event: &Event<'a>, ops_start: usize) {
        let asked_end = self.builder.ops.len();
        let read = self.fill(event, event.value, Certainty::Attempted);
        self.values.is_strange = false;
        let ops = &mut self.builder.ops;
        let count = asked_end - ops_start;
        let same = read.is_ok()
            && ops.len() - asked_end == count
            && (0..count).all(|i| {
                let (asked, told) = (ops_start + i, asked_end + i);
                ops.keys[asked] == ops.keys[told]
                    && ops.kinds[asked].is_write() == ops.kinds[told].is_write()
            });
        for i in (0..count).filter(|_| same) {
            if !ops.kinds[ops_start + i].is_write() {
                ops.kinds[ops_start + i] = ops.kinds[asked_end + i];
                ops.values[ops_start + i] = ops.values[asked_end + i];
            }
        }
        ops.truncate(asked_end);
    }

    fn close(
        &mut self,
        open: &Open,
        process: Process,
        status: Status,
        end: i64,
        ops_start: usize,
    ) -> Scan<()> {
        let builder = &mut self.builder;
        let session = match process {
            Process::Client(process) => {
                self.processes.session(process, || builder.session(process))
            }
            _ => {
                self.nameless_count += 1;
                builder.session(self.nameless_count - 1)
            }
        };
        let interval = Interval {
            start: open.start,
            end,
        };
        self.backward_count += u64::from(end < open.start);
        self.builder
            .end_txn(session, open.label, status, Some(interval), ops_start)
            .map_err(|error| Flaw::new(open.at, error.to_string()))
    }

    fn finish(mut self, options: &ReadOptions) -> Scan<(History, Vec<String>)> {
        let mut open = self.processes.take_all();
        open.extend(self.nameless.drain(..).map(|(open, _)| open));
        open.sort_by_key(|open| open.at);
        for open in &open {
            let ops_start = self.builder.ops.len();
            let event = self.event_at(open.at)?;
            self.fill(&event, event.value, Certainty::Attempted)?;
            if self.leave_out_strange() {
                continue;
            }
            let (status, end) = (Status::Indeterminate, Interval::NEVER);
            self.close(open, event.process, status, end, ops_start)?;
            self.give_back(self.released, options);
        }
        if self.event_count == 0 && self.notes.is_empty() {
            self.notes.push("the file holds no operation".into());
        }
        if self.builder.txn_count() == 0
            && let Some(flaw) = self.values.first_strange.take()
        {
            return Err(flaw);
        }
        self.note_what_was_left_out();
        self.values.settle(&mut self.builder)?;
        self.builder.keys = key_table(&mut self.builder.ops.keys, &self.values.keys.table);
        self.values.settle_kinds(&mut self.builder);
        self.builder.values = self.values.values.table;
        let mut history = self.builder.finish();
        // Times that are all the same order nothing. Files made by hand, and those this crate writes
        // for histories without times, have `:time 0` throughout.
        if self.clock != Clock::Position && (self.has_one_time || self.backward_count > 0) {
            history.intervals = None;
        }
        Ok((history, self.notes))
    }

    fn note_what_was_left_out(&mut self) {
        if self.fault_count > 0 {
            self.notes.push(format!(
                "{} operations of the nemesis were skipped",
                self.fault_count
            ));
        }
        if let Some(flaw) = &self.values.first_strange {
            let count = self.strange_count;
            let what = &flaw.problem;
            self.notes
                .push(format!("{count} operations were left out: {what}"));
        }
        if self.orphan_count > 0 {
            self.notes.push(format!(
                "{} completions have no invocation; when they began is unknown",
                self.orphan_count
            ));
        }
        if self.backward_count > 0 {
            self.notes.push(format!(
                "{} operations completed before they were invoked, by their :time, so no times are used",
                self.backward_count
            ));
        }
        if self.nameless_count > 0 {
            self.notes.push(format!(
                "{} operations name no process; each is taken as a session of its own",
                self.nameless_count
            ));
        }
    }
}

/// What a transaction is called: as the map says, by its index, or by its place.
fn label(event: &Event<'_>, number: u64) -> u64 {
    match event.label {
        Some(label) => label.unwrap_or(crate::UNLABELLED),
        None => event.index.unwrap_or(number),
    }
}
