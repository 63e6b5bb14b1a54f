//! PostgreSQL: one server, or a primary and streaming replicas.
//!
//! A replica begins as a copy of the primary's directory made before the primary ever ran, which
//! needs no backup tool. Memory of the machine survives what is done to servers here, so nothing
//! waits for the disk: a killed server loses nothing that it had written to its files.

use super::place::{self, User};
use super::process::{Signal, is_root};
use super::programs::{self, Programs};
use super::server::{Launch, wait_until};
use super::{Cluster, Error, Options, Product, READY_TIMEOUT, free_ports, wire};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    // Paths of sockets may not be long, and ours may be.
    "unix_socket_directories=",
    // For a thousand sessions, and some to look at them.
    "max_connections=1200",
    "shared_buffers=128MB",
    // In files of the server, so that a killed one leaves nothing in /dev/shm.
    "dynamic_shared_memory_type=mmap",
    "fsync=off",
    "full_page_writes=off",
    "wal_level=replica",
    "hot_standby=on",
    "max_wal_senders=10",
    "wal_retrieve_retry_interval=200ms",
];

pub(super) struct Postgres {
    programs: PathBuf,
    user: Option<User>,
    version: String,
    node_count: usize,
}

impl Postgres {
    pub fn find(programs: &Programs, node_count: usize) -> Result<Postgres, Error> {
        let directory = programs.postgres()?;
        let mut user = None;
        if is_root() {
            let missing = || Error::missing("the user postgres, whom root needs", "postgresql");
            user = Some(User::named("postgres").ok_or_else(missing)?);
        }
        let said = programs::ask(&directory.join("postgres"), "--version");
        Ok(Postgres {
            programs: directory,
            user,
            version: programs::version(&said),
            node_count,
        })
    }

    fn launch(&self, cluster: &Cluster, node: usize, program: &str) -> Result<Launch, Error> {
        cluster.launch(node, self.programs.join(program), self.user.as_ref())
    }

    fn initialize(&self, cluster: &Cluster) -> Result<PathBuf, Error> {
        let mut tool = self.launch(cluster, 0, "initdb")?;
        let data = tool.directory.join("data");
        tool.argument("--pgdata").argument(&data).arguments([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        cluster.run(&tool)?;
        Ok(data)
    }

    fn add(
        &self,
        cluster: &mut Cluster,
        node: usize,
        port: u16,
        options: &Options<'_>,
    ) -> Result<(), Error> {
        let mut launch = self.launch(cluster, node, "postgres")?;
        let data = launch.directory.join("data");
        launch.argument("-D").argument(data);
        launch.argument("-p").argument(port.to_string());
        for setting in SETTINGS {
            launch.argument("-c").argument(*setting);
        }
        if self.node_count > 1 {
            // A replica that was away long finds all it missed.
            let keep = match self.version.split('.').next().unwrap_or_default() {
                "9" | "10" | "11" | "12" => "wal_keep_segments=64",
                _ => "wal_keep_size=1GB",
            };
            launch.argument("-c").argument(keep);
        }
        if node > 0 {
            let primary = cluster.link(node, 0)?;
            launch.argument("-c").argument(format!(
                "primary_conninfo=host={} port={} user=postgres application_name=node{} connect_timeout=5",
                primary.ip(),
                primary.port(),
                node + 1
            ));
        }
        for (name, value) in options.settings {
            launch.argument("-c").argument(format!("{name}={value}"));
        }
        cluster.add(launch, port);
        Ok(())
    }

    fn copy(&self, cluster: &Cluster, node: usize, data: &Path) -> Result<(), Error> {
        let launch = self.launch(cluster, node, "postgres")?;
        let copy = launch.directory.join("data");
        place::copy_directory(data, &copy, self.user.as_ref())
            .and_then(|()| fs::write(copy.join("standby.signal"), ""))
            .map_err(|error| Error::new(format!("cannot copy the primary: {error}")))
    }
}

impl Product for Postgres {
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error> {
        (options.progress)(&format!("making a database of PostgreSQL {}", self.version));
        let data = self.initialize(cluster)?;
        let ports = free_ports(self.node_count)?;
        for (node, port) in ports.into_iter().enumerate() {
            if node > 0 {
                self.copy(cluster, node, &data)?;
            }
            self.add(cluster, node, port, options)?;
        }
        (options.progress)(&format!("starting {}", self.describe(self.node_count)));
        for node in 0..self.node_count {
            cluster.begin(node, &[])?;
        }
        for node in 0..self.node_count {
            cluster.wait_until_ready(node, READY_TIMEOUT)?;
        }
        for node in 1..self.node_count {
            let address = cluster.nodes[node].address;
            wait_until(READY_TIMEOUT, &cluster.interrupted, || streams(address))
                .map_err(|error| error.with_log(cluster.nodes[node].server.log()))?;
        }
        Ok(())
    }

    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String> {
        let address = cluster.nodes[node].address;
        match wire::postgres(address, "select 1") {
            Ok(_) => Ok(()),
            // All connections taken is an answer, too.
            Err(reason) if reason.contains("too many clients") => Ok(()),
            Err(reason) => Err(reason),
        }
    }

    fn url(&self, address: SocketAddr) -> String {
        format!("postgres://postgres@{address}/postgres")
    }

    fn describe(&self, node_count: usize) -> String {
        let version = &self.version;
        match node_count {
            1 => format!("PostgreSQL {version}"),
            2 => format!("PostgreSQL {version}, primary and 1 streaming replica"),
            _ => format!(
                "PostgreSQL {version}, primary and {} streaming replicas",
                node_count - 1
            ),
        }
    }

    /// Does not wait for clients to leave.
    fn end_signal(&self) -> Signal {
        Signal::Interrupt
    }

    /// Does not wait for replicas either, and frees shared memory, which killing would not.
    fn drop_signal(&self) -> Signal {
        Signal::Quit
    }
}

fn streams(replica: SocketAddr) -> Result<(), String> {
    let rows = wire::postgres(replica, "select status from pg_stat_wal_receiver")?;
    match rows.first().map(String::as_str) {
        Some("streaming") => Ok(()),
        _ => Err("the replica receives nothing from the primary".to_owned()),
    }
}
