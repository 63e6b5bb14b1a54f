//! One server, or a primary and a replica.

use super::nodes::{mariadb, psql, redis};
use super::{Base, Wanted, end, eventually, options, start, try_start};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use workload::cluster::{Cluster, Options};

const PROXIED: Wanted<'static> = Wanted {
    proxied: true,
    network_faults: false,
    settings: &[],
};

#[test]
fn postgres_and_its_replica() {
    let base = Base::new("postgres");
    let Some(cluster) = start(&base, "postgres:replica", &PROXIED) else {
        return;
    };
    assert!(
        cluster
            .describe()
            .ends_with("primary and 1 streaming replica")
    );
    let [primary, replica] = cluster.urls() else {
        panic!("two nodes");
    };
    let rows = || psql(replica, "select count(*) from t");
    psql(primary, "create table t (k int); insert into t values (1)").expect("a primary");
    eventually("the replica has the row", || rows() == Ok("1".into()));

    // Killed, with everything it started, and back with what it had.
    cluster.kill(0).expect("killed");
    assert!(!cluster.is_alive(0) && cluster.is_alive(1));
    psql(primary, "select 1").expect_err("it is down");
    cluster.restart(0).expect("restarted");
    assert_eq!(psql(primary, "select count(*) from t"), Ok("1".into()));

    // Parted from its replica, which gets nothing until that is healed.
    psql(primary, "insert into t values (2)").expect("a row");
    eventually("the replica is back", || rows() == Ok("2".into()));
    cluster.partition_servers(&[1]).expect("parted");
    psql(primary, "insert into t values (3)").expect("a row");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(rows(), Ok("2".into()), "clients reach both sides");
    cluster.partition(&[1]).expect("parted");
    rows().expect_err("clients do not reach it");
    cluster.heal().expect("healed");
    eventually("the replica catches up", || rows() == Ok("3".into()));

    cluster.stop_gracefully(1).expect("stopped");
    assert!(!cluster.is_alive(1));
    cluster.restart(1).expect("restarted");
    eventually("the replica is there", || rows() == Ok("3".into()));
    end(cluster, &base);
}

#[test]
fn postgres_paused_and_slow() {
    let base = Base::new("postgres-paused");
    let Some(cluster) = start(&base, "postgres", &PROXIED) else {
        return;
    };
    let url = &cluster.urls()[0];
    let took = || {
        let begin = Instant::now();
        psql(url, "select 1").map(|_| begin.elapsed())
    };
    took().expect("it answers");
    cluster.pause(0).expect("paused");
    assert!(cluster.is_alive(0));
    took().expect_err("it does not answer");
    cluster.resume(0).expect("resumed");
    took().expect("it answers");
    cluster.slow(0, Duration::from_millis(100)).expect("slowed");
    assert!(took().expect("it answers") >= Duration::from_millis(400));
    cluster.partition(&[0]).expect("parted from clients");
    took().expect_err("it does not answer");
    cluster.heal().expect("healed");
    took().expect("it answers");
    // Dropped while it is paused.
    cluster.pause(0).expect("paused");
    cluster.kill(7).expect_err("there is no such node");
    end(cluster, &base);
}

#[test]
fn errors_show_the_log() {
    let base = Base::new("wrong-setting");
    let wanted = Wanted {
        settings: &[("no_such_setting", "1")],
        ..Wanted::default()
    };
    for (spec, said) in [
        ("postgres", "unrecognized configuration parameter"),
        ("redis", "Bad directive"),
        ("mariadb", "unknown variable"),
        ("etcd", "not defined"),
    ] {
        match try_start(&base.0, spec, &wanted) {
            Ok(_) => panic!("{spec} takes any setting"),
            Err(error) if error.missing_package().is_some() => println!("skipped: {error}"),
            Err(error) => assert!(error.to_string().contains(said), "{error}"),
        }
    }
    assert_eq!(base.processes(), [0; 0]);
    assert_eq!(base.directories(), 0);
}

#[test]
fn other_ports_are_tried_when_one_is_taken() {
    let base = Base::new("port");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let said = Mutex::new(Vec::new());
    let options = Options {
        settings: &[("port".into(), port.to_string())],
        progress: &|text| said.lock().expect("no panic").push(text.to_owned()),
        ..options(&base.0)
    };
    let error = Cluster::start(&"redis".parse().expect("a database"), &options).err();
    let error = error.expect("the port is taken");
    if error.missing_package().is_some() {
        println!("skipped: {error}");
        return;
    }
    let said = said.into_inner().expect("no panic");
    let again = "a port was taken; trying others".to_owned();
    assert!(said.contains(&again), "{said:?}: {error}");
    assert_eq!(base.processes(), [0; 0]);
    assert_eq!(base.directories(), 0);
}

#[test]
fn a_start_can_be_interrupted() {
    let base = Base::new("interrupted");
    let interrupted = Arc::new(AtomicBool::new(false));
    let options = Options {
        interrupted: &interrupted,
        progress: &|_| interrupted.store(true, Ordering::Relaxed),
        ..options(&base.0)
    };
    for spec in ["postgres", "galera:3"] {
        interrupted.store(false, Ordering::Relaxed);
        match Cluster::start(&spec.parse().expect("a database"), &options).err() {
            Some(error) if error.missing_package().is_some() => println!("skipped: {error}"),
            error => assert!(error.expect("an interruption").is_interrupted()),
        }
        assert_eq!(base.processes(), [0; 0]);
        assert_eq!(base.directories(), 0);
    }
}

#[test]
fn mariadb_comes_back_with_its_data() {
    let base = Base::new("mariadb");
    let wanted = Wanted {
        settings: &[("innodb_snapshot_isolation", "ON")],
        ..Wanted::default()
    };
    let Some(cluster) = start(&base, "mariadb", &wanted) else {
        return;
    };
    let url = &cluster.urls()[0];
    assert_eq!(
        mariadb(url, "select @@innodb_snapshot_isolation"),
        Ok("1".into())
    );
    mariadb(
        url,
        "create table t (k int primary key); insert into t values (1)",
    )
    .expect("a row");
    cluster.kill(0).expect("killed");
    mariadb(url, "select 1").expect_err("it is down");
    cluster.restart(0).expect("restarted");
    assert_eq!(mariadb(url, "select count(*) from t"), Ok("1".into()));
    cluster.partition(&[0]).expect_err("nothing to part");
    cluster
        .slow(0, Duration::from_millis(1))
        .expect_err("no proxy");
    end(cluster, &base);
}

#[test]
fn redis_and_its_replica() {
    let base = Base::new("redis");
    let Some(cluster) = start(&base, "redis:replica", &Wanted::default()) else {
        return;
    };
    let [primary, replica] = cluster.urls() else {
        panic!("two nodes");
    };
    let at_replica = || redis(replica, "GET k");
    assert_eq!(redis(primary, "SET k 1"), Ok("+OK".into()));
    eventually("the replica has it", || at_replica() == Ok("1".into()));
    cluster.kill(0).expect("killed");
    redis(primary, "GET k").expect_err("it is down");
    cluster.restart(0).expect("restarted");
    assert_eq!(redis(primary, "GET k"), Ok("1".into()));
    assert_eq!(redis(primary, "SET k 2"), Ok("+OK".into()));
    eventually("the replica is back", || at_replica() == Ok("2".into()));
    cluster.partition(&[1]).expect("parted");
    assert_eq!(redis(primary, "SET k 3"), Ok("+OK".into()));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(at_replica(), Ok("2".into()), "clients come without proxies");
    cluster.heal().expect("healed");
    eventually("the replica catches up", || at_replica() == Ok("3".into()));
    cluster.pause(1).expect("paused");
    at_replica().expect_err("it does not answer");
    cluster.resume(1).expect("resumed");
    assert_eq!(at_replica(), Ok("3".into()));
    end(cluster, &base);
}
