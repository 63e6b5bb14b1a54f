//! Real databases, started from installed programs on this machine, and hurt on request.
//!
//! A cluster has a directory of its own; its servers listen on loopback, or each in a network
//! namespace of its own where partitions between servers are wanted that no proxy can make. All is
//! stopped and removed when the `Cluster` is dropped; what a crash leaves is removed by the next
//! start.

mod error;
mod etcd;
mod faults;
mod galera;
mod leftovers;
mod mariadb;
mod network;
mod place;
mod ports;
mod postgres;
mod process;
mod programs;
mod proxy;
mod redis;
mod server;
mod spec;
mod wire;

pub use error::Error;
pub use leftovers::clean_leftovers;
pub use proxy::{Direction, Link, Passage, Proxy};
pub use spec::Spec;

use network::Network;
use place::{Place, User};
use process::Signal;
use programs::Programs;
use server::{Launch, Server};
use spec::Database;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a server may take until it answers.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a tool that prepares a server may take.
const TOOL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server is given to end by itself when the cluster is dropped.
const DROP_TIMEOUT: Duration = Duration::from_secs(5);
/// How often other ports are tried when a server finds one of its own taken.
const PORT_ATTEMPTS_MAX: usize = 4;

/// How to start a cluster.
pub struct Options<'a> {
    /// Where the directory of the cluster is made.
    pub directory: &'a Path,
    /// Where programs are looked for first.
    pub search: &'a [PathBuf],
    /// Settings for every server, as its configuration file or command line names them.
    pub settings: &'a [(String, String)],
    /// Whether clients reach servers through a proxy, so that their links can be slowed and cut.
    pub proxied: bool,
    /// Whether Galera and etcd shall be open to partitions between their nodes, which needs root:
    /// each node gets a network namespace.
    pub network_faults: bool,
    /// Told what is being done.
    pub progress: &'a dyn Fn(&str),
    /// Ends all waiting when it becomes true.
    pub interrupted: &'a Arc<AtomicBool>,
}

/// What is particular to a database.
trait Product: Send + Sync {
    /// Prepares and starts all nodes.
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error>;

    /// Whether the node is ready for clients, or why not yet.
    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String>;

    /// Makes a node that has stopped ready to be started; what to add to its command line.
    fn before_restart(&self, _: &Cluster, _: usize) -> Result<Vec<OsString>, Error> {
        Ok(Vec::new())
    }

    /// Called while a node is waited for, with the time waited.
    fn while_waiting(&self, _: &Cluster, _: usize, _: Duration) {}

    /// What clients connect to.
    fn url(&self, address: SocketAddr) -> String;

    /// For people.
    fn describe(&self, node_count: usize) -> String;

    /// The signal that ends a server in order.
    fn end_signal(&self) -> Signal {
        Signal::Terminate
    }

    /// The signal that ends a server fast and lets it tidy up, when its data are not needed again.
    fn drop_signal(&self) -> Signal {
        Signal::Terminate
    }
}

/// Servers that run until it is dropped.
pub struct Cluster {
    product: Arc<dyn Product>,
    place: Place,
    path: OsString,
    nodes: Vec<Node>,
    /// Proxies between servers: from, to.
    links: Vec<(usize, usize, Proxy)>,
    /// A proxy for the clients of each node, or none at all.
    clients: Vec<Proxy>,
    network: Option<Network>,
    urls: Vec<String>,
    interrupted: Arc<AtomicBool>,
}

struct Node {
    server: Server,
    /// Where it listens for clients.
    address: SocketAddr,
}

impl Cluster {
    /// Starts all servers and waits until they are ready, after removing what crashed ones left.
    pub fn start(spec: &Spec, options: &Options<'_>) -> Result<Cluster, Error> {
        let count = clean_leftovers(options.directory);
        if count > 0 {
            (options.progress)(&format!("removed what {count} crashed runs left behind"));
        }
        let programs = Programs::new(options.search);
        let product = product(spec, &programs)?;
        let mut attempt = 1;
        loop {
            match Cluster::try_start(spec, options, &programs, &product) {
                Err(error) if error.is_port_taken() && attempt < PORT_ATTEMPTS_MAX => {
                    (options.progress)("a port was taken; trying others");
                    attempt += 1;
                }
                result => return result.map_err(|error| error.context("cannot start")),
            }
        }
    }

    fn try_start(
        spec: &Spec,
        options: &Options<'_>,
        programs: &Programs,
        product: &Arc<dyn Product>,
    ) -> Result<Cluster, Error> {
        let place = Place::create(options.directory).map_err(|error| {
            let directory = options.directory.display();
            Error::new(format!("cannot make a directory in {directory}: {error}"))
        })?;
        let mut cluster = Cluster {
            product: Arc::clone(product),
            place,
            path: programs.path(),
            nodes: Vec::new(),
            links: Vec::new(),
            clients: Vec::new(),
            network: None,
            urls: Vec::new(),
            interrupted: Arc::clone(options.interrupted),
        };
        let by_namespace = matches!(spec.database, Database::Galera | Database::Etcd);
        if options.network_faults && by_namespace && spec.node_count > 1 {
            cluster.network = Network::create(programs, &cluster.place, spec.node_count)?;
        }
        product.raise(&mut cluster, options)?;
        cluster.open_to_clients(options.proxied)?;
        Ok(cluster)
    }

    fn open_to_clients(&mut self, proxied: bool) -> Result<(), Error> {
        for node in &self.nodes {
            let mut address = node.address;
            if proxied {
                let proxy = start_proxy(address)?;
                address = proxy.address();
                self.clients.push(proxy);
            }
            self.urls.push(self.product.url(address));
        }
        Ok(())
    }

    /// What clients connect to, one for each node; the first is the primary.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// How many servers there are.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// What was started, for people: `PostgreSQL 15.18, primary and 1 streaming replica`.
    pub fn describe(&self) -> String {
        let mut text = self.product.describe(self.nodes.len());
        if self.network.is_some() {
            text.push_str(", each in a network namespace");
        }
        text
    }

    /// Where the node will listen, before it is added.
    fn host(&self, node: usize) -> IpAddr {
        match &self.network {
            Some(network) => network.address(node).into(),
            None => Ipv4Addr::LOCALHOST.into(),
        }
    }

    /// How to start a program for the node, in a directory of its own.
    fn launch(&self, node: usize, program: PathBuf, user: Option<&User>) -> Result<Launch, Error> {
        let name = format!("node{}", node + 1);
        let made = self.place.make(&name, user);
        let directory = made.map_err(|error| Error::new(format!("cannot make {name}: {error}")))?;
        let network = self.network.as_ref();
        Ok(Launch {
            program,
            arguments: Vec::new(),
            log: directory.join("log"),
            directory,
            user: user.cloned(),
            namespace: network.map(|network| network.entrance(node)),
            path: self.path.clone(),
        })
    }

    /// Adds a node without starting it.
    fn add(&mut self, launch: Launch, port: u16) {
        let address = SocketAddr::new(self.host(self.nodes.len()), port);
        let server = Server::new(launch);
        self.nodes.push(Node { server, address });
    }

    /// Puts a proxy between a replica and its primary; where the replica connects.
    fn link(&mut self, from: usize, to: usize) -> Result<SocketAddr, Error> {
        let proxy = start_proxy(self.nodes[to].address)?;
        let address = proxy.address();
        self.links.push((from, to, proxy));
        Ok(address)
    }

    /// Starts a node that was added.
    fn begin(&self, node: usize, extra: &[OsString]) -> Result<(), Error> {
        let started = self.nodes[node].server.start(extra, &self.place);
        started.map_err(|error| error.context(&self.name_of(node)))
    }

    /// Waits until clients can use the node; an error if it ends instead.
    fn wait_until_ready(&self, node: usize, timeout: Duration) -> Result<(), Error> {
        let server = &self.nodes[node].server;
        let begin = std::time::Instant::now();
        let mut ended = None;
        let waited = server::wait_until(timeout, &self.interrupted, || {
            ended = server.ending();
            if ended.is_some() {
                return Ok(());
            }
            self.product.while_waiting(self, node, begin.elapsed());
            self.product.answers(self, node)
        });
        let failure = match (waited, ended) {
            (Ok(()), None) => return Ok(()),
            (_, Some(status)) => Error::new(format!("the server ended ({status})")),
            (Err(error), None) => error,
        };
        let failure = failure.context(&self.name_of(node));
        Err(failure.with_log(server.log()))
    }

    fn name_of(&self, node: usize) -> String {
        format!("{}, node {}", self.product.describe(1), node + 1)
    }

    /// Runs a tool of the database to its end; what it printed.
    fn run(&self, tool: &Launch) -> Result<String, Error> {
        tool.run(TOOL_TIMEOUT, &self.interrupted)
    }

    /// The last lines that a server logged.
    pub fn log_tail(&self, node: usize, lines: usize) -> String {
        let node = self.nodes.get(node);
        node.map_or_else(String::new, |node| {
            server::tail(&node.server.launch.log, lines)
        })
    }
}

fn product(spec: &Spec, programs: &Programs) -> Result<Arc<dyn Product>, Error> {
    let count = spec.node_count;
    Ok(match spec.database {
        Database::Postgres => Arc::new(postgres::Postgres::find(programs, count)?),
        Database::Mariadb => Arc::new(mariadb::Mariadb::find(programs)?),
        Database::Galera => Arc::new(galera::Galera::find(programs, count)?),
        Database::Redis => Arc::new(redis::Redis::find(programs, count)?),
        Database::Etcd => Arc::new(etcd::Etcd::find(programs, count)?),
    })
}

fn start_proxy(target: SocketAddr) -> Result<Proxy, Error> {
    let port = free_ports(1)?;
    let started = Proxy::start(port[0], target);
    started.map_err(|error| Error::new(format!("cannot start a proxy: {error}")))
}

fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    ports::free(count).map_err(|error| Error::new(format!("no free ports: {error}")))
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.server.resume();
            node.server.send(self.product.drop_signal());
        }
        for node in &self.nodes {
            node.server.wait_for_end(DROP_TIMEOUT);
            // Also ends what the server started and left.
            node.server.kill();
        }
        self.clients.clear();
        self.links.clear();
        self.network = None;
        leftovers::free_shared_memory(&self.place.path);
        // What cannot be removed now is tried again by the next start.
        let _ = std::fs::remove_dir_all(&self.place.path);
    }
}
