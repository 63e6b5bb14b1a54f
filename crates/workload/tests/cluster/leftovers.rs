//! What a crashed owner leaves, and what must not be taken for it.

use super::{Base, Wanted, eventually, try_start};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use workload::cluster::clean_leftovers;

/// A process that would run for long; ended when the test is.
struct Sleeper(Child);

impl Sleeper {
    fn start(marker: Option<&Path>) -> Sleeper {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null());
        if let Some(marker) = marker {
            command.env("ISOLDE_SERVER", marker);
        }
        Sleeper(command.spawn().expect("sleep starts"))
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    fn identity(&self) -> String {
        format!("{} {}", self.0.id(), start_time(self.0.id()))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // It may have been ended by what is tested.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_time(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let behind = text.rfind(')').expect("a name in parentheses") + 1;
    let field = text[behind..].split_whitespace().nth(19);
    field.expect("a start time").parse().expect("a number")
}

fn owner_file(base: &Base, lines: &[String]) -> PathBuf {
    let path = base.0.join("isolde-abcdef");
    fs::create_dir_all(path.join("node1")).expect("a directory");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the boot");
    let text = format!("boot {}\n{}\n", boot.trim(), lines.join("\n"));
    fs::write(path.join("owner"), text).expect("an owner file");
    path
}

/// A process that has ended, as an owner file names it.
fn dead() -> String {
    let mut child = Command::new("true").spawn().expect("true starts");
    let identity = format!("{} {}", child.id(), start_time(child.id()));
    child.wait().expect("it ends");
    identity
}

#[test]
fn servers_of_a_dead_owner_are_ended_and_strangers_are_not() {
    let base = Base::new("dead-owner");
    let mut server = Sleeper::start(None);
    let mut stranger = Sleeper::start(None);
    let unwritten = base.0.join("isolde-abcdef/node2");
    let mut unwritten = Sleeper::start(Some(&unwritten));
    let neighbour = base.0.join("isolde-abcdefg/node2");
    let mut neighbour = Sleeper::start(Some(&neighbour));
    let reused = format!(
        "server {} {}",
        stranger.0.id(),
        start_time(stranger.0.id()) + 1
    );
    let lines = [
        format!("owner {}", dead()),
        format!("server {}", server.identity()),
        reused,
        format!("server {}", dead()),
        "nonsense".to_owned(),
        "server 1 torn".to_owned(),
    ];
    let path = owner_file(&base, &lines);
    assert_eq!(clean_leftovers(&base.0), 1);
    assert!(!path.exists());
    assert!(!server.is_alive());
    assert!(!unwritten.is_alive(), "started before it was written down");
    assert!(stranger.is_alive(), "the id was given to another process");
    assert!(neighbour.is_alive(), "of another directory");
    assert_eq!(clean_leftovers(&base.0), 0);
}

#[test]
fn what_a_living_owner_has_stays() {
    let base = Base::new("living-owner");
    let mut server = Sleeper::start(None);
    let owner = Sleeper::start(None);
    let lines = [
        format!("owner {}", owner.identity()),
        format!("server {}", server.identity()),
    ];
    let path = owner_file(&base, &lines);
    assert_eq!(clean_leftovers(&base.0), 0);
    assert!(path.exists() && server.is_alive());
    drop(owner);
    let file = fs::File::open(path.join("owner")).expect("the owner file");
    file.lock().expect("a lock, as an owner elsewhere holds it");
    assert_eq!(clean_leftovers(&base.0), 0);
    assert!(path.exists() && server.is_alive());
    drop(file);
    assert_eq!(clean_leftovers(&base.0), 1);
    assert!(!path.exists() && !server.is_alive());
}

#[test]
fn directories_of_another_boot_are_removed_without_a_signal() {
    let base = Base::new("another-boot");
    let mut server = Sleeper::start(None);
    let path = base.0.join("isolde-abcdef");
    fs::create_dir(&path).expect("a directory");
    let text = format!("boot before\nowner {0}\nserver {0}\n", server.identity());
    fs::write(path.join("owner"), text).expect("an owner file");
    assert_eq!(clean_leftovers(&base.0), 1);
    assert!(!path.exists() && server.is_alive());
}

#[test]
fn what_is_not_ours_or_just_begins_stays() {
    let base = Base::new("not-ours");
    fs::create_dir(base.0.join("isolde-begins")).expect("a directory");
    fs::create_dir(base.0.join("other")).expect("a directory");
    fs::write(base.0.join("isolde-a0file"), "").expect("a file");
    let foreign = base.0.join("isolde-sqlite");
    fs::create_dir(&foreign).expect("a directory");
    fs::write(foreign.join("data"), "").expect("a file");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let foreign = fs::File::open(foreign).expect("a directory");
    foreign.set_modified(long_ago).expect("an old directory");
    let target = base.0.join("other");
    std::os::unix::fs::symlink(target, base.0.join("isolde-linked")).expect("a link");
    assert_eq!(clean_leftovers(&base.0), 0);
    assert_eq!(base.directories(), 5);
    assert_eq!(clean_leftovers(Path::new("/there/is/no/such/directory")), 0);
}

/// The owner that is killed by the test below; by itself it does nothing.
#[test]
fn owner_to_be_killed() {
    let Some(base) = std::env::var_os("OWNER_TO_BE_KILLED") else {
        return;
    };
    let spec = std::env::var("OWNER_SPEC").expect("a database");
    let wanted = Wanted {
        network_faults: true,
        ..Wanted::default()
    };
    let started = try_start(Path::new(&base), &spec, &wanted);
    match &started {
        Ok(_) => fs::write(Path::new(&base).join("started"), "").expect("a file"),
        Err(error) => {
            fs::write(Path::new(&base).join("failed"), error.to_string()).expect("a file")
        }
    }
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn kill_owner_of(spec: &str) {
    let base = Base::new(&format!("killed-{spec}"));
    let mut owner = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "leftovers::owner_to_be_killed"])
        .env("OWNER_TO_BE_KILLED", &base.0)
        .env("OWNER_SPEC", spec)
        .stdout(Stdio::null())
        .spawn()
        .expect("an owner");
    let (started, failed) = (base.0.join("started"), base.0.join("failed"));
    eventually("the owner starts its servers", || {
        started.exists() || failed.exists()
    });
    owner.kill().expect("the owner is killed");
    owner.wait().expect("the owner ends");
    if failed.exists() {
        println!("skipped: {}", fs::read_to_string(failed).expect("a reason"));
        return;
    }
    assert!(!base.processes().is_empty(), "servers outlive their owner");
    assert_eq!(clean_leftovers(&base.0), 1);
    assert_eq!(base.processes(), [0; 0]);
    assert_eq!(base.directories(), 1, "but for the file of this test");
}

#[test]
fn a_killed_owner_leaves_redis_to_the_next() {
    kill_owner_of("redis:replica");
}

#[test]
fn a_killed_owner_leaves_postgres_to_the_next() {
    kill_owner_of("postgres");
}

#[test]
fn a_killed_owner_leaves_network_namespaces_to_the_next() {
    kill_owner_of("etcd:3");
}
