//! The scheduler, the clients' steps, and commits.

use super::client::{Client, Fate, Step};
use super::config::{Config, ConfigError, Datatype};
use super::keys::KeyChoice;
use super::lists::{ListStore, read_list};
use super::random::{Chance, Random};
use super::record::Recorder;
use super::shapes::{Planned, Rows, Script, appends_max};
use super::store::{Keep, Store, Version};
use super::view::{Refuse, Rule, SITES, Sight, Sites, View, lag_max, recent};
use super::{Generated, plant};
use history::{AnomalyKind, Level, SessionId, TxnId};

/// The length of a scheduler step on the recorded clock, in nanoseconds.
pub const TICK: i64 = 1000;

/// Where read-uncommitted finds values that are not committed.
const DIRTY_PLACES: usize = 4096;

/// An anomaly to plant as soon as this many transactions are recorded.
struct Plan {
    after: u64,
    index: usize,
}

struct Planted {
    kind: AnomalyKind,
    txns: Vec<(SessionId, u32)>,
}

/// Everything but the clients.
struct World {
    rule: Rule,
    random: Random,
    choice: KeyChoice,
    /// What transactions do, if a benchmark says.
    script: Option<Script>,
    reads: Chance,
    /// Which writes read their key first; none if that never happens.
    updates: Option<Chance>,
    aborts: Chance,
    unheard: Chance,
    lag: u32,
    store: Store,
    sites: Sites,
    /// The last commit.
    now: u32,
    /// The session or site of each commit; kept only where a rule asks.
    origins: Vec<u32>,
    /// Every view, present or future, sees the commits up to here.
    stable: u32,
    time: i64,
    /// Where keys grow, as lists do; `store` is empty then.
    lists: Option<ListStore>,
    datatype: Datatype,
    next_key: u32,
    /// Values that somebody tried to write lately, for read-uncommitted.
    dirty: Vec<(u32, u32)>,
}

/// Runs the simulation.
pub fn run(config: &Config) -> Result<Generated, ConfigError> {
    let mut world = World::new(config);
    let mut recorder = Recorder::new(config);
    let mut plans = plans(config, &mut world.random);
    let mut planted: Vec<Option<Planted>> = config.anomalies.iter().map(|_| None).collect();
    let mut clients = clients(config, &mut world, &mut recorder);
    let mut active: Vec<u32> = (0..config.sessions).collect();
    let stable_period = u64::from(config.sessions).max(64);
    let mut stable_due = stable_period;
    while !active.is_empty() || !plans.is_empty() {
        while let Some(plan) = plans.pop_if(|p| p.after <= recorder.count() || active.is_empty()) {
            planted[plan.index] = Some(world.plant(config, plan.index, &mut recorder)?);
        }
        if active.is_empty() {
            continue;
        }
        let turn = world.random.below(active.len() as u64) as usize;
        let client = &mut clients[active[turn] as usize];
        if world.turn(client, &mut recorder)? {
            recorder.flush(client)?;
            active.swap_remove(turn);
        }
        if recorder.count() >= stable_due {
            stable_due = recorder.count() + stable_period;
            world.update_stable(&clients);
        }
    }
    let history = recorder.into_history(world.next_key);
    let injected = planted
        .into_iter()
        .flatten()
        .map(|planted| {
            let id = |(session, place): (SessionId, u32)| {
                TxnId(history.session_txns(session).start + place)
            };
            (planted.kind, planted.txns.into_iter().map(id).collect())
        })
        .collect();
    Ok(Generated { history, injected })
}

/// When to plant what, latest first.
fn plans(config: &Config, random: &mut Random) -> Vec<Plan> {
    let mut plans: Vec<Plan> = (0..config.anomalies.len())
        .map(|index| Plan {
            after: random.below(config.txn_count() + 1),
            index,
        })
        .collect();
    plans.sort_by_key(|plan| std::cmp::Reverse((plan.after, plan.index)));
    plans
}

fn clients(config: &Config, world: &mut World, recorder: &mut Recorder) -> Vec<Client> {
    let lag = u64::from(world.lag);
    (0..config.sessions)
        .map(|number| {
            let session = recorder.new_session();
            let mut client =
                Client::new(number, session, config.txns_per_session, config.ops_per_txn);
            client.site = number as usize % world.sites.count();
            if !world.rule.real_time {
                // A transaction takes about two steps of the scheduler.
                client.skew = world.random.below(2 * lag + 1) as i64 * TICK;
            }
            client
        })
        .collect()
}

impl World {
    fn new(config: &Config) -> World {
        let rule = Rule::of(config.level);
        let lists = config.datatype != Datatype::Registers;
        let writes = config.op_count() as f64 * (1.0 - config.read_share);
        let sites = match config.level {
            Level::NonMonotonicSnapshotIsolation => SITES,
            _ => config.sessions as usize,
        };
        let dirty = config.level == Level::ReadUncommitted && !lists;
        let script = Script::of(config.shape);
        let slots = if lists {
            1
        } else if script.is_some() {
            // Scripts take new keys as they go.
            u64::MAX
        } else {
            config.keys
        };
        World {
            rule,
            datatype: config.datatype,
            random: Random::new(config.seed),
            choice: KeyChoice::new(config.distribution, config.keys),
            reads: Chance::of(config.plain_read_share()),
            updates: (config.rmw_share > 0.0).then(|| Chance::of(config.rmw_share)),
            aborts: Chance::of(config.aborted_share),
            unheard: Chance::of(config.unheard_share()),
            lag: lag_max(config.sessions),
            store: Store::new(slots, writes as u64),
            script,
            sites: Sites::new(sites),
            now: 0,
            origins: vec![0],
            stable: 0,
            time: 0,
            lists: lists
                .then(|| ListStore::new(config.key_count() as u32, appends_max(config.shape))),
            next_key: config.key_count() as u32,
            dirty: vec![(u32::MAX, 0); if dirty { DIRTY_PLACES } else { 0 }],
        }
    }

    /// Lets a client run on; true if it has nothing more to do.
    fn turn(&mut self, client: &mut Client, recorder: &mut Recorder) -> Result<bool, ConfigError> {
        self.time += 1;
        let atomic = self.rule.sight == Sight::Everything;
        if !client.running {
            self.begin(client);
            client.line = recorder.start();
            if atomic {
                // It runs at one instant in a later turn, between this start and its end.
                return Ok(false);
            }
        }
        let ops = client.length;
        let left = ops - client.steps.len() as u32;
        let share = if atomic {
            client.view = View::everything(self.now);
            left
        } else {
            1 + self.random.below(u64::from(ops)) as u32
        };
        for _ in 0..share.min(left) {
            self.step(client);
        }
        if client.steps.len() < ops as usize {
            return Ok(false);
        }
        self.end(client, recorder)?;
        Ok(client.remaining == 0)
    }

    fn begin(&mut self, client: &mut Client) {
        client.clear();
        client.running = true;
        client.started = self.time;
        client.fate = if self.random.chance(self.aborts) {
            Fate::Abort
        } else if self.random.chance(self.unheard) {
            if self.random.one_in(2) {
                Fate::CommitUnheard
            } else {
                Fate::AbortUnheard
            }
        } else {
            Fate::Commit
        };
        client.view = self.view(client);
        if let Some(script) = &mut self.script {
            let next_key = &mut self.next_key;
            script.plan(&mut client.plan, &mut self.random, &mut Rows { next_key });
            client.length = client.plan.ops.len() as u32;
        }
    }

    /// What a transaction that starts now may see.
    fn view(&mut self, client: &mut Client) -> View {
        let now = self.now;
        let oldest = now.saturating_sub(self.lag);
        let random = &mut self.random;
        let mut view = View::everything(now);
        match self.rule.sight {
            Sight::Everything => {}
            Sight::Snapshot => {
                if self.rule.stale {
                    let session = if self.rule.sessions {
                        client.last_commit
                    } else {
                        0
                    };
                    view.point = recent(oldest.max(session), now, random);
                }
                view.floor = view.point;
            }
            Sight::MovingPoint => {
                view.point = recent(oldest, now, random);
                view.floor = view.point;
            }
            Sight::AnyPoint | Sight::AnyPointAndOwn => view.floor = oldest,
            Sight::AnyPointSinceSeen => view.floor = oldest.max(client.seen),
            Sight::PointPerSession => {
                view.floor = recent(oldest, now, random);
                view.salt = random.next();
            }
            Sight::Sample => {
                view.floor = recent(oldest, now, random);
                view.salt = random.next();
            }
            Sight::Site => {
                if !self.rule.sessions {
                    client.site = random.below(self.sites.count() as u64) as usize;
                }
                view = self.sites.view(client.site, now, oldest, random);
            }
        }
        view
    }

    /// Chooses the next operation.
    #[inline]
    fn next_op(&mut self, client: &mut Client) -> Planned {
        if let Some(&planned) = client.plan.ops.get(client.steps.len()) {
            return planned;
        }
        if let Some(key) = client.update.take() {
            return Planned { write: true, key };
        }
        let key = self.choice.draw(&mut self.random);
        let mut write = !self.random.chance(self.reads);
        if let Some(updates) = self.updates
            && write
            && self.random.chance(updates)
        {
            write = false;
            let room = client.steps.len() + 1 < client.length as usize;
            client.update = room.then_some(key);
        }
        Planned { write, key }
    }

    /// One operation.
    #[inline]
    fn step(&mut self, client: &mut Client) {
        let Planned { write, key: slot } = self.next_op(client);
        if !write {
            let step = match &self.lists {
                Some(lists) => {
                    let view = &mut client.view;
                    view.before_read(self.rule.sight, self.now, &mut self.random);
                    let whole = self.datatype.of_key(lists.key(slot)) == Datatype::Lists;
                    read_list(lists, client, slot, self.rule.sight, &self.origins, whole)
                }
                None => self.read_register(client, slot),
            };
            client.steps.push(step);
            return;
        }
        let (key, value) = match &mut self.lists {
            Some(lists) => lists.allocate(slot, &mut self.next_key),
            None => (slot, self.store.allocate(slot)),
        };
        if !self.dirty.is_empty() {
            self.dirty[key as usize % DIRTY_PLACES] = (key, value);
        }
        client.written.set(key, client.steps.len() as u32);
        client.steps.push(Step {
            write: true,
            key,
            slot,
            value,
            version: Step::OWN,
            shows_own: false,
        });
    }

    #[inline]
    fn read_register(&mut self, client: &mut Client, key: u32) -> Step {
        let mut step = Step {
            write: false,
            key,
            slot: key,
            value: 0,
            version: Step::OWN,
            shows_own: false,
        };
        if let Some(last) = client.written.last(key) {
            step.value = client.steps[last as usize].value;
            return step;
        }
        if !self.dirty.is_empty() && self.random.one_in(2) {
            let (dirty_key, value) = self.dirty[key as usize % DIRTY_PLACES];
            if dirty_key == key {
                step.value = value;
                return step;
            }
        }
        let sight = self.rule.sight;
        client.view.before_read(sight, self.now, &mut self.random);
        let (view, own, origins) = (&client.view, client.number, &self.origins);
        let version = self
            .store
            .read(key, |commit| view.sees(sight, commit, own, origins));
        client.seen_now = client.seen_now.max(version.commit);
        step.value = version.value;
        step.version = version.value;
        step
    }

    /// Ends a transaction as was decided, or tries another one in its place if it is refused.
    fn end(&mut self, client: &mut Client, recorder: &mut Recorder) -> Result<(), ConfigError> {
        if client.fate.commits() && self.rule.sight != Sight::Everything && self.refused(client) {
            client.clear();
            client.view = View::everything(self.now);
            self.sites.complete(client.site, self.now);
            for _ in 0..client.length {
                self.step(client);
            }
        }
        if client.fate.commits() {
            self.commit(client);
        }
        client.seen = client.seen.max(client.seen_now);
        client.running = false;
        client.remaining -= 1;
        self.time += 1;
        let reorders = self.rule.sight == Sight::Everything && !self.rule.sessions;
        let swap = reorders.then(|| self.random.one_in(4));
        recorder.finish(client, self.time, swap)
    }

    /// Whether a commit would break the level.
    fn refused(&self, client: &Client) -> bool {
        let (view, own, origins) = (&client.view, client.number, &self.origins);
        let sight = self.rule.sight;
        client.steps.iter().any(|step| {
            let depends = if step.write {
                self.rule.refuse == Refuse::UnseenWrite
            } else {
                // A list read that shows own elements says what they stand behind.
                step.shows_own
                    || self.rule.refuse == Refuse::StaleUpdate
                        && step.version != Step::OWN
                        && client.written.last(step.key).is_some()
            };
            if !depends {
                return false;
            }
            if self.retired(step) {
                return true;
            }
            let latest = match &self.lists {
                Some(lists) => lists.latest(step.slot),
                None => self.store.latest(step.slot),
            };
            if step.write {
                latest.commit > 0 && !view.sees(sight, latest.commit, own, origins)
            } else {
                latest.value != step.version
            }
        })
    }

    /// Whether the slot holds another key by now.
    fn retired(&self, step: &Step) -> bool {
        let lists = self.lists.as_ref();
        lists.is_some_and(|lists| lists.key(step.slot) != step.key)
    }

    fn commit(&mut self, client: &mut Client) {
        self.now += 1;
        let commit = self.now;
        client.last_commit = commit;
        if let Some(script) = &mut self.script {
            script.committed(&mut client.plan);
        }
        let keep = match self.rule.sight {
            Sight::Everything => Keep::Latest,
            _ => Keep::Since(self.stable),
        };
        match self.rule.sight {
            Sight::Site => self.origins.push(client.site as u32),
            Sight::Sample | Sight::AnyPointAndOwn | Sight::PointPerSession => {
                self.origins.push(client.number);
            }
            _ => {}
        }
        for (index, step) in client.steps.iter().enumerate() {
            if !step.write || self.retired(step) {
                continue;
            }
            let version = Version {
                commit,
                value: step.value,
            };
            if let Some(lists) = &mut self.lists {
                lists.append(step.slot, version);
            } else if client.written.last(step.key) == Some(index as u32) {
                // Of several writes to a register only the last becomes a version.
                self.store.install(step.slot, version, keep);
            }
        }
    }

    fn update_stable(&mut self, clients: &[Client]) {
        let running = clients.iter().filter(|c| c.running).map(|c| c.view.floor);
        let future = self.now.saturating_sub(self.lag);
        self.stable = running.fold(future, u32::min);
    }

    fn plant(
        &mut self,
        config: &Config,
        index: usize,
        recorder: &mut Recorder,
    ) -> Result<Planted, ConfigError> {
        let kind = config.anomalies[index];
        let first_key = self.next_key;
        self.next_key += plant::KEYS;
        let now = self.time + 1;
        self.time += plant::DURATION;
        let txns = plant::plant(kind, config.datatype, first_key, now, recorder)?;
        Ok(Planted { kind, txns })
    }
}
