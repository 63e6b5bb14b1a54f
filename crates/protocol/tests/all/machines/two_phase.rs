//! Two-phase commit as in Gray and Lamport, Consensus on Transaction Commit (TODS 2006), in the
//! subset that stateright's example `2pc` has: resource managers prepare or abort by themselves, the
//! transaction manager commits once it heard that all are prepared, or aborts at any time, and
//! messages stay for ever once sent. Action by action the same, those that change nothing included.

use protocol::{Machine, Sink, fingerprint};

/// How a resource manager stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manager {
    Working,
    Prepared,
    Committed,
    Aborted,
}

/// How the transaction manager stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    None,
    Commit,
    Abort,
}

/// Everything there is. The transaction manager's messages are its decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    managers: [Manager; TwoPhase::MOST],
    decision: Decision,
    /// Those that the transaction manager heard of, a bit each.
    heard: u32,
    /// Those that said that they are prepared, a bit each.
    said: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Hear(usize),
    Decide(Decision),
    Prepare(usize),
    GiveUp(usize),
    Learn(usize),
}

/// The protocol with this many resource managers, up to [`TwoPhase::MOST`].
pub struct TwoPhase {
    pub managers: usize,
}

impl TwoPhase {
    /// As many as fit into 64 bits.
    pub const MOST: usize = 15;

    pub fn first(&self) -> State {
        State {
            managers: [Manager::Working; TwoPhase::MOST],
            decision: Decision::None,
            heard: 0,
            said: 0,
        }
    }

    pub fn actions(&self, state: &State, mut each: impl FnMut(Action)) {
        let open = state.decision == Decision::None;
        if open && state.heard == (1 << self.managers) - 1 {
            each(Action::Decide(Decision::Commit));
        }
        if open {
            each(Action::Decide(Decision::Abort));
        }
        for manager in 0..self.managers {
            if open && state.said & 1 << manager != 0 {
                each(Action::Hear(manager));
            }
            if state.managers[manager] == Manager::Working {
                each(Action::Prepare(manager));
                each(Action::GiveUp(manager));
            }
            if !open {
                each(Action::Learn(manager));
            }
        }
    }

    pub fn next(&self, state: &State, action: Action) -> State {
        let mut next = *state;
        match action {
            Action::Hear(manager) => next.heard |= 1 << manager,
            Action::Decide(decision) => next.decision = decision,
            Action::Prepare(manager) => {
                next.managers[manager] = Manager::Prepared;
                next.said |= 1 << manager;
            }
            Action::GiveUp(manager) => next.managers[manager] = Manager::Aborted,
            Action::Learn(manager) => {
                next.managers[manager] = match state.decision {
                    Decision::Commit => Manager::Committed,
                    _ => Manager::Aborted,
                }
            }
        }
        next
    }

    /// No manager commits while another one aborts.
    pub fn is_consistent(&self, state: &State) -> bool {
        let any = |what| state.managers[..self.managers].contains(&what);
        !(any(Manager::Committed) && any(Manager::Aborted))
    }

    fn encode(&self, state: &State) -> u64 {
        let mut code = state.decision as u64;
        for manager in &state.managers[..self.managers] {
            code = code << 2 | *manager as u64;
        }
        let code = code << self.managers | u64::from(state.heard);
        code << self.managers | u64::from(state.said)
    }

    fn decode(&self, mut code: u64) -> State {
        let mut state = self.first();
        let set = (1 << self.managers) - 1;
        state.said = (code & set) as u32;
        code >>= self.managers;
        state.heard = (code & set) as u32;
        code >>= self.managers;
        for manager in state.managers[..self.managers].iter_mut().rev() {
            *manager = match code & 3 {
                0 => Manager::Working,
                1 => Manager::Prepared,
                2 => Manager::Committed,
                _ => Manager::Aborted,
            };
            code >>= 2;
        }
        state.decision = match code {
            0 => Decision::None,
            1 => Decision::Commit,
            _ => Decision::Abort,
        };
        state
    }

    /// The bytes that a state needs.
    fn width(&self) -> usize {
        (2 + 4 * self.managers).div_ceil(8)
    }
}

/// What a thread saw.
#[derive(Default, Debug)]
pub struct Seen {
    pub inconsistent: u64,
    pub all_committed: u64,
    pub all_aborted: u64,
}

impl Machine for TwoPhase {
    type Worker = Seen;

    fn initial(&self, _: &mut Seen, to: &mut Vec<u8>) -> u64 {
        let code = self.encode(&self.first()).to_le_bytes();
        to.extend_from_slice(&code[..self.width()]);
        fingerprint(&code[..self.width()])
    }

    fn expand(&self, seen: &mut Seen, _place: u32, state: &[u8], sink: &mut Sink<'_>) {
        let mut code = [0; 8];
        code[..state.len()].copy_from_slice(state);
        let state = self.decode(u64::from_le_bytes(code));
        let all = |what| {
            state.managers[..self.managers]
                .iter()
                .all(|one| *one == what)
        };
        seen.inconsistent += u64::from(!self.is_consistent(&state));
        seen.all_committed += u64::from(all(Manager::Committed));
        seen.all_aborted += u64::from(all(Manager::Aborted));
        let mut number = 0;
        self.actions(&state, |action| {
            let code = self.encode(&self.next(&state, action)).to_le_bytes();
            let code = &code[..self.width()];
            sink.offer(fingerprint(code), number, 0, |to| {
                to.extend_from_slice(code)
            });
            number += 1;
        });
    }
}
