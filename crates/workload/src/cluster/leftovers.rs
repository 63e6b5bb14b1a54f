//! What a crashed owner left behind: servers, network namespaces, directories.
//!
//! A directory is a leftover if its owner file is not locked and names a process that does not live.
//! Only directories of our own user are looked at, so that nobody can have us end processes by
//! writing an owner file. One that names no owner is removed only if there is nothing in it.

use super::place::{OWNER, PREFIX, boot_id, is_name};
use super::process::{self, Identity};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A directory without an owner line may be one whose owner is about to write it.
const AGE_WITHOUT_OWNER: Duration = Duration::from_secs(60);

/// Ends the servers that a crashed process had started below the directory, each told from
/// strangers by its process id and start time, and removes their network namespaces and
/// directories; how many directories there were.
pub fn clean_leftovers(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else {
        return 0;
    };
    let named = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(is_name)
    });
    let mut removed = 0;
    for entry in named {
        let Ok(path) = fs::canonicalize(entry.path()) else {
            continue;
        };
        removed += usize::from(is_ours(&entry.path()) && clean(&path));
    }
    removed
}

/// A real directory of our own user.
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == process::user_id())
}

fn clean(path: &Path) -> bool {
    let owner = path.join(OWNER);
    let Ok(file) = File::open(&owner) else {
        return is_old(path) && fs::remove_dir(path).is_ok();
    };
    // Held until the end, so that of two that clean, one does.
    if file.try_lock().is_err() {
        return false;
    }
    let Ok(text) = fs::read_to_string(&owner) else {
        return false;
    };
    let record = Record::parse(&text);
    let same_boot = record.boot == boot_id();
    match record.owner {
        Some(owner) if same_boot && owner.is_alive() => return false,
        Some(_) => {}
        None if text.is_empty() && is_old(path) => {
            return fs::remove_file(&owner).is_ok() && fs::remove_dir(path).is_ok();
        }
        None => return false,
    }
    if same_boot {
        process::kill_family(&record.servers, &path.to_string_lossy());
    }
    for name in &record.namespaces {
        delete_namespace(Path::new("ip"), name);
    }
    free_shared_memory(path);
    fs::remove_dir_all(path).is_ok()
}

/// Frees the segments of shared memory that killed servers below left: a server of PostgreSQL
/// writes into its directory which one it has, and takes the line out when it ends in order.
pub(super) fn free_shared_memory(path: &Path) {
    let used = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let file = entry.path().join("data/postmaster.pid");
        let text = fs::read_to_string(file).unwrap_or_default();
        let segment = text.lines().nth(6).unwrap_or_default();
        let segment: Vec<&str> = segment.split_whitespace().collect();
        // Key, id, permissions, size, creator, last user, how many use it.
        let is_abandoned = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(..2) == Some(segment.as_slice()) && fields.get(6) == Some(&"0")
        };
        if segment.len() == 2 && used.lines().any(is_abandoned) {
            // If it stays, it holds less than a page.
            let _ = quietly(Command::new("ipcrm").args(["-m", segment[1]]));
        }
    }
}

fn quietly(command: &mut Command) -> std::io::Result<std::process::ExitStatus> {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null());
    silent.stderr(Stdio::null()).status()
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|found| found.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > AGE_WITHOUT_OWNER))
}

/// Deletes a network namespace that has our prefix, if it is still there.
pub(super) fn delete_namespace(ip: &Path, name: &str) {
    let known = PathBuf::from("/run/netns").join(name);
    if !name.starts_with(PREFIX) || !known.exists() {
        return;
    }
    // Nothing can be done about a failure, and nothing depends on it: names are not used again.
    let _ = quietly(Command::new(ip).args(["netns", "delete", name]));
}

#[derive(Default)]
struct Record {
    boot: String,
    owner: Option<Identity>,
    servers: Vec<Identity>,
    namespaces: Vec<String>,
}

impl Record {
    /// Lines that are no lines of an owner file are skipped; the last may be torn.
    fn parse(text: &str) -> Record {
        let mut record = Record::default();
        for line in text.split_inclusive('\n').filter(|l| l.ends_with('\n')) {
            let mut words = line.split_whitespace();
            let kind = words.next().unwrap_or_default();
            let words: Vec<&str> = words.collect();
            match (kind, words.as_slice()) {
                ("boot", [id]) => record.boot = (*id).to_owned(),
                ("owner", [pid, start]) => record.owner = identity(pid, start),
                ("server", [pid, start]) => record.servers.extend(identity(pid, start)),
                ("namespace", [name]) => record.namespaces.push((*name).to_owned()),
                _ => {}
            }
        }
        record
    }
}

fn identity(pid: &str, start: &str) -> Option<Identity> {
    let pid = pid.parse().ok()?;
    let start = start.parse().ok()?;
    Some(Identity { pid, start })
}
