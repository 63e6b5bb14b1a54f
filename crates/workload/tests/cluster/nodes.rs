//! Clusters whose nodes all take writes, and how to ask any server something.

use super::{Base, Wanted, end, eventually, start};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The address in a URL.
fn address(url: &str) -> &str {
    let behind = url.split("://").nth(1).expect("a URL");
    let behind = behind.split('/').next().expect("an address");
    behind.split('@').next_back().expect("an address")
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().expect("a client");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

/// What PostgreSQL answers, within two seconds.
pub fn psql(url: &str, sql: &str) -> Result<String, String> {
    let mut command = Command::new("timeout");
    output(command.args(["2", "psql", "-XAt", "-c", sql, url]))
}

/// What MariaDB answers, within five seconds.
pub fn mariadb(url: &str, sql: &str) -> Result<String, String> {
    let (host, port) = address(url).split_once(':').expect("a port");
    let mut command = Command::new("timeout");
    command.args(["5", "mariadb", "--no-defaults", "-N", "-B", "-u", "root"]);
    output(command.args(["-h", host, "-P", port, "-e", sql, "isolde"]))
}

fn talk(url: &str, request: &str) -> Result<String, String> {
    let said = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address(url)).map_err(said)?;
    let timeout = Some(Duration::from_secs(2));
    stream.set_read_timeout(timeout).map_err(said)?;
    stream.write_all(request.as_bytes()).map_err(said)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(said)?;
    Ok(answer)
}

/// The last line that Redis answers to a command.
pub fn redis(url: &str, command: &str) -> Result<String, String> {
    let answer = talk(url, &format!("{command}\r\nQUIT\r\n"))?;
    let lines: Vec<&str> = answer.lines().collect();
    let before_farewell = lines.len().checked_sub(2).ok_or("no answer")?;
    Ok(lines[before_farewell].to_owned())
}

/// The body of what etcd answers to a request in JSON.
fn etcd(url: &str, path: &str, body: &str) -> Result<String, String> {
    let length = body.len();
    let answer = talk(
        url,
        &format!("POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}"),
    )?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    match head.contains(" 200 ") {
        true => Ok(body.to_owned()),
        false => Err(body.to_owned()),
    }
}

const PUT: &str = "/v3/kv/put";
const RANGE: &str = "/v3/kv/range";

#[test]
fn etcd_keeps_its_majority() {
    let base = Base::new("etcd");
    let wanted = Wanted {
        network_faults: true,
        ..Wanted::default()
    };
    let Some(cluster) = start(&base, "etcd:3", &wanted) else {
        return;
    };
    let urls = cluster.urls();
    etcd(&urls[0], PUT, r#"{"key":"a2V5","value":"MQ=="}"#).expect("a write");
    let read = |node: usize| etcd(&urls[node], RANGE, r#"{"key":"a2V5"}"#);
    let stale = r#"{"key":"a2V5","serializable":true}"#;
    for node in 0..3 {
        assert!(read(node).expect("a read").contains("MQ=="));
    }
    cluster.kill(1).expect("killed");
    read(1).expect_err("it is down");
    cluster.restart(1).expect("restarted");
    assert!(read(1).expect("a read").contains("MQ=="));
    match cluster.partition(&[2]) {
        Ok(()) => {
            eventually("the others take writes", || {
                etcd(&urls[0], PUT, r#"{"key":"a2V5","value":"Mg=="}"#).is_ok()
            });
            let old = etcd(&urls[2], RANGE, stale).expect("a read of the isolated node");
            assert!(old.contains("MQ=="), "{old}");
            read(2).expect_err("it has no majority to ask");
            cluster.heal().expect("healed");
            eventually("the node is back", || {
                read(2).is_ok_and(|answer| answer.contains("Mg=="))
            });
        }
        Err(error) => println!("skipped: {error}"),
    }
    if let Err(error) = cluster.slow(1, Duration::from_millis(20)) {
        println!("skipped: {error}");
    }
    read(1).expect("a read");
    cluster.heal().expect("healed");
    for node in 0..3 {
        cluster.kill(node).expect("killed");
    }
    for node in 0..3 {
        cluster.restart(node).expect("restarted");
    }
    eventually("all are back", || (0..3).all(|node| read(node).is_ok()));
    end(cluster, &base);
}

#[test]
fn galera_nodes_leave_and_join() {
    let base = Base::new("galera");
    let wanted = Wanted {
        network_faults: true,
        ..Wanted::default()
    };
    let Some(cluster) = start(&base, "galera:3", &wanted) else {
        return;
    };
    let urls = cluster.urls();
    let size = |node: usize| {
        let sql = "show status like 'wsrep_cluster_size'";
        mariadb(&urls[node], sql).map(|row| row.split_whitespace().last().map(str::to_owned))
    };
    let three = || Ok(Some("3".to_owned()));
    let count = |node: usize| mariadb(&urls[node], "select count(*) from t");
    for node in 0..3 {
        assert_eq!(size(node), three());
    }
    mariadb(
        &urls[0],
        "create table t (k int primary key); insert into t values (1)",
    )
    .expect("a row");
    eventually("all have the row", || {
        (0..3).all(|node| count(node) == Ok("1".into()))
    });

    cluster.kill(1).expect("killed");
    eventually("the others go on", || {
        mariadb(&urls[2], "insert into t values (2)").is_ok()
    });
    cluster.restart(1).expect("restarted");
    assert_eq!(size(1), three());
    eventually("it has the row", || count(1) == Ok("2".into()));

    match cluster.partition(&[0]) {
        Ok(()) => {
            eventually("the node is alone", || {
                size(1) == Ok(Some("2".to_owned())) && count(0).is_err()
            });
            mariadb(&urls[1], "insert into t values (3)").expect("a row");
            cluster.heal().expect("healed");
            eventually("the node is back", || count(0) == Ok("3".into()));
        }
        Err(error) => println!("skipped: {error}"),
    }

    // The one that is left has no majority, and whoever joins it has none either.
    let rows = count(0).expect("rows");
    cluster.kill(1).expect("killed");
    cluster.kill(2).expect("killed");
    cluster.restart(1).expect("restarted");
    assert_eq!(count(1), Ok(rows.clone()));
    cluster.restart(2).expect("restarted");
    assert_eq!(count(2), Ok(rows));
    end(cluster, &base);
}

#[test]
fn galera_comes_back_from_nothing() {
    let base = Base::new("galera-down");
    let Some(cluster) = start(&base, "galera:2", &Wanted::default()) else {
        return;
    };
    let urls = cluster.urls();
    let count = |node: usize| mariadb(&urls[node], "select count(*) from t");
    mariadb(
        &urls[0],
        "create table t (k int primary key); insert into t values (1)",
    )
    .expect("a row");
    eventually("both have the row", || count(1) == Ok("1".into()));
    cluster.partition(&[0]).expect_err("no network namespaces");
    for node in 0..2 {
        cluster.kill(node).expect("killed");
    }
    // Not the one that made the cluster.
    cluster.restart(1).expect("restarted");
    assert_eq!(count(1), Ok("1".into()));
    cluster.restart(0).expect("restarted");
    assert_eq!(count(0), Ok("1".into()));
    end(cluster, &base);
}
