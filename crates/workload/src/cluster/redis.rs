//! Redis: one server, or a primary and replicas.
//!
//! Every write goes to a file before it is answered, though not to the disk, so that a killed
//! server comes back with all it had acknowledged.

use super::programs::{self, Programs};
use super::server::wait_until;
use super::{Cluster, Error, Options, Product, READY_TIMEOUT, free_ports, wire};
use std::net::SocketAddr;
use std::path::PathBuf;

const SETTINGS: &[(&str, &str)] = &[
    ("bind", "127.0.0.1"),
    ("daemonize", "no"),
    ("save", ""),
    ("appendonly", "yes"),
    ("appendfsync", "no"),
    ("maxclients", "4000"),
    ("repl-diskless-sync", "yes"),
    // A replica that waits for others to come waits for nobody here.
    ("repl-diskless-sync-delay", "0"),
    ("repl-ping-replica-period", "1"),
];

pub(super) struct Redis {
    program: PathBuf,
    name: &'static str,
    version: String,
    node_count: usize,
}

impl Redis {
    pub fn find(programs: &Programs, node_count: usize) -> Result<Redis, Error> {
        let program = programs.need(&["redis-server", "valkey-server"], "redis-server")?;
        let said = programs::ask(&program, "--version");
        let name = match said.to_lowercase().contains("valkey") {
            true => "Valkey",
            false => "Redis",
        };
        Ok(Redis {
            program,
            name,
            version: programs::version(&said),
            node_count,
        })
    }
}

impl Product for Redis {
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error> {
        (options.progress)(&format!("starting {}", self.describe(self.node_count)));
        for (node, port) in free_ports(self.node_count)?.into_iter().enumerate() {
            let mut launch = cluster.launch(node, self.program.clone(), None)?;
            launch.arguments(["--port", &port.to_string()]);
            for (name, value) in SETTINGS {
                launch.arguments([&format!("--{name}"), *value]);
            }
            if node > 0 {
                let primary = cluster.link(node, 0)?;
                let (host, port) = (primary.ip().to_string(), primary.port().to_string());
                launch.arguments(["--replicaof", &host, &port]);
            }
            for (name, value) in options.settings {
                launch.arguments([format!("--{name}"), value.clone()]);
            }
            cluster.add(launch, port);
            cluster.begin(node, &[])?;
            cluster.wait_until_ready(node, READY_TIMEOUT)?;
        }
        for node in 1..self.node_count {
            let address = cluster.nodes[node].address;
            wait_until(READY_TIMEOUT, &cluster.interrupted, || is_linked(address))
                .map_err(|error| error.with_log(cluster.nodes[node].server.log()))?;
        }
        Ok(())
    }

    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String> {
        let answer = wire::redis(cluster.nodes[node].address, "PING")?;
        match answer.starts_with("+PONG") {
            true => Ok(()),
            false => Err(answer.lines().next().unwrap_or_default().to_owned()),
        }
    }

    fn url(&self, address: SocketAddr) -> String {
        format!("redis://{address}")
    }

    fn describe(&self, node_count: usize) -> String {
        let (name, version) = (self.name, &self.version);
        match node_count {
            1 => format!("{name} {version}"),
            2 => format!("{name} {version}, primary and 1 replica"),
            _ => format!("{name} {version}, primary and {} replicas", node_count - 1),
        }
    }
}

fn is_linked(replica: SocketAddr) -> Result<(), String> {
    let answer = wire::redis(replica, "INFO replication")?;
    match answer.contains("master_link_status:up") {
        true => Ok(()),
        false => Err("the replica has no link to the primary".to_owned()),
    }
}
