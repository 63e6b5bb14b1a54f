//! What a transaction may see: the rule of each level, and why it gives that level.
//!
//! Commits are numbered 1, 2, …; this order is the commit order CO of every axiom, and the version
//! order of every key. It extends session order and reads-from, since a session commits one
//! transaction after another and only committed versions are read. A read returns the newest
//! visible version. So phi(t2, t3) => t2 <= t1 holds as soon as everything that phi puts before t3
//! is visible to t3's read. What is visible:
//!
//! | level | store |
//! |---|---|
//! | strict-serializable | a transaction runs at one instant between its start and its end, and sees everything |
//! | strong-session-serializable | the same, but the clocks of sessions are skewed against that order, so real time is not respected |
//! | serializable | the same, and neighbours in a session may change places, so neither is session order |
//! | strong-snapshot-isolation | a snapshot: all commits before the start; the first committer wins |
//! | strong-session-snapshot-isolation | a snapshot may be older, but not older than the session's last commit |
//! | snapshot-isolation | a snapshot may be older than that, too |
//! | prefix | as strong-session-snapshot-isolation, but both committers win |
//! | parallel-snapshot-isolation | a few sites; each sees its own commits at once and now and then catches up with all that another site has; the snapshot is what the site has; a write is refused unless the newest version of its key is in the snapshot. What a site has is closed under (so ∪ wr ∪ ww)+ |
//! | non-monotonic-snapshot-isolation | the same, but each transaction goes to a random site, so so is not respected |
//! | causal | as parallel-snapshot-isolation, but no write is refused; the last commit wins |
//! | read-atomic | all commits up to some point, all of the own session, and of the others before the start a random half, each transaction wholly or not at all; nothing makes that half causal |
//! | update-atomic | the same, but a transaction that read and wrote a key commits only if it read the newest version |
//! | read-committed | all commits up to a point that moves forward between the reads, and may begin in the past |
//! | cursor-stability | the same, with update-atomic's rule |
//! | read-your-writes | each read: all commits up to a random point, and all of the own session |
//! | monotonic-reads | each read: all commits up to a random point, not before the newest version that an earlier transaction of the session read |
//! | monotonic-writes | of each session, all commits up to a random point of its own: closed under so, not wr |
//! | writes-follow-reads | a snapshot that may be older than the session's last commit, and no refusal: closed under wr and so |
//! | read-uncommitted | each read: all commits up to a random point; or, for registers, the last value anybody tried to write. (Not for lists: an element that later vanished would contradict the list's later states, which even this level orders.) |
//!
//! A refused transaction is not recorded; its client tries another one at once, which runs without
//! interruption and sees everything, and so is never refused. That is allowed at every level.
//! Staleness is bounded by [`lag_max`] commits, so that old versions can be forgotten.

use super::random::{Random, mix};
use history::Level;

/// The kinds of visibility in the table above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Everything, at one instant.
    Everything,
    /// All commits up to a point fixed at the start.
    Snapshot,
    /// All commits up to a point that moves forward.
    MovingPoint,
    /// All commits up to a point drawn for each read.
    AnyPoint,
    /// The same, and the own session's.
    AnyPointAndOwn,
    /// The same as `AnyPoint`, but not before what the session has read.
    AnyPointSinceSeen,
    /// A point for each session.
    PointPerSession,
    /// Everything up to a point, the own session's, and a sample of the rest.
    Sample,
    /// What a site has.
    Site,
}

/// When a commit is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refuse {
    Never,
    /// If a key that it wrote has a version that it did not see.
    UnseenWrite,
    /// If a key that it read and wrote has a newer version than the one it read.
    StaleUpdate,
}

/// The rule of a level.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub sight: Sight,
    pub refuse: Refuse,
    /// A snapshot may be older than the start.
    pub stale: bool,
    /// Later transactions of a session see the earlier ones: a snapshot includes the session's
    /// last commit; a session stays at its site; session order is not changed afterwards.
    pub sessions: bool,
    /// The recorded times respect the commit order.
    pub real_time: bool,
}

impl Rule {
    pub fn of(level: Level) -> Rule {
        use Refuse::*;
        use Sight::*;
        let (sight, refuse, stale, sessions, real_time) = match level {
            Level::ReadUncommitted => (AnyPoint, Never, true, false, true),
            Level::ReadCommitted => (MovingPoint, Never, true, false, true),
            Level::CursorStability => (MovingPoint, StaleUpdate, true, false, true),
            Level::ReadYourWrites => (AnyPointAndOwn, Never, true, false, true),
            Level::MonotonicReads => (AnyPointSinceSeen, Never, true, false, true),
            Level::MonotonicWrites => (PointPerSession, Never, true, false, true),
            Level::WritesFollowReads => (Snapshot, Never, true, false, true),
            Level::ReadAtomic => (Sample, Never, true, false, true),
            Level::UpdateAtomic => (Sample, StaleUpdate, true, false, true),
            Level::Causal => (Site, Never, true, true, true),
            Level::Prefix => (Snapshot, Never, true, true, true),
            Level::NonMonotonicSnapshotIsolation => (Site, UnseenWrite, true, false, true),
            Level::ParallelSnapshotIsolation => (Site, UnseenWrite, true, true, true),
            Level::SnapshotIsolation => (Snapshot, UnseenWrite, true, false, true),
            Level::StrongSessionSnapshotIsolation => (Snapshot, UnseenWrite, true, true, true),
            Level::StrongSnapshotIsolation => (Snapshot, UnseenWrite, false, true, true),
            Level::Serializable => (Everything, Never, false, false, false),
            Level::StrongSessionSerializable => (Everything, Never, false, true, false),
            Level::StrictSerializable => (Everything, Never, false, true, true),
        };
        Rule {
            sight,
            refuse,
            stale,
            sessions,
            real_time,
        }
    }
}

/// How many commits a view may lie in the past: a few for each session, so that staleness shows
/// whatever the number of sessions.
pub fn lag_max(sessions: u32) -> u32 {
    sessions.saturating_mul(4).clamp(16, 1024)
}

/// How many sites there are at most.
pub const SITES: usize = 4;

/// What one transaction may see.
#[derive(Clone, Default, Debug)]
pub struct View {
    /// Commits up to here are visible, whatever else is said; the fast path, and what keeps
    /// versions alive.
    pub floor: u32,
    /// Commits up to here are visible (the kinds with a point).
    pub point: u32,
    /// The last commit before the start.
    pub start: u32,
    /// Makes the random choices of this view.
    pub salt: u64,
    /// Up to where the commits of each site are visible.
    pub sites: [u32; SITES],
}

impl View {
    /// Sees every commit up to `now`.
    pub fn everything(now: u32) -> View {
        View {
            floor: now,
            point: now,
            start: now,
            salt: 0,
            sites: [now; SITES],
        }
    }

    /// Whether a commit is visible to a transaction of `own`. `origins` has the session or, for
    /// `Sight::Site`, the site of each commit.
    #[inline]
    pub fn sees(&self, sight: Sight, commit: u32, own: u32, origins: &[u32]) -> bool {
        if commit <= self.floor {
            return true;
        }
        let origin = || origins[commit as usize];
        match sight {
            Sight::Everything => true,
            Sight::Snapshot | Sight::MovingPoint | Sight::AnyPoint | Sight::AnyPointSinceSeen => {
                commit <= self.point
            }
            Sight::AnyPointAndOwn => commit <= self.point || origin() == own,
            Sight::PointPerSession => {
                let span = u64::from(self.start - self.floor) + 1;
                let back = mix(self.salt ^ u64::from(origin())) % span;
                commit <= self.start - back as u32
            }
            Sight::Sample => {
                commit <= self.start
                    && (origin() == own || mix(self.salt ^ u64::from(commit)) & 1 == 0)
            }
            Sight::Site => commit <= self.sites[origin() as usize],
        }
    }

    /// Chooses the point of the next read.
    #[inline]
    pub fn before_read(&mut self, sight: Sight, now: u32, random: &mut Random) {
        match sight {
            Sight::MovingPoint => self.point = advance(self.point, now, random),
            Sight::AnyPoint | Sight::AnyPointAndOwn | Sight::AnyPointSinceSeen => {
                self.point = recent(self.floor, now, random);
            }
            _ => {}
        }
    }
}

/// A point from `oldest` to `now`: half of the time now, so that much is fresh and some is stale.
pub fn recent(oldest: u32, now: u32, random: &mut Random) -> u32 {
    if random.one_in(2) {
        now
    } else {
        random.between(oldest, now)
    }
}

/// A point from `point` to `now`; half of the time it stays.
#[inline]
fn advance(point: u32, now: u32, random: &mut Random) -> u32 {
    if random.one_in(2) {
        point
    } else {
        random.between(point, now)
    }
}

/// The sites of a replicated store: up to where each has the commits of each other one.
pub struct Sites {
    have: [[u32; SITES]; SITES],
    count: usize,
}

impl Sites {
    pub fn new(count: usize) -> Sites {
        Sites {
            have: [[0; SITES]; SITES],
            count: count.clamp(1, SITES),
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// What `site` has when a transaction starts there: everything of its own, and it may catch up
    /// with another site; it must with one it is too far behind.
    pub fn view(&mut self, site: usize, now: u32, oldest: u32, random: &mut Random) -> View {
        self.have[site][site] = now;
        let other = random.below(self.count as u64) as usize;
        let catch_up = random.one_in(4);
        for from in 0..self.count {
            if from != site && (catch_up && from == other || self.have[site][from] < oldest) {
                self.merge(site, from, now);
            }
        }
        let have = self.have[site];
        View {
            floor: have[..self.count].iter().copied().min().unwrap_or(now),
            sites: have,
            ..View::default()
        }
    }

    /// Takes over everything that `from` has. Both sets are causally closed, so the union is.
    fn merge(&mut self, site: usize, from: usize, now: u32) {
        for k in 0..self.count {
            self.have[site][k] = self.have[site][k].max(self.have[from][k]);
        }
        self.have[site][from] = now;
    }

    /// The site has everything: a transaction that saw everything commits there.
    pub fn complete(&mut self, site: usize, now: u32) {
        self.have[site] = [now; SITES];
    }
}
