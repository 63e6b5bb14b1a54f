//! MariaDB with Galera: nodes that all take writes.
//!
//! The first node makes the cluster; each other joins it and gets the data from it (by rsync). A
//! node that was killed finds out how far it had come before it joins again, so that it needs only
//! what it missed. When all nodes are down, the one that is started first makes the cluster anew
//! from its data; when those left have lost the majority for good, they are told to go on, as an
//! operator would.

use super::mariadb::{self, Installation};
use super::place;
use super::process::Signal;
use super::programs::Programs;
use super::{Cluster, Error, Options, Product, free_ports, wire};
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a node may take to join and get all data.
const JOIN_TIMEOUT: Duration = Duration::from_secs(120);
/// How long nodes without a majority are left to find it again.
const LOST_AFTER: Duration = Duration::from_secs(12);

const LIBRARIES: &[&str] = &[
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
];

/// Nodes that do not answer are given up after seconds, not tens of them.
const PROVIDER: &str = "gcache.size=64M;evs.keepalive_period=PT0.5S;\
    evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT6S;\
    evs.install_timeout=PT6S";

pub(super) struct Galera {
    installation: Installation,
    library: PathBuf,
    node_count: usize,
    /// When nodes were last told to go on without a majority.
    told: Mutex<Option<Instant>>,
}

impl Galera {
    pub fn find(programs: &Programs, node_count: usize) -> Result<Galera, Error> {
        let installation = Installation::find(programs)?;
        let library = LIBRARIES.iter().map(PathBuf::from).find(|l| l.exists());
        let missing = || Error::missing("the library libgalera_smm.so", "galera-4");
        let library = library.ok_or_else(missing)?;
        programs.need(&["rsync"], "rsync")?;
        programs.need(&["ss", "lsof"], "iproute2")?;
        Ok(Galera {
            installation,
            library,
            node_count,
            told: Mutex::new(None),
        })
    }

    /// The settings of a node: ports are for clients, the group, and the transfer of missing and
    /// of all data.
    fn settings(
        &self,
        cluster: &Cluster,
        node: usize,
        ports: &[[u16; 4]],
        options: &Options<'_>,
    ) -> String {
        let host = cluster.host(node);
        let [client, group, missing, all] = ports[node];
        let members = ports.iter().enumerate();
        let members: Vec<String> = members
            .map(|(node, [_, group, ..])| format!("{}:{group}", cluster.host(node)))
            .collect();
        let mut provider = format!(
            "base_host={host};base_port={group};gmcast.listen_addr=tcp://{host}:{group};\
             ist.recv_addr={host}:{missing};{PROVIDER}"
        );
        // The setting is one list: what the user wants is added to it.
        let (extra, settings): (Vec<_>, Vec<_>) = options
            .settings
            .iter()
            .cloned()
            .partition(|(name, _)| name.replace('-', "_") == "wsrep_provider_options");
        for (_, value) in extra {
            provider.push(';');
            provider.push_str(&value);
        }
        format!(
            "wsrep_on=ON\nwsrep_provider={}\nwsrep_cluster_name={}\n\
             wsrep_cluster_address=gcomm://{}\nwsrep_node_name=node{}\n\
             wsrep_node_address={host}:{group}\nwsrep_node_incoming_address={host}:{client}\n\
             wsrep_sst_method=rsync\nwsrep_sst_receive_address={host}:{all}\n\
             wsrep_slave_threads=4\nwsrep_provider_options=\"{provider}\"\n\
             binlog_format=ROW\ndefault_storage_engine=InnoDB\ninnodb_autoinc_lock_mode=2\n{}",
            self.library.display(),
            cluster.place.id,
            members.join(","),
            node + 1,
            mariadb::lines(&settings)
        )
    }

    /// A variable of the node's status.
    fn status(&self, cluster: &Cluster, node: usize, name: &str) -> Result<String, String> {
        wire::mariadb_greets(cluster.nodes[node].address)?;
        let sql = format!("show global status like '{name}'");
        let rows = self.installation.query(cluster, node, &sql);
        let rows = rows.map_err(|error| error.to_string())?;
        let value = rows.split_whitespace().nth(1).unwrap_or_default();
        Ok(value.to_owned())
    }

    /// How far the data of a stopped node had come, as an argument for its start.
    fn position(&self, cluster: &Cluster, node: usize) -> Result<Option<String>, Error> {
        let mut tool = cluster.nodes[node].server.launch.clone();
        tool.argument("--wsrep-recover");
        let said = cluster.run(&tool)?;
        let found = said
            .lines()
            .filter_map(|line| line.split_once("Recovered position:"))
            .map(|(_, position)| position.trim().to_owned())
            .next_back();
        Ok(found.map(|position| format!("--wsrep-start-position={position}")))
    }
}

/// Lets a node make the cluster anew, whoever was the last to leave it.
fn allow_new_cluster(data: &Path) -> Result<(), Error> {
    let state = data.join("grastate.dat");
    let failed = |error: std::io::Error| Error::new(format!("{}: {error}", state.display()));
    if state.exists() {
        let text = fs::read_to_string(&state).map_err(failed)?;
        let text = text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
        fs::write(&state, text).map_err(failed)?;
    }
    match fs::remove_file(data.join("gvwstate.dat")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

impl Product for Galera {
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error> {
        let name = self.describe(self.node_count);
        (options.progress)(&format!("making a database of {name}"));
        let data = self.installation.initialize(cluster)?;
        let free = free_ports(4 * self.node_count)?;
        let (ports, _) = free.as_chunks::<4>();
        for node in 0..self.node_count {
            let settings = self.settings(cluster, node, ports, options);
            let port = ports[node][0];
            let launch = self.installation.server(cluster, node, port, &settings)?;
            if node > 0 {
                let copy = launch.directory.join("data");
                place::copy_directory(&data, &copy, self.installation.user.as_ref())
                    .map_err(|error| Error::new(format!("cannot copy the data: {error}")))?;
            }
            cluster.add(launch, port);
        }
        for node in 0..self.node_count {
            (options.progress)(&format!("starting {name}: node {}", node + 1));
            let extra: &[OsString] = match node {
                0 => &["--wsrep-new-cluster".into()],
                _ => &[],
            };
            cluster.begin(node, extra)?;
            cluster.wait_until_ready(node, JOIN_TIMEOUT)?;
            if node == 0 {
                self.installation.welcome(cluster, node)?;
            }
        }
        Ok(())
    }

    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String> {
        match self.status(cluster, node, "wsrep_ready")?.as_str() {
            "ON" => Ok(()),
            _ => Err("the node is not ready (wsrep_ready)".to_owned()),
        }
    }

    fn before_restart(&self, cluster: &Cluster, node: usize) -> Result<Vec<OsString>, Error> {
        let mut extra: Vec<OsString> = Vec::new();
        extra.extend(self.position(cluster, node)?.map(OsString::from));
        if !(0..self.node_count).any(|other| cluster.is_alive(other)) {
            let data = cluster.nodes[node].server.launch.directory.join("data");
            allow_new_cluster(&data)?;
            extra.push("--wsrep-new-cluster".into());
        }
        Ok(extra)
    }

    /// Nodes that are alone with no majority stay so for ever: one of them is told to go on. Not
    /// while they are parted, which would make two clusters of one.
    fn while_waiting(&self, cluster: &Cluster, node: usize, waited: Duration) {
        let mut told = self.told.lock().unwrap_or_else(|held| held.into_inner());
        let is_parted = cluster.network.as_ref().is_some_and(|net| net.is_parted());
        let recently = told.is_some_and(|time| time.elapsed() < LOST_AFTER);
        if waited < LOST_AFTER || is_parted || recently {
            return;
        }
        *told = Some(Instant::now());
        let others = (0..self.node_count).filter(|other| *other != node);
        let mut lost = None;
        for other in others.filter(|other| cluster.is_alive(*other)) {
            match self.status(cluster, other, "wsrep_cluster_status") {
                Ok(status) if status == "Primary" => return,
                Ok(_) => lost = Some(other),
                Err(_) => {}
            }
        }
        if let Some(other) = lost {
            let sql = "set global wsrep_provider_options='pc.bootstrap=true'";
            // If it does not help, the wait ends with an error.
            let _ = self.installation.query(cluster, other, sql);
        }
    }

    /// There is nothing to tidy up, and leaving a group in order takes seconds.
    fn drop_signal(&self) -> Signal {
        Signal::Kill
    }

    fn url(&self, address: SocketAddr) -> String {
        mariadb::url(address)
    }

    fn describe(&self, node_count: usize) -> String {
        let version = &self.installation.version;
        match node_count {
            1 => format!("MariaDB {version} with Galera"),
            _ => format!("MariaDB {version} with Galera, {node_count} nodes"),
        }
    }
}
