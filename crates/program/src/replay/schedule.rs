//! The order of a scenario, kept on servers that make transactions wait.
//!
//! Everybody is ready before the first turn. A turn begins when it is its turn; then the server is
//! asked until the answer is there or the session waits for a lock. In the latter case the schedule
//! goes on without the instance, and its further turns wait until its answer comes. Then, and before
//! any other turn, it catches up. Whoever waits in a circle is waited for: the server will refuse
//! somebody in it.
//!
//! An instance that takes another way than the schedule foresaw skips the turns it has no statement
//! for, and executes what is left of it before it commits. After the schedule all instances end, in
//! their order.

use super::blocked::{Waits, has_circle};
use super::error::ReplayError;
use crate::scenario::{Event, Point, Scenario};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long an answer is waited for before the server is asked about locks.
const FIRST_LOOK: Duration = Duration::from_millis(1);
/// The same, once somebody is known to wait.
const LOOK_MAX: Duration = Duration::from_millis(8);

/// What an instance did with a turn.
pub(super) enum Began {
    /// Something is under way.
    Turn,
    /// Something is under way that has to come first; the turn is due again after it.
    Before,
    /// It has nothing to do in this turn.
    Nothing,
}

/// An instance that can be told to take a turn.
pub(super) trait Actor {
    /// The number by which the server knows its session.
    fn session(&self) -> u64;

    /// Begins a turn; nothing is under way.
    fn perform(&mut self, event: Event) -> Result<Began, ReplayError>;

    /// What ended, if it ends in that time.
    fn answer(&mut self, within: Duration) -> Result<Option<Event>, ReplayError>;

    /// Whether the transaction is over.
    fn has_ended(&self) -> bool;

    /// How many statements it has begun.
    fn statements(&self) -> u32;

    /// What is under way, for messages.
    fn doing(&self) -> String;
}

/// What the schedule came to.
#[derive(Default)]
pub(super) struct Kept {
    /// The statements that waited for a lock.
    pub waits: Vec<Point>,
    /// What was done, in the order in which it ended.
    pub order: Vec<(usize, Event)>,
}

struct Seat<A> {
    actor: A,
    is_busy: bool,
    waits: bool,
    deferred: VecDeque<Event>,
}

impl<A: Actor> Seat<A> {
    fn is_due(&self) -> bool {
        !self.is_busy && !self.deferred.is_empty() && !self.actor.has_ended()
    }
}

struct Keeper<'a, A> {
    seats: Vec<Seat<A>>,
    probe: &'a mut dyn FnMut(&[u64]) -> Result<Waits, ReplayError>,
    deadline: Duration,
    until: Instant,
    kept: Kept,
}

/// Keeps the schedule of a scenario; the actors, at their ends. The probe tells who waits for a lock.
pub(super) fn keep<A: Actor>(
    scenario: &Scenario,
    actors: Vec<A>,
    deadline: Duration,
    probe: &mut dyn FnMut(&[u64]) -> Result<Waits, ReplayError>,
) -> Result<(Vec<A>, Kept), ReplayError> {
    let count = actors.len();
    if let Some(turn) = scenario.schedule.iter().find(|turn| turn.instance >= count) {
        let problem = format!("a turn of instance {}, of {count}", turn.instance + 1);
        return Err(ReplayError::new(problem));
    }
    let seat = |actor| Seat {
        actor,
        is_busy: false,
        waits: false,
        deferred: VecDeque::new(),
    };
    let mut keeper = Keeper {
        seats: actors.into_iter().map(seat).collect(),
        probe,
        deadline,
        until: Instant::now() + deadline,
        kept: Kept::default(),
    };
    for turn in &scenario.schedule {
        keeper.seats[turn.instance].deferred.push_back(turn.event);
        keeper.catch_up()?;
    }
    for at in 0..count {
        keeper.seats[at].deferred.push_back(Event::Commit);
        keeper.catch_up()?;
    }
    while keeper.seats.iter().any(|seat| !seat.actor.has_ended()) {
        keeper.look(true)?;
        keeper.catch_up()?;
    }
    let actors = keeper.seats.into_iter().map(|seat| seat.actor);
    Ok((actors.collect(), keeper.kept))
}

impl<A: Actor> Keeper<'_, A> {
    /// Does what is due of every instance that does not wait.
    fn catch_up(&mut self) -> Result<(), ReplayError> {
        while let Some(at) = self.seats.iter().position(Seat::is_due) {
            let seat = &mut self.seats[at];
            let Some(event) = seat.deferred.pop_front() else {
                continue;
            };
            let named = |error: ReplayError| error.during(&format!("instance {}", at + 1));
            match seat.actor.perform(event).map_err(named)? {
                Began::Turn => seat.is_busy = true,
                Began::Before => {
                    seat.is_busy = true;
                    seat.deferred.push_front(event);
                }
                Began::Nothing => continue,
            }
            seat.waits = false;
            self.look(false)?;
        }
        Ok(())
    }

    /// Takes answers until everybody has answered or waits for a lock; where nothing else can be done,
    /// until somebody has answered.
    fn look(&mut self, must_come: bool) -> Result<(), ReplayError> {
        let mut must_come = must_come;
        let mut pause = FIRST_LOOK;
        let mut seen = Waits::new();
        loop {
            must_come &= !self.take_answers(pause)?;
            let busy = self
                .seats
                .iter()
                .enumerate()
                .filter(|(_, seat)| seat.is_busy);
            let busy: Vec<(usize, u64)> = busy.map(|(at, s)| (at, s.actor.session())).collect();
            if busy.is_empty() {
                return Ok(());
            }
            if Instant::now() > self.until {
                return Err(self.too_late());
            }
            let all: Vec<u64> = self.seats.iter().map(|seat| seat.actor.session()).collect();
            let waits = (self.probe)(&all)?;
            // Who waits for one of us is told by name. Where the server tells no names, it takes two
            // looks in a row: a deadlock shows as two waits before the server resolves it.
            let is_wait = |(at, id): &(usize, u64)| {
                waits.get(id).is_some_and(|whom| {
                    let named = whom.iter().any(|one| all.contains(one));
                    named || self.seats[*at].waits || seen.contains_key(id)
                })
            };
            let settled = busy.iter().all(is_wait);
            if settled && !must_come && !has_circle(&waits) {
                self.note_waits(&busy);
                return Ok(());
            }
            seen = waits;
            pause = match settled {
                true => (pause * 2).min(LOOK_MAX),
                false => Duration::from_millis(1),
            };
        }
    }

    fn note_waits(&mut self, busy: &[(usize, u64)]) {
        for &(instance, _) in busy {
            let seat = &mut self.seats[instance];
            if !seat.waits {
                seat.waits = true;
                let statement = seat.actor.statements().saturating_sub(1);
                self.kept.waits.push(Point {
                    instance,
                    statement,
                });
            }
        }
    }

    /// Takes the answers that are there, and waits for one if there is none. Whether there was one.
    fn take_answers(&mut self, pause: Duration) -> Result<bool, ReplayError> {
        let mut came = false;
        for at in 0..self.seats.len() {
            came |= self.take_answer(at, Duration::ZERO)?;
        }
        if came {
            return Ok(true);
        }
        let free = |seat: &Seat<A>| seat.is_busy && !seat.waits;
        let at = self.seats.iter().position(free);
        let at = at.or_else(|| self.seats.iter().position(|seat| seat.is_busy));
        at.map_or(Ok(false), |at| self.take_answer(at, pause))
    }

    fn take_answer(&mut self, at: usize, within: Duration) -> Result<bool, ReplayError> {
        let seat = &mut self.seats[at];
        if !seat.is_busy {
            return Ok(false);
        }
        let named = |error: ReplayError| error.during(&format!("instance {}", at + 1));
        let Some(event) = seat.actor.answer(within).map_err(named)? else {
            return Ok(false);
        };
        seat.is_busy = false;
        seat.waits = false;
        self.kept.order.push((at, event));
        Ok(true)
    }

    fn too_late(&self) -> ReplayError {
        let busy = self
            .seats
            .iter()
            .enumerate()
            .filter(|(_, seat)| seat.is_busy);
        let names = busy.map(|(at, seat)| format!("instance {}, {}", at + 1, seat.actor.doing()));
        let names = names.collect::<Vec<_>>().join("; ");
        ReplayError::new(format!(
            "no answer within {:?} from: {names}",
            self.deadline
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Turn;
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    /// A lock, and who waits for it.
    #[derive(Default)]
    struct Lock {
        owner: Option<u64>,
        waiting: BTreeSet<u64>,
    }

    /// Takes the lock by its first statement and gives it back at its end.
    struct Locker {
        id: u64,
        lock: Rc<RefCell<Lock>>,
        under_way: Option<Event>,
        statements: u32,
        ended: bool,
    }

    impl Actor for Locker {
        fn session(&self) -> u64 {
            self.id
        }

        fn perform(&mut self, event: Event) -> Result<Began, ReplayError> {
            if event == Event::Begin {
                return Ok(Began::Nothing);
            }
            self.statements += u32::from(event != Event::Commit);
            self.under_way = Some(event);
            Ok(Began::Turn)
        }

        fn answer(&mut self, _: Duration) -> Result<Option<Event>, ReplayError> {
            let mut lock = self.lock.borrow_mut();
            let Some(event) = self.under_way else {
                return Ok(None);
            };
            if event == Event::Commit {
                lock.owner = lock.owner.filter(|owner| *owner != self.id);
                self.ended = true;
            } else if lock.owner.is_some_and(|owner| owner != self.id) {
                lock.waiting.insert(self.id);
                return Ok(None);
            } else {
                lock.waiting.remove(&self.id);
                lock.owner = Some(self.id);
            }
            self.under_way = None;
            Ok(Some(event))
        }

        fn has_ended(&self) -> bool {
            self.ended
        }

        fn statements(&self) -> u32 {
            self.statements
        }

        fn doing(&self) -> String {
            "waiting".to_string()
        }
    }

    fn turns(text: &str) -> Scenario {
        let turn = |text: &str| Turn {
            instance: text[1..].parse().expect("a number"),
            event: match &text[..1] {
                "b" => Event::Begin,
                "c" => Event::Commit,
                _ => Event::Statement(0),
            },
            sees: None,
        };
        Scenario {
            schedule: text.split(' ').map(turn).collect(),
            ..Scenario::default()
        }
    }

    fn run(text: &str, owner: Option<u64>) -> Result<(String, Vec<Point>), ReplayError> {
        let lock = Rc::new(RefCell::new(Lock {
            owner,
            ..Lock::default()
        }));
        let actor = |id| Locker {
            id,
            lock: Rc::clone(&lock),
            under_way: None,
            statements: 0,
            ended: false,
        };
        let mut probe = |_: &[u64]| {
            let lock = lock.borrow();
            let by = lock.owner.into_iter().collect::<BTreeSet<u64>>();
            let waits = lock.waiting.iter().filter(|id| !by.contains(*id));
            Ok(waits.map(|id| (*id, by.clone())).collect())
        };
        let actors = vec![actor(0), actor(1)];
        let deadline = Duration::from_millis(50);
        let (_, kept) = keep(&turns(text), actors, deadline, &mut probe)?;
        let letter = |(at, event): &(usize, Event)| match event {
            Event::Commit => format!("c{at}"),
            _ => format!("s{at}"),
        };
        let order: Vec<String> = kept.order.iter().map(letter).collect();
        Ok((order.join(" "), kept.waits))
    }

    #[test]
    fn whoever_waits_catches_up_later() {
        let (order, waits) = run("b0 b1 s0 s1 c1 s0 c0", None).expect("a run");
        assert_eq!(order, "s0 s0 c0 s1 c1");
        let first = Point {
            instance: 1,
            statement: 0,
        };
        assert_eq!(waits, [first]);
    }

    #[test]
    fn what_the_schedule_leaves_open_ends() {
        let (order, waits) = run("s0", None).expect("a run");
        assert_eq!(order, "s0 c0 c1");
        assert!(waits.is_empty());
    }

    #[test]
    fn nobody_waits_for_ever() {
        let error = run("s0", Some(9)).expect_err("no answer");
        assert!(error.problem.contains("instance 1, waiting"), "{error}");
        assert!(run("s2", None).is_err());
    }
}
