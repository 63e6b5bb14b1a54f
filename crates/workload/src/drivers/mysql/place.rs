//! Where a MySQL server is, what it calls itself, and what its sessions are told at their start.

use crate::driver::{Error, Isolation};
use crate::drivers::address::Address;
use std::time::Duration;

/// A server, a database on it, and a user of it.
pub struct Place {
    /// The parts of its URL.
    pub address: Address,
    /// The socket file, if not by TCP.
    pub socket: Option<String>,
    /// What the URL's parameters set.
    settings: Vec<String>,
}

impl Place {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Place, Error> {
        let address = Address::parse(url)?;
        if address.database.is_none() {
            return Err(address.hopeless("which database? mysql://USER:PASSWORD@HOST/DATABASE"));
        }
        let mut socket = None;
        let mut settings = Vec::new();
        for (name, value) in &address.parameters {
            match (name.as_str(), value.as_str()) {
                ("socket", path) => socket = Some(path.to_string()),
                ("snapshot_isolation", "on" | "off") => {
                    settings.push(format!("set session innodb_snapshot_isolation = {value}"));
                }
                ("wsrep_sync_wait", number) if number.parse::<u8>().is_ok() => {
                    settings.push(format!("set session wsrep_sync_wait = {number}"));
                }
                ("snapshot_isolation", _) => {
                    return Err(address.hopeless("snapshot_isolation is on or off"));
                }
                ("wsrep_sync_wait", _) => {
                    return Err(address.hopeless("wsrep_sync_wait is a number from 0 to 15"));
                }
                ("sslmode" | "ssl-mode" | "ssl_mode" | "require_ssl", _) => {
                    return Err(address.hopeless("Isolde does not speak TLS yet"));
                }
                _ => return Err(address.hopeless(format!("unknown parameter '{name}'"))),
            }
        }
        Ok(Place {
            address,
            socket,
            settings,
        })
    }

    /// The host, with brackets around an IPv6 address.
    pub fn host(&self) -> String {
        match self.address.host.as_deref() {
            Some(ipv6) if ipv6.contains(':') => format!("[{ipv6}]"),
            Some(host) => host.to_string(),
            None => "localhost".to_string(),
        }
    }

    /// The statements that a session begins with.
    pub fn setup(&self, isolation: Isolation, patience: Duration) -> Vec<String> {
        // An answer should come before we stop waiting for one.
        let lock_wait = (patience.as_secs() / 2).clamp(1, 5);
        let mut setup = vec![
            format!("set session transaction isolation level {}", isolation.name),
            format!("set session innodb_lock_wait_timeout = {lock_wait}"),
        ];
        setup.extend(self.settings.iter().cloned());
        setup
    }
}

/// "MariaDB 10.11.19, Galera" from "10.11.19-MariaDB-0+deb12u1".
pub fn product_name(version: &str, galera: bool) -> String {
    // MariaDB 10 put "5.5.5-" before its version for old clients.
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let number = version.split(['-', '+']).next().unwrap_or_default();
    let name = match version.to_lowercase().contains("mariadb") {
        true => "MariaDB",
        false => "MySQL",
    };
    let galera = if galera { ", Galera" } else { "" };
    format!("{name} {number}{galera}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Fate;

    #[test]
    fn a_product_is_a_name_and_a_number() {
        for (version, galera, product) in [
            ("10.11.19-MariaDB-0+deb12u1", false, "MariaDB 10.11.19"),
            ("5.5.5-10.5.23-MariaDB-log", true, "MariaDB 10.5.23, Galera"),
            ("9.7.4", false, "MySQL 9.7.4"),
            ("8.0.36-0ubuntu0", false, "MySQL 8.0.36"),
        ] {
            assert_eq!(product_name(version, galera), product);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (url, word) in [
            ("mysql://h/db?pool=3", "pool"),
            ("mysql://h/db?snapshot_isolation=1", "snapshot_isolation"),
            ("mysql://h/db?wsrep_sync_wait=0;drop", "wsrep_sync_wait"),
            ("mysql://h/db?sslmode=require", "TLS"),
            ("mysql://me:hush@h/", "which database"),
        ] {
            let error = Place::parse(url).err();
            let error = error.unwrap_or_else(|| panic!("{url}"));
            assert_eq!(error.fate, Fate::Hopeless, "{url}");
            assert!(error.message.contains(word), "{error}");
            assert!(!error.message.contains("hush"), "{error}");
        }
    }

    #[test]
    fn parameters_become_settings_of_the_session() {
        let place = Place::parse("mysql://[::1]/db?snapshot_isolation=on&wsrep_sync_wait=7");
        let place = place.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(place.host(), "[::1]");
        let isolation = Isolation {
            name: "serializable",
            promises: history::Level::Serializable,
            because: "",
        };
        let setup = place.setup(isolation, Duration::from_secs(3)).join("; ");
        assert_eq!(
            setup,
            "set session transaction isolation level serializable; \
             set session innodb_lock_wait_timeout = 1; \
             set session innodb_snapshot_isolation = on; set session wsrep_sync_wait = 7"
        );
    }
}
