//! Anomalies that real servers are known for, and their absence where they promise it.

use crate::install::has;
use crate::{one_at_a_time, run, shows, verdict};

#[test]
fn postgres_loses_updates_and_skews_reads_at_read_committed() {
    let _guard = one_at_a_time();
    if !has("postgres") {
        return;
    }
    let (code, report) = run("pg-lost", &["postgres", "-w", "lost-update", "-t", "2"]);
    assert_eq!(code, 0, "read committed promises no more");
    assert_eq!(verdict(&report, "read-committed"), "holds");
    shows(&report, "lost-update");
    let (code, report) = run("pg-skew", &["postgres", "-w", "read-skew", "-t", "2"]);
    assert_eq!(code, 0);
    shows(&report, "fractured-read");
}

#[test]
fn a_bank_on_postgres_adds_up_from_repeatable_read_on() {
    let _guard = one_at_a_time();
    if !has("postgres") {
        return;
    }
    let (code, report) = run("bank-rc", &["postgres", "-w", "bank", "-t", "2"]);
    assert!(
        code == 0 || code == 3,
        "read committed promises no sums: {report}"
    );
    assert!(
        report["bank"]["wrong"].as_u64() > Some(0),
        "{}",
        report["bank"]
    );
    let strong = ["postgres", "-w", "bank", "-t", "2", "-i", "repeatable read"];
    let (code, report) = run("bank-rr", &strong);
    assert!(code == 0 || code == 3, "{report}");
    assert!(
        report["bank"]["audits"].as_u64() > Some(10),
        "{}",
        report["bank"]
    );
    assert_eq!(report["bank"]["wrong"], 0);
}

#[test]
fn postgres_skews_writes_at_repeatable_read_and_not_at_serializable() {
    let _guard = one_at_a_time();
    if !has("postgres") {
        return;
    }
    let weak = [
        "postgres",
        "-i",
        "repeatable read",
        "-w",
        "write-skew",
        "-t",
        "2",
    ];
    let (code, report) = run("pg-rr", &weak);
    assert_eq!(code, 0);
    assert_eq!(verdict(&report, "snapshot-isolation"), "holds");
    assert_eq!(verdict(&report, "serializable"), "violated");
    let strong = [
        "postgres",
        "-i",
        "serializable",
        "-w",
        "write-skew",
        "-t",
        "2",
    ];
    let (code, report) = run("pg-ser", &strong);
    assert_eq!(code, 0);
    assert_eq!(verdict(&report, "serializable"), "holds");
}

/// An open bug of PostgreSQL (2026): a release that has it fixed shows nothing here.
#[test]
fn postgres_skews_writes_at_serializable_beside_a_long_transaction() {
    let _guard = one_at_a_time();
    if !has("postgres") {
        return;
    }
    let arguments = [
        "postgres",
        "-i",
        "serializable",
        "-w",
        "long-transaction",
        "-t",
        "12",
        "--set",
        "max_connections=60",
        "--wait",
        "2500",
        "--clients",
        "6",
    ];
    let (code, report) = run("pg-long", &arguments);
    let product = report["run"]["product"].as_str().unwrap_or_default();
    if !product.starts_with("PostgreSQL 15.") {
        println!("skipped: {product} may have the bug fixed");
        return;
    }
    assert_eq!(code, 1, "{report}");
    assert_eq!(verdict(&report, "serializable"), "violated");
}

#[test]
fn a_postgres_replica_shows_stale_reads_and_long_forks() {
    let _guard = one_at_a_time();
    if !has("postgres") {
        return;
    }
    // A commit that waits for the replica is visible there before it is on the primary.
    let fork = "postgres:replica -i repeatable-read -w long-fork -t 5 -c 20 --set synchronous_standby_names=*";
    let (code, report) = run("pg-fork", &fork.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 1, "{report}");
    assert_eq!(verdict(&report, "snapshot-isolation"), "violated");
    assert_eq!(verdict(&report, "parallel-snapshot-isolation"), "holds");
    let (_, report) = run(
        "pg-stale",
        &["postgres:replica", "-w", "stale-read", "-t", "3"],
    );
    assert_eq!(verdict(&report, "strict-serializable"), "violated");
}

#[test]
fn mariadb_loses_updates_at_repeatable_read_unless_told_not_to() {
    let _guard = one_at_a_time();
    if !has("mariadb") {
        return;
    }
    let (code, report) = run("maria-lost", &["mariadb", "-w", "lost-update", "-t", "2"]);
    assert_eq!(code, 1);
    shows(&report, "lost-update");
    let careful = [
        "mariadb",
        "-w",
        "lost-update",
        "-t",
        "2",
        "--set",
        "innodb_snapshot_isolation=ON",
    ];
    let (code, report) = run("maria-kept", &careful);
    assert_eq!(code, 0, "{report}");
    assert_eq!(verdict(&report, "snapshot-isolation"), "holds");
}

#[test]
fn galera_loses_updates_and_skews_writes_across_nodes() {
    let _guard = one_at_a_time();
    if !has("mariadb") || !has("galera") {
        return;
    }
    let (code, report) = run("galera-lost", &["galera:3", "-w", "lost-update", "-t", "3"]);
    assert_eq!(code, 1);
    shows(&report, "lost-update");
    let skew = [
        "galera:3",
        "-i",
        "serializable",
        "-w",
        "write-skew",
        "-t",
        "3",
    ];
    let (code, report) = run("galera-skew", &skew);
    assert_eq!(code, 1);
    assert_eq!(verdict(&report, "serializable"), "violated");
}

#[test]
fn redis_loses_updates_without_watch() {
    let _guard = one_at_a_time();
    if !has("redis") {
        return;
    }
    let (code, report) = run(
        "redis-multi",
        &["redis", "-i", "multi", "-w", "lost-update", "-t", "2"],
    );
    assert_eq!(code, 0);
    shows(&report, "lost-update");
    let (code, report) = run("redis-watch", &["redis", "-w", "lost-update", "-t", "2"]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(verdict(&report, "strict-serializable"), "holds");
}

#[test]
fn a_redis_replica_shows_stale_reads() {
    let _guard = one_at_a_time();
    if !has("redis") {
        return;
    }
    let (code, report) = run(
        "redis-stale",
        &["redis:replica", "-w", "stale-read", "-t", "2"],
    );
    assert_eq!(code, 0, "{report}");
    assert_eq!(verdict(&report, "strict-serializable"), "violated");
}

#[test]
fn etcd_shows_stale_serializable_reads_and_no_others() {
    let _guard = one_at_a_time();
    if !has("etcd") {
        return;
    }
    let stale = ["etcd:3", "-i", "stale", "-w", "stale-read", "-t", "3"];
    let (code, report) = run("etcd-stale", &stale);
    assert_eq!(code, 0, "{report}");
    assert_eq!(verdict(&report, "strict-serializable"), "violated");
    let (code, report) = run("etcd-fresh", &["etcd:3", "-w", "stale-read", "-t", "3"]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(verdict(&report, "strict-serializable"), "holds");
}
