//! A network namespace for each node, all on one bridge, and partitions between them.
//!
//! Nodes that share an address cannot be told apart by a filter, so each gets its own: an interface
//! in a namespace, whose other end is on a bridge. The bridge is in a namespace too, where no rules
//! of the machine's firewall apply; one more interface leads from it to the machine, for clients.
//!
//! Two nodes are parted by telling each that the other is at a hardware address that nobody has.
//! Packets then go nowhere without anyone being told, as in a real partition, and clients reach
//! both. It needs neither iptables nor any kernel module. Delays need the kernel's netem.

use super::error::Error;
use super::leftovers::delete_namespace;
use super::place::{PREFIX, Place, random};
use super::process::is_root;
use super::programs::Programs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

const NOBODY: &str = "02:00:00:00:de:ad";
const ATTEMPTS_MAX: usize = 50;

pub(super) struct Network {
    ip: PathBuf,
    hub: String,
    namespaces: Vec<String>,
    /// The first two bytes after 10.
    subnet: (u8, u8),
    /// Which cannot reach which, one entry for both directions.
    parted: Mutex<Vec<(usize, usize)>>,
    slowed: Mutex<Vec<usize>>,
}

impl Network {
    /// Nothing if we are not allowed to, or the program for it is not there.
    pub fn create(
        programs: &Programs,
        place: &Place,
        node_count: usize,
    ) -> Result<Option<Network>, Error> {
        let Some(ip) = programs.find(&["ip"]).filter(|_| is_root()) else {
            return Ok(None);
        };
        let mut network = Network {
            subnet: free_subnet(&ip)?,
            ip,
            hub: format!("{PREFIX}{}-hub", place.id),
            namespaces: Vec::new(),
            parted: Mutex::default(),
            slowed: Mutex::default(),
        };
        record(place, &network.hub)?;
        let outside = format!("isl{}", place.id);
        let created = network.connect_hub(&outside);
        match created {
            Ok(()) => {}
            // A container may be root and still have no right to.
            Err(_) => return Ok(None),
        }
        for node in 0..node_count {
            let name = format!("{PREFIX}{}-{}", place.id, node + 1);
            record(place, &name)?;
            network.namespaces.push(name);
            network.connect_node(node)?;
        }
        Ok(Some(network))
    }

    fn connect_hub(&self, outside: &str) -> Result<(), Error> {
        let hub = &self.hub;
        let gateway = format!("{}/24", self.host(1));
        self.ip(&format!("netns add {hub}"))?;
        self.ip(&format!("-n {hub} link add bridge type bridge"))?;
        self.ip(&format!("-n {hub} link set bridge up"))?;
        self.ip(&format!(
            "link add {outside} type veth peer name outside netns {hub}"
        ))?;
        self.ip(&format!("-n {hub} link set outside master bridge up"))?;
        self.ip(&format!("addr add {gateway} dev {outside}"))?;
        self.ip(&format!("link set {outside} up"))
    }

    fn connect_node(&self, node: usize) -> Result<(), Error> {
        let (hub, name, port) = (&self.hub, &self.namespaces[node], format!("port{node}"));
        let address = format!("{}/24", self.address(node));
        self.ip(&format!("netns add {name}"))?;
        self.ip(&format!(
            "-n {hub} link add {port} type veth peer name eth0 netns {name}"
        ))?;
        self.ip(&format!("-n {hub} link set {port} master bridge up"))?;
        self.ip(&format!("-n {name} addr add {address} dev eth0"))?;
        self.ip(&format!("-n {name} link set eth0 up"))?;
        self.ip(&format!("-n {name} link set lo up"))
    }

    fn ip(&self, arguments: &str) -> Result<(), Error> {
        run(&self.ip, arguments).map(|_| ())
    }

    fn host(&self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, self.subnet.0, self.subnet.1, last)
    }

    pub fn address(&self, node: usize) -> Ipv4Addr {
        self.host(u8::try_from(node + 11).unwrap_or(u8::MAX))
    }

    /// The program that starts others in the node's namespace, and the name of that.
    pub fn entrance(&self, node: usize) -> (PathBuf, String) {
        (self.ip.clone(), self.namespaces[node].clone())
    }

    /// Parts the isolated from the others, and joins all others that were parted.
    pub fn separate(&self, isolated: &[usize]) -> Result<(), Error> {
        self.join()?;
        let mut parted = self.parted.lock().unwrap_or_else(|held| held.into_inner());
        for one in 0..self.namespaces.len() {
            for other in one + 1..self.namespaces.len() {
                if isolated.contains(&one) == isolated.contains(&other) {
                    continue;
                }
                parted.push((one, other));
                for (from, to) in [(one, other), (other, one)] {
                    let (name, address) = (&self.namespaces[from], self.address(to));
                    self.ip(&format!(
                        "-n {name} neigh replace {address} lladdr {NOBODY} dev eth0 nud permanent"
                    ))?;
                }
            }
        }
        Ok(())
    }

    /// Ends the partition.
    pub fn join(&self) -> Result<(), Error> {
        let mut parted = self.parted.lock().unwrap_or_else(|held| held.into_inner());
        while let Some((one, other)) = parted.last().copied() {
            for (from, to) in [(one, other), (other, one)] {
                let (name, address) = (&self.namespaces[from], self.address(to));
                self.ip(&format!("-n {name} neigh del {address} dev eth0"))?;
            }
            parted.pop();
        }
        Ok(())
    }

    /// Delays everything that the node sends, to whomever.
    pub fn slow(&self, node: usize, delay: Duration) -> Result<(), Error> {
        let (name, micros) = (&self.namespaces[node], delay.as_micros());
        let mut slowed = self.slowed.lock().unwrap_or_else(|held| held.into_inner());
        self.tc(&format!(
            "-n {name} qdisc replace dev eth0 root netem delay {micros}us"
        ))?;
        slowed.push(node);
        Ok(())
    }

    /// Ends the delays.
    pub fn hurry(&self) -> Result<(), Error> {
        let mut slowed = self.slowed.lock().unwrap_or_else(|held| held.into_inner());
        slowed.sort_unstable();
        slowed.dedup();
        while let Some(node) = slowed.last() {
            let name = &self.namespaces[*node];
            self.tc(&format!("-n {name} qdisc del dev eth0 root"))?;
            slowed.pop();
        }
        Ok(())
    }

    /// The program that comes with `ip`.
    fn tc(&self, arguments: &str) -> Result<(), Error> {
        run(&self.ip.with_file_name("tc"), arguments).map(|_| ())
    }

    pub fn is_parted(&self) -> bool {
        let parted = self.parted.lock().unwrap_or_else(|held| held.into_inner());
        !parted.is_empty()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // The interfaces go with them.
        for name in self.namespaces.iter().chain([&self.hub]) {
            delete_namespace(&self.ip, name);
        }
    }
}

fn record(place: &Place, name: &str) -> Result<(), Error> {
    let recorded = place.record_namespace(name);
    recorded.map_err(|error| Error::new(format!("cannot write the owner file: {error}")))
}

fn run(program: &Path, arguments: &str) -> Result<String, Error> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::new(format!("cannot start {name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("{name} {arguments}: {}", said.trim())))
}

/// A network 10.x.y.0/24 that no interface and no route of this machine has.
fn free_subnet(ip: &Path) -> Result<(u8, u8), Error> {
    let mut known = run(ip, "-4 -o addr show")?;
    known.push_str(&run(ip, "-4 route show")?);
    for _ in 0..ATTEMPTS_MAX {
        let random = random();
        let subnet = (200 + (random % 50) as u8, (random / 64 % 256) as u8);
        if !known.contains(&format!("10.{}.{}.", subnet.0, subnet.1)) {
            return Ok(subnet);
        }
    }
    Err(Error::new("no free network 10.x.y.0/24 was found"))
}
