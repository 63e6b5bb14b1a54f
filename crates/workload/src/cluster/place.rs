//! The directory of a cluster, and the file in it that says whose it is.
//!
//! The owner file is locked as long as its owner lives, and tells every server started from here by
//! process id and start time. It only grows, a line at a time, so that a crash at any moment leaves
//! what `leftovers` needs.

use super::process::Identity;
use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How the names of the directories begin.
pub(super) const PREFIX: &str = "isolde-";
/// How many letters and digits follow.
const NAME_LENGTH: usize = 6;
/// The name of the file in the directory.
pub(super) const OWNER: &str = "owner";

const ATTEMPTS_MAX: usize = 100;

#[derive(Debug)]
pub(super) struct Place {
    pub path: PathBuf,
    /// What tells this directory from others: the end of its name.
    pub id: String,
    owner: Mutex<File>,
}

impl Place {
    pub fn create(base: &Path) -> io::Result<Place> {
        let base = fs::canonicalize(base)?;
        for _ in 0..ATTEMPTS_MAX {
            let id = random_name();
            let path = base.join(format!("{PREFIX}{id}"));
            // Servers that run as another user have to find their way through.
            match DirBuilder::new().mode(0o755).create(&path) {
                Ok(()) => return Place::claim(path, id),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("every name tried was taken"))
    }

    fn claim(path: PathBuf, id: String) -> io::Result<Place> {
        let mut options = OpenOptions::new();
        let owner = options
            .create_new(true)
            .append(true)
            .open(path.join(OWNER))?;
        owner.lock()?;
        let place = Place {
            path,
            id,
            owner: Mutex::new(owner),
        };
        place.record(&format!("boot {}", boot_id()))?;
        if let Some(ours) = Identity::of(std::process::id()) {
            place.record(&format!("owner {} {}", ours.pid, ours.start))?;
        }
        Ok(place)
    }

    pub fn record_server(&self, server: Identity) -> io::Result<()> {
        self.record(&format!("server {} {}", server.pid, server.start))
    }

    pub fn record_namespace(&self, name: &str) -> io::Result<()> {
        self.record(&format!("namespace {name}"))
    }

    fn record(&self, line: &str) -> io::Result<()> {
        let mut owner = self.owner.lock().unwrap_or_else(|held| held.into_inner());
        owner.write_all(format!("{line}\n").as_bytes())
    }

    /// Makes a directory in it that belongs to the user, if one is given.
    pub fn make(&self, name: &str, user: Option<&User>) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&path)?;
        if let Some(user) = user {
            chown(&path, Some(user.id), Some(user.group))?;
        }
        Ok(path)
    }
}

/// Changes with every boot of the machine; start times of processes mean nothing across.
pub(super) fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Whether it could be the name of a directory made here.
pub(super) fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.strip_prefix(PREFIX)
        .is_some_and(|id| id.len() == NAME_LENGTH && id.bytes().all(is_letter))
}

/// Letters and digits that nobody can foresee.
fn random_name() -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut random = random();
    let mut letter = || {
        let index = (random % LETTERS.len() as u64) as usize;
        random /= LETTERS.len() as u64;
        char::from(LETTERS[index])
    };
    (0..NAME_LENGTH).map(|_| letter()).collect()
}

/// A number that nobody can foresee; servers, unlike workloads, need none that can be repeated.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A user of this machine.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub name: String,
    pub id: u32,
    pub group: u32,
}

impl User {
    pub fn named(name: &str) -> Option<User> {
        let users = fs::read_to_string("/etc/passwd").ok()?;
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next()? != name {
                return None;
            }
            let id = fields.nth(1)?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            let name = name.to_owned();
            Some(User { name, id, group })
        })
    }
}

/// Copies a directory with all below; owners and permissions of directories as given.
pub(super) fn copy_directory(from: &Path, to: &Path, user: Option<&User>) -> io::Result<()> {
    let mut open = vec![(from.to_owned(), to.to_owned())];
    let give = |path: &Path| match user {
        Some(user) => chown(path, Some(user.id), Some(user.group)),
        None => Ok(()),
    };
    while let Some((from, to)) = open.pop() {
        DirBuilder::new().mode(0o700).recursive(true).create(&to)?;
        give(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push((entry.path(), target));
            } else if kind.is_file() {
                fs::copy(entry.path(), &target)?;
                give(&target)?;
            }
        }
    }
    Ok(())
}
