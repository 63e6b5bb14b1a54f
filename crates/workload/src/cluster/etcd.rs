//! etcd: a cluster of any size.

use super::process::Signal;
use super::programs::{self, Programs};
use super::server::Launch;
use super::{Cluster, Error, Options, Product, READY_TIMEOUT, free_ports, wire};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

pub(super) struct Etcd {
    program: PathBuf,
    version: String,
    /// Whether it can be told not to wait for the disk.
    has_no_fsync: bool,
    node_count: usize,
    /// Where nodes listen for each other.
    peers: Mutex<Vec<SocketAddr>>,
}

impl Etcd {
    pub fn find(programs: &Programs, node_count: usize) -> Result<Etcd, Error> {
        let program = programs.need(&["etcd"], "etcd-server")?;
        let said = programs::ask(&program, "--version");
        let options = programs::ask(&program, "--help");
        Ok(Etcd {
            program,
            version: programs::version(&said),
            has_no_fsync: options.contains("unsafe-no-fsync"),
            node_count,
            peers: Mutex::default(),
        })
    }

    fn peers(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.peers.lock().unwrap_or_else(|held| held.into_inner())
    }

    fn launch(&self, cluster: &Cluster, node: usize, client: SocketAddr) -> Result<Launch, Error> {
        let peers = self.peers();
        let members = peers.iter().enumerate();
        let members: Vec<String> = members
            .map(|(node, peer)| format!("node{}=http://{peer}", node + 1))
            .collect();
        let mut launch = cluster.launch(node, self.program.clone(), None)?;
        let data = launch.directory.join("data");
        launch.argument("--data-dir").argument(data);
        launch.arguments([
            format!("--name=node{}", node + 1),
            format!("--listen-client-urls=http://{client}"),
            format!("--advertise-client-urls=http://{client}"),
            format!("--listen-peer-urls=http://{}", peers[node]),
            format!("--initial-advertise-peer-urls=http://{}", peers[node]),
            format!("--initial-cluster={}", members.join(",")),
            "--initial-cluster-state=new".to_owned(),
            format!("--initial-cluster-token={}", cluster.place.id),
        ]);
        if self.has_no_fsync {
            launch.argument("--unsafe-no-fsync");
        }
        Ok(launch)
    }
}

impl Product for Etcd {
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error> {
        (options.progress)(&format!("starting {}", self.describe(self.node_count)));
        let ports = free_ports(2 * self.node_count)?;
        let (client_ports, peer_ports) = ports.split_at(self.node_count);
        let peers = peer_ports.iter().enumerate();
        *self.peers() = peers
            .map(|(node, port)| SocketAddr::new(cluster.host(node), *port))
            .collect();
        for (node, port) in client_ports.iter().enumerate() {
            let client = SocketAddr::new(cluster.host(node), *port);
            let mut launch = self.launch(cluster, node, client)?;
            for (name, value) in options.settings {
                launch.argument(format!("--{name}={value}"));
            }
            cluster.add(launch, *port);
            cluster.begin(node, &[])?;
        }
        for node in 0..self.node_count {
            cluster.wait_until_ready(node, READY_TIMEOUT)?;
        }
        Ok(())
    }

    /// Healthy means that the cluster has a leader, which takes a majority. A node of a cluster
    /// that lacks one does not listen for clients, and is as ready as it can be when it listens for
    /// the others.
    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String> {
        let alive_count = (0..self.node_count)
            .filter(|node| cluster.is_alive(*node))
            .count();
        if 2 * alive_count <= self.node_count {
            let peer = self.peers()[node];
            return wire::http_get(peer, "/version").map(|_| ());
        }
        let answer = wire::http_get(cluster.nodes[node].address, "/health")?;
        match answer.contains("\"health\":\"true\"") {
            true => Ok(()),
            false => Err("the node is not healthy".to_owned()),
        }
    }

    /// There is nothing to tidy up, and a leader that ends in order looks for another first.
    fn drop_signal(&self) -> Signal {
        Signal::Kill
    }

    fn url(&self, address: SocketAddr) -> String {
        format!("etcd://{address}")
    }

    fn describe(&self, node_count: usize) -> String {
        match node_count {
            1 => format!("etcd {}", self.version),
            _ => format!("etcd {}, {node_count} nodes", self.version),
        }
    }
}
