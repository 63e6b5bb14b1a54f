//! Runs a few transactions step by step, in an order that is given: who does what, when.
//!
//! Each client has a thread and a connection of its own and is told one move at a time. A move that does not
//! end within a moment (it waits for a lock) is left to end by itself, and the script goes on with the next one,
//! as long as that is another client's; so a script may hold moves that wait for later ones.

use crate::driver::{Answer, Connection, Database, Error, Fate};
use crate::generate::random::Random;
use crate::plan::{Action, Plan, Step};
use crate::record::{Entry, Outcome, write_end};
use crate::schema::Schema;
use history::Status;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What a client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Begins a transaction.
    Begin,
    /// Asks for something within it.
    Act(Action),
    /// Commits it.
    Commit,
    /// Rolls it back.
    Rollback,
}

/// A script: moves of clients, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Which client does what.
    pub moves: Vec<(usize, Move)>,
    /// The node of each client.
    pub nodes: Vec<usize>,
}

impl Script {
    /// The script without a client.
    pub fn without(&self, client: usize) -> Script {
        let others = self.moves.iter().filter(|(who, _)| *who != client);
        Script {
            moves: others.copied().collect(),
            nodes: self.nodes.clone(),
        }
    }
}

/// What came of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// It was done.
    Done(Answer),
    /// It was refused, or nobody knows.
    Failed(Error),
    /// It was not tried, because the transaction had ended before.
    Skipped,
}

/// A script that was run.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// What came of each move.
    pub came: Vec<Option<Came>>,
    /// Which moves had to wait for a later one.
    pub waited: Vec<bool>,
    /// The history, as lines of a recording.
    pub lines: String,
}

/// A move that takes longer than this is waiting for somebody.
const MOMENT: Duration = Duration::from_millis(60);

/// Runs a script on tables that are prepared.
pub fn replay(
    database: &dyn Database,
    schema: &Schema,
    script: &Script,
    patience: Duration,
) -> Result<Replayed, Error> {
    let client_count = script.nodes.len();
    if let Some((who, _)) = script.moves.iter().find(|(who, _)| *who >= client_count) {
        let problem = format!("a move of client {who}, of {client_count}, counted from 0");
        return Err(Error::hopeless(problem));
    }
    let epoch = Instant::now();
    let connect = |node: &usize| database.connect(*node, schema);
    let connections = script
        .nodes
        .iter()
        .map(connect)
        .collect::<Result<Vec<_>, _>>()?;
    let mut result = Replayed {
        came: vec![None; script.moves.len()],
        waited: vec![false; script.moves.len()],
        lines: String::new(),
    };
    thread::scope(|scope| {
        let clients = connections.into_iter().enumerate();
        let mut clients: Vec<Told> = clients
            .map(|(place, connection)| {
                let (tell, told) = channel();
                let (answer, answers) = channel();
                scope.spawn(move || client(place, connection, schema, epoch, &told, &answer));
                Told {
                    tell,
                    answers,
                    pending: VecDeque::new(),
                }
            })
            .collect();
        for (place, &(who, next)) in script.moves.iter().enumerate() {
            let told = &mut clients[who];
            // A client that is gone answers nothing, and its moves stay without an answer.
            if told.tell.send(next).is_ok() {
                told.pending.push_back(place);
                told.settle(MOMENT, &mut result);
                result.waited[place] = !told.pending.is_empty();
            }
        }
        for told in &mut clients {
            told.settle(patience, &mut result);
        }
        // Clients end when nobody can tell them anything more, and send their lines first. All are let go
        // before any is waited for: one may hold a lock that another needs.
        let ends: Vec<Receiver<Said>> = clients.into_iter().map(|told| told.answers).collect();
        for said in ends.iter().flatten() {
            if let Said::Lines(lines) = said {
                result.lines.push_str(&lines);
            }
        }
    });
    Ok(result)
}

enum Said {
    Came(Came),
    Lines(String),
}

/// A client as its director sees it.
struct Told {
    tell: Sender<Move>,
    answers: Receiver<Said>,
    /// The moves that it has not answered yet.
    pending: VecDeque<usize>,
}

impl Told {
    /// Waits for the answers to the moves under way, if there are any.
    fn settle(&mut self, patience: Duration, result: &mut Replayed) {
        let until = Instant::now() + patience;
        while let Some(&place) = self.pending.front() {
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(Said::Came(came)) => {
                    result.came[place] = Some(came);
                    self.pending.pop_front();
                }
                Ok(Said::Lines(_)) | Err(RecvTimeoutError::Disconnected) => self.pending.clear(),
                Err(RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

/// A transaction under way.
#[derive(Default)]
struct Current {
    plan: Plan,
    answers: Vec<Option<Answer>>,
    start: i64,
    is_open: bool,
}

fn client(
    session: usize,
    mut connection: Box<dyn Connection>,
    schema: &Schema,
    epoch: Instant,
    told: &Receiver<Move>,
    say: &Sender<Said>,
) {
    let now = || epoch.elapsed().as_nanos() as i64;
    let mut current = Current::default();
    let mut lines = String::new();
    let mut txn = 0;
    let mut end = |current: &mut Current, status, version| {
        let entry = Entry {
            session: session as u64,
            txn,
            start: current.start,
            plan: &current.plan,
        };
        let outcome = Outcome {
            status,
            end: now(),
            answers: &current.answers,
            version,
            info: &[],
            error: None,
            node: None,
        };
        write_end(schema, &entry, &outcome, &mut lines);
        txn += 1;
        current.is_open = false;
    };
    for next in told {
        let (came, ended) = step(connection.as_mut(), &mut current, next, now());
        if let Some((status, version)) = ended {
            end(&mut current, status, version);
        }
        // Whoever directs may have given up on this client.
        let _ = say.send(Said::Came(came));
    }
    if current.is_open {
        // The script leaves it open. It was never committed, whatever its rollback says.
        let _ = connection.rollback();
        end(&mut current, Status::Aborted, None);
    }
    let _ = say.send(Said::Lines(lines));
}

type Ended = Option<(Status, Option<u64>)>;

/// Does one move; tells how the transaction ended, if it did.
fn step(
    connection: &mut dyn Connection,
    current: &mut Current,
    next: Move,
    now: i64,
) -> (Came, Ended) {
    let result = match next {
        Move::Begin => {
            *current = Current {
                start: now,
                is_open: true,
                ..Current::default()
            };
            connection.begin().map(|()| (Answer::Done, None))
        }
        _ if !current.is_open => return (Came::Skipped, None),
        Move::Act(action) => {
            current.plan.steps.push(Step::Act(action));
            current.answers.push(None);
            connection.run(&action).map(|answer| {
                if let Some(slot) = current.answers.last_mut() {
                    *slot = Some(answer.clone());
                }
                (answer, None)
            })
        }
        Move::Commit => connection.commit().map(|commit| {
            let mut later = commit.answers.into_iter();
            let waiting = |answer: &&mut Option<Answer>| **answer == Some(Answer::Later);
            for answer in current.answers.iter_mut().filter(waiting) {
                *answer = later.next();
            }
            (Answer::Done, Some((Status::Committed, commit.version)))
        }),
        Move::Rollback => {
            let done = connection.rollback();
            done.map(|()| (Answer::Done, Some((Status::Aborted, None))))
        }
    };
    match result {
        Ok((answer, ended)) => (Came::Done(answer), ended),
        Err(error) => {
            let status = match error.fate {
                Fate::Aborted | Fate::Lost => Status::Aborted,
                Fate::Unknown | Fate::Hopeless => Status::Indeterminate,
            };
            // The transaction is over either way; what its rollback says changes nothing.
            let _ = connection.rollback();
            (Came::Failed(error), Some((status, None)))
        }
    }
}

/// Puts the moves of clients into one order. The first attempts are the orders that show most anomalies: in
/// turns with all endings last, and all beginnings, reads, writes and endings together; then come
/// random ones. Clients are spread over the nodes, from attempt to attempt in another way.
pub fn interleave(clients: &[Vec<Move>], node_count: usize, attempt: u32, seed: u64) -> Script {
    let mut random = Random::new(seed.wrapping_add(u64::from(attempt)));
    let moves = match attempt {
        0 => in_turns(clients),
        1 if clients.iter().all(|moves| moves.len() <= MOVES_OF_ONE_TXN) => by_kind(clients),
        _ => at_random(clients, &mut random),
    };
    let shift = attempt as usize;
    let nodes = (0..clients.len()).map(|client| (client + shift) % node_count.max(1));
    Script {
        moves,
        nodes: nodes.collect(),
    }
}

/// Beyond that a client has several transactions, whose kinds of moves must not be mixed.
const MOVES_OF_ONE_TXN: usize = 12;

fn ends(next: Move) -> bool {
    matches!(next, Move::Commit | Move::Rollback)
}

fn in_turns(clients: &[Vec<Move>]) -> Vec<(usize, Move)> {
    let longest = clients.iter().map(Vec::len).max().unwrap_or(0);
    let mut moves = Vec::new();
    for turn in 0..longest {
        for (client, own) in clients.iter().enumerate() {
            let last = own.len() == turn + 1;
            if let Some(next) = own.get(turn).filter(|_| !last) {
                moves.push((client, *next));
            }
        }
    }
    let last = |(client, own): (usize, &Vec<Move>)| own.last().map(|next| (client, *next));
    moves.extend(clients.iter().enumerate().filter_map(last));
    moves
}

fn by_kind(clients: &[Vec<Move>]) -> Vec<(usize, Move)> {
    let single = |own: &Vec<Move>| own.iter().filter(|next| ends(**next)).count() == 1;
    if !clients.iter().all(single) {
        return in_turns(clients);
    }
    let kind = |next: Move| match next {
        Move::Begin => 0,
        Move::Act(action) => 1 + u8::from(action.writes()),
        Move::Commit | Move::Rollback => 3,
    };
    let mut moves: Vec<(usize, Move)> = Vec::new();
    // A read that follows a write of its own client must stay behind it.
    for wanted in 0..4 {
        for (client, own) in clients.iter().enumerate() {
            let mut highest = 0;
            for next in own {
                highest = highest.max(kind(*next));
                if highest == wanted {
                    moves.push((client, *next));
                }
            }
        }
    }
    moves
}

fn at_random(clients: &[Vec<Move>], random: &mut Random) -> Vec<(usize, Move)> {
    let mut done = vec![0; clients.len()];
    let total = clients.iter().map(Vec::len).sum();
    let mut moves = Vec::with_capacity(total);
    while moves.len() < total {
        let client = random.below(clients.len() as u64) as usize;
        if let Some(next) = clients[client].get(done[client]) {
            moves.push((client, *next));
            done[client] += 1;
        }
    }
    moves
}
