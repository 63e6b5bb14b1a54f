//! What the page may ask of the program, as arguments. Everything that comes from a request is
//! checked here, and none of it can become an option of its own or a command.

use serde_json::Value;

/// A run that somebody wants.
#[derive(Debug)]
pub(crate) struct RunOrder {
    pub databases: Vec<String>,
    pub workload: String,
    pub isolation: String,
    pub seconds: f64,
    pub clients: u32,
    pub seed: Option<u64>,
    pub faults: Vec<String>,
}

/// What Isolde can start by a name.
const SERVERS: [&str; 6] = ["sqlite", "postgres", "mariadb", "galera", "redis", "etcd"];
/// What it can reach by a URL. Others name files or commands, which a page may not.
const SCHEMES: [&str; 4] = ["postgres://", "mysql://", "redis://", "etcd://"];
const FAULTS: [&str; 5] = ["kill", "pause", "partition", "slow", "restart"];
const NODES_MAX: usize = 9;
const CLIENTS_MAX: u64 = 500;

impl RunOrder {
    /// The run that a request describes.
    pub fn of(value: &Value, seconds_max: f64) -> Result<RunOrder, String> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or("").trim();
        let databases: Vec<String> = text("database")
            .split_whitespace()
            .map(database)
            .collect::<Result<_, _>>()?;
        if databases.is_empty() || databases.len() > NODES_MAX {
            return Err("name a database, or the URLs of its nodes".to_string());
        }
        let workload = text("workload");
        let is_word = |word: &str| {
            let plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !word.starts_with('-') && !word.is_empty() && word.bytes().all(plain)
        };
        if !is_word(workload) || workload == "help" {
            return Err("choose a workload".to_string());
        }
        let isolation = text("isolation");
        if isolation.len() > 60 || isolation.chars().any(char::is_control) {
            return Err("that is no name of an isolation level".to_string());
        }
        let seconds = value.get("seconds").and_then(Value::as_f64).unwrap_or(5.0);
        if !(0.1..=seconds_max).contains(&seconds) {
            return Err(format!("a run takes from 0.1 to {seconds_max} seconds"));
        }
        let clients = value.get("clients").and_then(Value::as_u64).unwrap_or(10);
        if !(1..=CLIENTS_MAX).contains(&clients) {
            return Err(format!("a run has from 1 to {CLIENTS_MAX} clients"));
        }
        let faults = value.get("faults").and_then(Value::as_array);
        let faults = faults.into_iter().flatten().map(fault);
        Ok(RunOrder {
            databases,
            workload: workload.to_string(),
            isolation: isolation.to_string(),
            seconds,
            clients: clients as u32,
            seed: value.get("seed").and_then(Value::as_u64),
            faults: faults.collect::<Result<_, _>>()?,
        })
    }

    /// The arguments, with the directory for the recording.
    pub fn arguments(&self, output: &str, timeout: f64) -> Vec<String> {
        let mut arguments = vec![
            "run".to_string(),
            "--json".to_string(),
            "--progress-json".to_string(),
            // The page shows the database's own numbers of transactions.
            "--ids".to_string(),
            format!("--workload={}", self.workload),
            format!("--time={}", self.seconds),
            format!("--clients={}", self.clients),
            format!("--timeout={timeout}"),
            format!("--output={output}"),
        ];
        if !self.isolation.is_empty() {
            arguments.push(format!("--isolation={}", self.isolation));
        }
        arguments.extend(self.seed.map(|seed| format!("--seed={seed}")));
        arguments.extend(self.faults.iter().map(|fault| format!("--fault={fault}")));
        arguments.push("--".to_string());
        arguments.extend(self.databases.iter().cloned());
        arguments
    }

    /// The run in a few words, without passwords.
    pub fn title(&self) -> String {
        let names: Vec<String> = self
            .databases
            .iter()
            .map(|name| without_password(name))
            .collect();
        let isolation = match self.isolation.as_str() {
            "" => String::new(),
            isolation => format!(", {isolation}"),
        };
        format!("{}{isolation}, {}", names.join(" "), self.workload)
    }
}

/// The arguments of a check.
pub(crate) fn check(name: &str, timeout: f64, memory_gib: f64) -> Vec<String> {
    vec![
        "check".to_string(),
        "--json".to_string(),
        "--progress-json".to_string(),
        format!("--timeout={timeout}"),
        format!("--memory={memory_gib}"),
        "--".to_string(),
        name.to_string(),
    ]
}

/// A database that a page may name.
fn database(name: &str) -> Result<String, String> {
    let refused = || {
        let servers = SERVERS.join(", ");
        let schemes = SCHEMES.join("…, ");
        format!(
            "name one of {servers}, or a URL: {schemes}…; files and commands only on the command line"
        )
    };
    if name.chars().any(char::is_control) || name.len() > 500 {
        return Err(refused());
    }
    let (word, rest) = name.split_once(':').unwrap_or((name, ""));
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_server = SERVERS.contains(&word)
        && match word {
            "sqlite" => rest.is_empty() || rest == ":memory:",
            _ => rest.bytes().all(plain),
        };
    let is_url = SCHEMES.iter().any(|scheme| name.starts_with(scheme));
    match is_server || is_url {
        true => Ok(name.to_string()),
        false => Err(refused()),
    }
}

fn fault(value: &Value) -> Result<String, String> {
    match value.as_str() {
        Some(name) if FAULTS.contains(&name) => Ok(name.to_string()),
        _ => Err(format!("the faults are {}", FAULTS.join(", "))),
    }
}

/// A URL without what stands between the user and the host.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((before, after))) => {
            let user = before.trim_start_matches(scheme).trim_start_matches("://");
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{after}")
        }
        _ => url.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_names_no_files_commands_or_options() {
        for name in [
            "exec:rm",
            "exec:rm -rf",
            "sqlite:/etc/x",
            "sqlite:x",
            "redb:x",
            "--output=x",
            "-h",
            "",
            "postgres:../x",
            "file",
            "etcd:3/x",
        ] {
            let order = RunOrder::of(&json!({"database": name, "workload": "bank"}), 60.0);
            assert!(order.is_err(), "{name}");
        }
        for name in [
            "sqlite",
            "sqlite::memory:",
            "galera:3",
            "postgres:replica",
            "redis://h:1 redis://h:2",
        ] {
            let order = RunOrder::of(&json!({"database": name, "workload": "bank"}), 60.0);
            assert!(order.is_ok(), "{name}");
        }
    }

    #[test]
    fn numbers_are_bounded_and_words_are_words() {
        let refused = |value: Value| RunOrder::of(&value, 60.0).is_err();
        assert!(refused(json!({"database": "sqlite", "workload": "--help"})));
        assert!(refused(
            json!({"database": "sqlite", "workload": "bank", "seconds": 1e9})
        ));
        assert!(refused(
            json!({"database": "sqlite", "workload": "bank", "clients": 0})
        ));
        assert!(refused(
            json!({"database": "sqlite", "workload": "bank", "faults": ["reboot"]})
        ));
        assert!(refused(
            json!({"database": "sqlite", "workload": "bank", "isolation": "a\nb"})
        ));
        assert!(refused(json!(null)));
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(
            without_password("postgres://me:s@cret@host/db"),
            "postgres://me@host/db"
        );
        assert_eq!(without_password("galera:3"), "galera:3");
        let order = json!({"database": "redis://:secret@h:1", "workload": "bank"});
        assert!(
            !RunOrder::of(&order, 60.0)
                .unwrap()
                .title()
                .contains("secret")
        );
    }
}
