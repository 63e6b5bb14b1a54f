//! etcd: a cluster of any size.

use super::programs::{self, Programs};
use super::{Cluster, Error, Options, Product, READY_TIMEOUT, free_ports, wire};
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) struct Etcd {
    program: PathBuf,
    version: String,
    /// Whether it can be told not to wait for the disk.
    has_no_fsync: bool,
    node_count: usize,
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
        })
    }
}

impl Product for Etcd {
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error> {
        (options.progress)(&format!("starting {}", self.describe(self.node_count)));
        let ports = free_ports(2 * self.node_count)?;
        let (client_ports, peer_ports) = ports.split_at(self.node_count);
        let url = |node: usize, ports: &[u16]| {
            let address = SocketAddr::new(cluster.host(node), ports[node]);
            format!("http://{address}")
        };
        let client_urls: Vec<String> = (0..self.node_count)
            .map(|node| url(node, client_ports))
            .collect();
        let peer_urls: Vec<String> = (0..self.node_count)
            .map(|node| url(node, peer_ports))
            .collect();
        let members = peer_urls.iter().enumerate();
        let members: Vec<String> = members
            .map(|(node, url)| format!("node{}={url}", node + 1))
            .collect();
        for node in 0..self.node_count {
            let mut launch = cluster.launch(node, self.program.clone(), None)?;
            let data = launch.directory.join("data");
            launch.argument("--data-dir").argument(data);
            launch.arguments([
                format!("--name=node{}", node + 1),
                format!("--listen-client-urls={}", client_urls[node]),
                format!("--advertise-client-urls={}", client_urls[node]),
                format!("--listen-peer-urls={}", peer_urls[node]),
                format!("--initial-advertise-peer-urls={}", peer_urls[node]),
                format!("--initial-cluster={}", members.join(",")),
                "--initial-cluster-state=new".to_owned(),
                format!("--initial-cluster-token={}", cluster.place.id),
            ]);
            if self.has_no_fsync {
                launch.argument("--unsafe-no-fsync");
            }
            for (name, value) in options.settings {
                launch.argument(format!("--{name}={value}"));
            }
            cluster.add(launch, client_ports[node]);
            cluster.begin(node, &[])?;
        }
        for node in 0..self.node_count {
            cluster.wait_until_ready(node, READY_TIMEOUT)?;
        }
        Ok(())
    }

    /// Healthy means that the cluster has a leader, which takes a majority; a node of a cluster
    /// that lacks one is as ready as it can be when it answers.
    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String> {
        let answer = wire::http_get(cluster.nodes[node].address, "/health")?;
        let alive_count = (0..self.node_count)
            .filter(|node| cluster.is_alive(*node))
            .count();
        let has_majority = 2 * alive_count > self.node_count;
        let is_healthy = answer.contains("\"health\":\"true\"");
        match is_healthy || (!has_majority && answer.starts_with("HTTP/")) {
            true => Ok(()),
            false => Err("the node is not healthy".to_owned()),
        }
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
