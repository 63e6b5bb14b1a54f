//! Estimates of protocols whose costs are known in closed form.
use crate::support;

use history::Level;
use protocol::*;
use serde::{Deserialize, Serialize};
use support::{Sloppy, setup};

/// A transaction asks the site of the key so many times, one answer after the other, and commits.
struct Rounds(u16);

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Word {
    Ask(Txn, u16),
    Tell(Txn, u16),
}

impl Protocol for Rounds {
    type Site = ();
    type Message = Word;

    fn name(&self) -> &str {
        "rounds"
    }

    fn site(&self, _setup: &Setup, _site: Site) {}

    fn start(&self, _at: &mut (), txn: Txn, context: &mut Context<'_, Word>) {
        context.send(Site(0), Word::Ask(txn, self.0));
    }

    fn receive(&self, _at: &mut (), from: Site, word: Word, context: &mut Context<'_, Word>) {
        match word {
            Word::Ask(txn, left) => context.send(from, Word::Tell(txn, left)),
            Word::Tell(txn, 1) => context.commit(txn),
            Word::Tell(txn, left) => context.send(from, Word::Ask(txn, left - 1)),
        }
    }
}

/// A transaction locks the one key at its site and aborts if it is locked; then it releases it.
struct Lock;

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Plea {
    Lock(Txn),
    Locked(Txn),
    Refused(Txn),
    Release,
}

impl Protocol for Lock {
    type Site = bool;
    type Message = Plea;

    fn name(&self) -> &str {
        "lock"
    }

    fn site(&self, _setup: &Setup, _site: Site) -> bool {
        false
    }

    fn start(&self, _locked: &mut bool, txn: Txn, context: &mut Context<'_, Plea>) {
        context.send(Site(0), Plea::Lock(txn));
    }

    fn receive(&self, locked: &mut bool, from: Site, plea: Plea, context: &mut Context<'_, Plea>) {
        match plea {
            Plea::Lock(txn) if *locked => context.send(from, Plea::Refused(txn)),
            Plea::Lock(txn) => {
                *locked = true;
                context.send(from, Plea::Locked(txn));
            }
            Plea::Locked(txn) => {
                context.commit(txn);
                context.send(from, Plea::Release);
            }
            Plea::Refused(txn) => context.abort(txn),
            Plea::Release => *locked = false,
        }
    }
}

fn timed(delay: &str, runs: u64) -> EstimateOptions<'static> {
    EstimateOptions {
        runs,
        delays: Delays {
            remote: delay.parse().expect("a delay"),
            ..Delays::default()
        },
        ..EstimateOptions::default()
    }
}

fn alone() -> Setup {
    setup(2, &[&[0]], &[(1, &["r0"])])
}

#[test]
fn two_rounds_are_two_rounds() {
    for rounds in [1, 2, 5] {
        let setups = [alone()];
        let options = timed("constant:1", 10);
        let found = estimate(&Rounds(rounds), SetupSource::These(&setups), &options).unwrap();
        let (hops, rounds) = (f64::from(2 * rounds), f64::from(rounds));
        let found_rounds = found.rounds.unwrap();
        assert_eq!(found_rounds.mean.mean, rounds);
        assert_eq!(
            (found_rounds.p50.low, found_rounds.p99.high),
            (rounds, rounds)
        );
        assert_eq!(found.hops.unwrap().p50.value, hops);
        assert_eq!(found.latency.unwrap().p95.value, hops);
        assert_eq!(found.throughput.unwrap().mean, 1.0 / hops);
        assert_eq!((found.aborts.count, found.aborts.of), (0, 10));
    }
}

/// Of a hundred intervals of 95 %, how many contain the known value.
fn contained(known: f64, interval: impl Fn(u64) -> (f64, f64)) -> usize {
    let seeds = (0..100).map(|seed| seed * 100_000);
    seeds
        .map(interval)
        .filter(|(low, high)| *low <= known && known <= *high)
        .count()
}

#[test]
fn a_round_of_exponential_delays_is_a_gamma_distribution() {
    let setups = [alone()];
    let found: Vec<Spread> = (0..100)
        .map(|seed| {
            let options = EstimateOptions {
                seed: seed * 100_000,
                ..timed("exponential:1", 1000)
            };
            let found = estimate(&Rounds(1), SetupSource::These(&setups), &options).unwrap();
            assert_eq!(found.rounds.unwrap().p99.value, 1.0);
            found.latency.unwrap()
        })
        .collect();
    let of = |seed: u64| &found[seed as usize / 100_000];
    let quantile = |quantile: Quantile| (quantile.low, quantile.high);
    // The mean and quantiles of the sum of two exponential delays.
    let mean = contained(2.0, |seed| (of(seed).mean.low, of(seed).mean.high));
    let p50 = contained(1.678_347, |seed| quantile(of(seed).p50));
    let p95 = contained(4.743_865, |seed| quantile(of(seed).p95));
    let p99 = contained(6.638_352, |seed| quantile(of(seed).p99));
    for count in [mean, p50, p95, p99] {
        assert!((90..=99).contains(&count), "{mean} {p50} {p95} {p99}");
    }
    for spread in found {
        assert!(spread.mean.high - spread.mean.low < 0.25, "{spread:?}");
        assert!(spread.p99.high - spread.p99.low < 4.0, "{spread:?}");
    }
}

#[test]
fn the_share_of_aborts_is_that_of_the_closed_form() {
    let setups = [setup(3, &[&[0]], &[(1, &["w0"]), (2, &["w0"])])];
    // The second request comes an exponential time after the first, which holds the lock for the
    // time of two messages: one of the two aborts unless that time is longer, 1 - 1/4.
    let found = estimate(
        &Lock,
        SetupSource::These(&setups),
        &timed("exponential:3", 20_000),
    )
    .unwrap();
    let aborts = found.aborts;
    assert!(aborts.low < 0.375 && 0.375 < aborts.high, "{aborts:?}");
    assert!(aborts.high - aborts.low < 0.01, "{aborts:?}");
    // With delays that are always the same, they always meet.
    let found = estimate(
        &Lock,
        SetupSource::These(&setups),
        &timed("constant:3", 100),
    )
    .unwrap();
    assert_eq!((found.aborts.count, found.aborts.of), (100, 200));
    assert_eq!(found.throughput.unwrap().mean, 1.0 / 6.0);
}

#[test]
fn intervals_contain_what_they_estimate() {
    // The two transactions of a run never both abort, which an interval must know.
    let setups = [setup(3, &[&[0]], &[(1, &["w0"]), (2, &["w0"])])];
    let count = contained(0.375, |seed| {
        let options = EstimateOptions {
            seed,
            ..timed("exponential:1", 200)
        };
        let found = estimate(&Lock, SetupSource::These(&setups), &options).unwrap();
        (found.aborts.low, found.aborts.high)
    });
    assert!((90..=99).contains(&count), "{count}");
}

#[test]
fn farther_regions_take_longer() {
    let setups = [setup(3, &[&[0]], &[(1, &["r0"]), (2, &["r0"])])];
    let mut options = timed("constant:1", 4);
    options.delays.regions = vec![0, 0, 1];
    options.delays.far = 10.0;
    let latency = estimate(&Rounds(1), SetupSource::These(&setups), &options).unwrap();
    let latency = latency.latency.unwrap();
    assert_eq!((latency.p50.value, latency.p99.value), (2.0, 20.0));
}

#[test]
fn an_estimate_is_the_same_whatever_the_threads() {
    let workload = Workload {
        sites: 3,
        keys: 4,
        sessions: 4,
        txns: 12,
        popularity: Popularity::Zipfian(0.99),
        ..Workload::default()
    };
    let run = |threads, seed| {
        let level = |level| Question {
            property: Property::Level(level),
            form: Form::Strict,
        };
        let options = EstimateOptions {
            request: Request {
                questions: vec![level(Level::ReadCommitted), level(Level::Serializable)],
                threads,
                ..Request::default()
            },
            seed,
            ..timed("uniform:0.5:1.5", 200)
        };
        estimate(&Sloppy, SetupSource::Drawn(&workload), &options).unwrap()
    };
    let one = run(1, 7);
    assert_eq!(one, run(3, 7));
    assert_ne!(one, run(1, 8));
    let [(_, committed), (_, serializable)] = &one.anomalies[..] else {
        panic!("two questions were asked")
    };
    assert!(committed.count <= serializable.count);
    assert!(serializable.share > 0.5, "{serializable:?}");
    assert_eq!(one.unanswered.count, 0);
    assert_eq!(one.aborts.of, 12 * 200);
}

#[test]
fn rounds_are_those_of_the_papers() {
    let read = "k1@s1 k2@s2 | s3: r(k1) r(k2)";
    let write = "k1@s1 k2@s2 | s3: w(k1) w(k2)";
    for (name, line, rounds) in [
        ("ramp-f", read, 1.0),
        ("ramp-s", read, 2.0),
        ("ramp-h", read, 1.0),
        ("ramp-f", write, 2.0),
        ("ramp-f+1pw", write, 1.0),
        ("faster", write, 1.0),
        // A fast commit sends nothing before it answers, a slow one asks for votes.
        ("walter", "k1@s1 k2@s2 | s1: w(k1)", 0.0),
        ("walter", write, 1.0),
    ] {
        let entries = catalogue().into_iter();
        let mut models = entries.map(|entry| entry.model);
        let model = models.find(|model| model.name() == name).expect(name);
        let setups = [line.parse::<Setup>().unwrap()];
        let options = timed("constant:1", 20);
        let found = model
            .estimate(SetupSource::These(&setups), &options)
            .unwrap();
        assert_eq!(found.rounds.unwrap().mean.mean, rounds, "{name}: {line}");
        assert_eq!(
            found.latency.unwrap().p99.value,
            2.0 * rounds,
            "{name}: {line}"
        );
    }
}

#[test]
fn times_that_are_none_are_refused() {
    for text in [
        "exponential:-1",
        "uniform:2:1",
        "constant:inf",
        "normal:1",
        "constant",
    ] {
        assert!(text.parse::<Delay>().is_err(), "{text}");
    }
    let setups = [alone()];
    let one = timed("constant:1", 1);
    assert!(estimate(&Rounds(1), SetupSource::These(&setups), &one).is_err());
}
