//! Databases that are started, hurt and stopped. A test of a server that is not installed prints
//! `skipped`.

mod leftovers;
mod nodes;
mod proxy;
mod servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use workload::cluster::{Cluster, Error, Options, Spec};

/// A directory for the clusters of one test, removed with all that is in it.
struct Base(PathBuf);

impl Base {
    fn new(name: &str) -> Base {
        let name = format!("test-of-clusters-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a directory for the test");
        Base(fs::canonicalize(path).expect("the path of the directory"))
    }

    /// Processes that work below the directory.
    fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| path.starts_with(&self.0))
        })
        .collect()
    }

    fn directories(&self) -> usize {
        fs::read_dir(&self.0).expect("the directory").count()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        // The test has already said what it has to say.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Default)]
struct Wanted<'a> {
    proxied: bool,
    network_faults: bool,
    settings: &'a [(&'a str, &'a str)],
}

/// Nothing but where; programs are found where Debian puts them.
fn options(base: &Path) -> Options<'_> {
    static NEVER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    Options {
        directory: base,
        search: &[],
        settings: &[],
        proxied: false,
        network_faults: false,
        progress: &|text| println!("{text}"),
        interrupted: &NEVER,
    }
}

fn try_start(base: &Path, spec: &str, wanted: &Wanted<'_>) -> Result<Cluster, Error> {
    let spec: Spec = spec.parse().expect("a known database");
    let settings: Vec<(String, String)> = wanted
        .settings
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let options = Options {
        settings: &settings,
        proxied: wanted.proxied,
        network_faults: wanted.network_faults,
        ..options(base)
    };
    Cluster::start(&spec, &options)
}

/// Starts it, or says that it is not installed.
fn start(base: &Base, spec: &str, wanted: &Wanted<'_>) -> Option<Cluster> {
    let begin = Instant::now();
    match try_start(&base.0, spec, wanted) {
        Ok(cluster) => {
            println!("{} started in {:?}", cluster.describe(), begin.elapsed());
            Some(cluster)
        }
        Err(error) if error.missing_package().is_some() => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{spec}: {error}"),
    }
}

/// Waits for something that comes to be soon.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        let waited = begin.elapsed();
        assert!(
            waited < Duration::from_secs(30),
            "not after {waited:?}: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ends the cluster and looks for what it left.
fn end(cluster: Cluster, base: &Base) {
    assert!(!base.processes().is_empty(), "servers work below the base");
    let begin = Instant::now();
    drop(cluster);
    println!("ended in {:?}", begin.elapsed());
    assert_eq!(base.processes(), [0; 0], "processes are left");
    assert_eq!(base.directories(), 0, "directories are left");
}

#[test]
fn threads_share_a_cluster() {
    fn shared<T: Send + Sync>() {}
    shared::<Cluster>();
    shared::<Error>();
}

#[test]
fn names_are_read_and_written() {
    for name in Spec::names() {
        let spec: Spec = name.parse().expect("a known name");
        assert_eq!(spec.to_string(), *name);
    }
    let count = |text: &str| text.parse::<Spec>().map(|spec| spec.node_count());
    assert_eq!(count("postgres"), Ok(1));
    assert_eq!(count("postgres:replica"), Ok(2));
    assert_eq!(count("galera"), Ok(3));
    assert_eq!(count("galera:5"), Ok(5));
    assert_eq!(count("etcd"), Ok(1));
    for wrong in [
        "oracle",
        "",
        "postgres:3",
        "galera:0",
        "etcd:x",
        "etcd:99",
        "mariadb:2",
        ":",
    ] {
        let error = count(wrong).expect_err(wrong);
        assert!(
            error.contains("etcd:3") || error.contains("1 to 9"),
            "{error}"
        );
    }
}
