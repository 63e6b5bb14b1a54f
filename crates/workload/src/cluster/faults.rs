//! What can be done to the servers of a cluster and to the links between them.

use super::proxy::Passage;
use super::{Cluster, Error, Node, Proxy, READY_TIMEOUT};
use std::time::Duration;

/// How long a server may take to end in order.
const END_TIMEOUT: Duration = Duration::from_secs(30);

impl Cluster {
    fn node(&self, node: usize) -> Result<&Node, Error> {
        let missing = || Error::new(format!("there is no node {}", node + 1));
        self.nodes.get(node).ok_or_else(missing)
    }

    /// Whether the server runs; one that is paused does.
    pub fn is_alive(&self, node: usize) -> bool {
        self.nodes
            .get(node)
            .is_some_and(|node| node.server.is_alive())
    }

    /// Kills the server with all its processes at once; what it wrote to files stays.
    pub fn kill(&self, node: usize) -> Result<(), Error> {
        self.node(node)?.server.kill();
        Ok(())
    }

    /// Ends the server in order.
    pub fn stop_gracefully(&self, node: usize) -> Result<(), Error> {
        let server = &self.node(node)?.server;
        server.resume();
        server.send(self.product.end_signal());
        if server.wait_for_end(END_TIMEOUT) {
            return Ok(());
        }
        let seconds = END_TIMEOUT.as_secs();
        let late = Error::new(format!("did not end in {seconds} s"));
        let late = late.context(&self.name_of(node));
        Err(late.with_log(server.log()))
    }

    /// Starts the server again on its port and data, and waits until it is ready; one that still
    /// runs is ended in order first.
    pub fn restart(&self, node: usize) -> Result<(), Error> {
        if self.node(node)?.server.is_alive() {
            self.stop_gracefully(node)?;
        }
        // Processes that outlived the server would hold its port or its memory.
        self.nodes[node].server.kill();
        let extra = self.product.before_restart(self, node)?;
        self.begin(node, &extra)?;
        self.wait_until_ready(node, READY_TIMEOUT)
    }

    /// Stops the server with all its processes where they are.
    pub fn pause(&self, node: usize) -> Result<(), Error> {
        self.node(node)?.server.pause();
        Ok(())
    }

    /// Lets a paused server go on.
    pub fn resume(&self, node: usize) -> Result<(), Error> {
        self.node(node)?.server.resume();
        Ok(())
    }

    /// Parts the isolated nodes from the others, and from their clients where these come through
    /// proxies. Nothing is closed: bytes wait, as they do for TCP in a partition. Replaces the
    /// partition there was.
    pub fn partition(&self, isolated: &[usize]) -> Result<(), Error> {
        if self.nodes.len() > 1 {
            self.partition_servers(isolated)?;
        } else if self.clients.is_empty() {
            return Err(Error::new(
                "one server can only be parted from its clients, and they do not come through proxies",
            ));
        }
        for (node, proxy) in self.clients.iter().enumerate() {
            hold(proxy, isolated.contains(&node));
        }
        Ok(())
    }

    /// Parts the isolated nodes from the others; clients reach all of them.
    pub fn partition_servers(&self, isolated: &[usize]) -> Result<(), Error> {
        for node in isolated {
            self.node(*node)?;
        }
        if let Some(network) = &self.network {
            return network.separate(isolated);
        }
        if self.links.is_empty() {
            return Err(Error::new(
                "partitions between these nodes need a network namespace for each, which needs root, the program ip (apt install iproute2), and to be asked for at the start",
            ));
        }
        for (from, to, proxy) in &self.links {
            hold(proxy, isolated.contains(from) != isolated.contains(to));
        }
        Ok(())
    }

    /// Delays what goes between the node and its clients, where these come through proxies, and
    /// between the node and its primary or replica; what a node in a network namespace sends to
    /// anyone, where the kernel can do that. An error if it is none of them.
    pub fn slow(&self, node: usize, delay: Duration) -> Result<(), Error> {
        self.node(node)?;
        let links = self.links.iter();
        let mut proxies: Vec<&Proxy> = links
            .filter(|(from, to, _)| *from == node || *to == node)
            .map(|(_, _, proxy)| proxy)
            .collect();
        proxies.extend(self.clients.get(node));
        let by_kernel = match &self.network {
            Some(network) => network.slow(node, delay),
            None => Err(Error::new("no link of this node goes through a proxy")),
        };
        if proxies.is_empty() {
            return by_kernel;
        }
        for proxy in proxies {
            proxy.change(|link| {
                link.forth.delay = delay;
                link.back.delay = delay;
            });
        }
        Ok(())
    }

    /// Ends every partition and delay.
    pub fn heal(&self) -> Result<(), Error> {
        let links = self.links.iter().map(|(_, _, proxy)| proxy);
        for proxy in links.chain(&self.clients) {
            proxy.change(|link| *link = Default::default());
        }
        match &self.network {
            Some(network) => network.join().and(network.hurry()),
            None => Ok(()),
        }
    }
}

fn hold(proxy: &Proxy, is_held: bool) {
    let passage = match is_held {
        true => Passage::Held,
        false => Passage::Open,
    };
    proxy.change(|link| {
        link.forth.passage = passage;
        link.back.passage = passage;
    });
}
