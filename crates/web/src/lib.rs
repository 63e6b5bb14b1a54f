//! The local page: the runs and histories of a directory, checked, browsed and compared.
//!
//! The server decides nothing itself. Checks and runs are children of the program it is given, with
//! limits on time and memory; their progress is passed on, their reports are kept. What is drawn is
//! drawn by `report`. What is browsed are histories, kept parsed and indexed, sent in pages.
//!
//! - `http`: requests and answers within limits. `guard`: who may ask. `folder`: which files there are.
//! - `jobs`: children, their progress, their end. `results`: their reports.
//! - `browse`: histories in pages, neighbours, evidence brought back from reports.
//! - `routes`: what is asked and who answers it. `ui`: the page itself.

mod app;
mod assets;
mod browse;
mod compare;
mod folder;
mod guard;
mod http;
mod jobs;
mod listing;
mod results;
mod routes;
mod summary;
mod uploads;
mod views;

pub use browse::{Loader, Tell};
pub use guard::draw_token;
pub use http::HttpLimits;

use app::App;
use browse::Histories;
use folder::Folder;
use guard::Guard;
use http::Listening;
use jobs::Jobs;
use results::Results;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// What the page may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of clients.
    pub http: HttpLimits,
    /// Bytes of one uploaded file.
    pub upload_bytes: u64,
    /// Bytes of all uploaded files.
    pub uploads_bytes: u64,
    /// Seconds of a check.
    pub check_seconds: f64,
    /// Memory of a check or a run.
    pub check_memory_gib: f64,
    /// Seconds of a run.
    pub run_seconds: f64,
    /// Checks and runs at a time; others wait.
    pub children_max: usize,
    /// Bytes of histories that are kept parsed.
    pub histories_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            http: HttpLimits::default(),
            upload_bytes: 2 << 30,
            uploads_bytes: 8 << 30,
            check_seconds: 300.0,
            check_memory_gib: 4.0,
            run_seconds: 600.0,
            children_max: 2,
            histories_bytes: 3 << 30,
        }
    }
}

/// What to serve, and how.
#[derive(Clone)]
pub struct Config {
    /// The directory whose runs and histories are shown.
    pub directory: PathBuf,
    /// The program `isolde`, which checks and runs.
    pub program: PathBuf,
    /// Where to listen; port 0 is any that is free.
    pub address: SocketAddr,
    /// The name that was given instead of an address, if it was a name.
    pub name: Option<String>,
    /// What whoever opens the page has to know. Beyond loopback one is drawn if none is given.
    pub token: Option<String>,
    /// Reads a history.
    pub load: Loader,
    /// The version to show.
    pub version: String,
    /// What the page may take.
    pub limits: Limits,
}

/// A page that is served until it is dropped.
pub struct Server {
    // Dropped first: nobody asks for more while jobs end.
    listening: Option<Listening>,
    jobs: Arc<Jobs>,
    url: String,
}

impl Server {
    /// Starts to serve.
    pub fn start(config: Config) -> Result<Server, String> {
        let folder = Folder::open(&config.directory)
            .map_err(|error| format!("{}: {error}", config.directory.display()))?;
        let token = match config.token {
            None if !config.address.ip().is_loopback() => {
                Some(draw_token().map_err(|error| format!("no token can be drawn: {error}"))?)
            }
            token => token,
        };
        let guard = Arc::new(OnceLock::new());
        let jobs = Arc::new(Jobs::new(config.limits.children_max));
        let app = App {
            results: Arc::new(Results::new(folder.clone())),
            folder,
            histories: Histories::new(config.load, config.limits.histories_bytes),
            jobs: Arc::clone(&jobs),
            program: config.program,
            version: config.version,
            limits: config.limits,
            guard: Arc::clone(&guard),
            workloads: OnceLock::new(),
        };
        let listening = http::listen(config.address, config.limits.http, app)
            .map_err(|error| format!("cannot listen on {}: {error}", config.address))?;
        let address = listening.address();
        let host = config.name.clone().unwrap_or_else(|| match address {
            SocketAddr::V4(four) => four.ip().to_string(),
            SocketAddr::V6(six) => format!("[{}]", six.ip()),
        });
        let query = token.as_ref().map(|token| format!("?token={token}"));
        let url = format!(
            "http://{host}:{}/{}",
            address.port(),
            query.unwrap_or_default()
        );
        guard.get_or_init(|| Guard {
            address,
            name: config.name,
            token,
        });
        Ok(Server {
            listening: Some(listening),
            jobs,
            url,
        })
    }

    /// What to open in a browser.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening = None;
        self.jobs.stop();
    }
}
