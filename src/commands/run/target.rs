//! The database that the user named: one that runs already, or one that is started for the run and
//! stopped after it.

use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Progress;
use std::path::PathBuf;
use workload::cluster::{self, Cluster, Spec};
use workload::driver::{Database, Settings};
use workload::drivers;

/// A database to drive.
pub struct Target {
    /// As the user named it, without passwords.
    pub name: String,
    urls: Vec<String>,
    /// Dropped after whatever uses it: stops the servers.
    pub cluster: Option<Cluster>,
    /// Dropped last: removes the files of SQLite.
    _scratch: Option<Scratch>,
}

/// A directory that is removed when nobody needs it any more.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Where it cannot be removed there is nothing else to be done about it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How servers are started.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Their settings.
    pub settings: &'a [(String, String)],
    /// Whether the network is going to be hurt.
    pub network_faults: bool,
    pub progress: &'a Progress,
}

/// Whether a name, up to a colon, is that of a server to start.
fn is_server(name: &str) -> bool {
    let word = |text: &str| text.split(':').next().map(str::to_string);
    let known = Spec::names().iter().any(|known| word(known) == word(name));
    known && !name.contains("://")
}

impl Target {
    /// Finds out what the names mean, and starts what has to be started.
    pub fn start(names: &[String], start: Start<'_>) -> Result<Target, Failure> {
        let name: Vec<String> = names.iter().map(|n| drivers::without_password(n)).collect();
        let name = name.join(" ");
        if let [only] = names {
            if only == "sqlite" {
                return Target::sqlite();
            }
            match only.parse::<Spec>() {
                Ok(spec) => return Target::managed(only, &spec, start),
                // A server's name with a wrong number of nodes is no URL.
                Err(problem) if is_server(only) => return Err(Failure(problem)),
                Err(_) => {}
            }
            if !only.contains(':') {
                let servers = Spec::names().join(", ");
                let schemes = drivers::SCHEMES.join(", ");
                return Err(Failure(format!(
                    "{name}: neither a server that Isolde can start (sqlite, {servers}) nor a URL ({schemes})"
                )));
            }
        }
        Ok(Target {
            name,
            urls: names.to_vec(),
            cluster: None,
            _scratch: None,
        })
    }

    fn sqlite() -> Result<Target, Failure> {
        let place = std::env::temp_dir().join(format!("isolde-sqlite-{}", std::process::id()));
        let place = (0..1000)
            .map(|count| place.with_extension(count.to_string()))
            .find(|place| std::fs::create_dir(place).is_ok())
            .ok_or_else(|| Failure(format!("{}: cannot create it", place.display())))?;
        let file = place.join("database");
        Ok(Target {
            name: "sqlite".to_string(),
            urls: vec![format!("sqlite:{}", file.display())],
            cluster: None,
            _scratch: Some(Scratch(place)),
        })
    }

    fn managed(name: &str, spec: &Spec, start: Start<'_>) -> Result<Target, Failure> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let search: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let directory = std::env::temp_dir();
        let options = cluster::Options {
            directory: &directory,
            search: &search,
            settings: start.settings,
            proxied: start.network_faults,
            network_faults: start.network_faults,
            interrupted: interrupt::flag(),
            progress: &|stage| start.progress.stage(stage),
        };
        let cluster = Cluster::start(spec, &options).map_err(|error| Failure::with(name, error))?;
        Ok(Target {
            name: name.to_string(),
            urls: cluster.urls().to_vec(),
            cluster: Some(cluster),
            _scratch: None,
        })
    }

    /// The URLs of the nodes.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The URLs of the nodes without passwords, for recordings and reports.
    pub fn public_urls(&self) -> Vec<String> {
        let urls = self.urls.iter();
        urls.map(|url| drivers::without_password(url)).collect()
    }

    /// Opens the database with these settings.
    pub fn open(&self, settings: &Settings) -> Result<Box<dyn Database>, Failure> {
        let opened = drivers::open(&self.urls, settings);
        opened.map_err(|error| Failure::with(&self.name, error))
    }
}
