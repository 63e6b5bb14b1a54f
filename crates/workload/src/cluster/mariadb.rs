//! MariaDB: one server; and what Galera's nodes have in common with it.

use super::place::User;
use super::process::is_root;
use super::programs::{self, Programs};
use super::server::Launch;
use super::{Cluster, Error, Options, Product, READY_TIMEOUT, free_ports, wire};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The socket in the directory of data, by a name that is short enough wherever that is.
const SOCKET: &str = "mariadb.sock";

/// What clients find: a database, and a user without a password from wherever they come.
const WELCOME: &str = "create database if not exists isolde; \
    create or replace user root@'%'; \
    grant all privileges on *.* to root@'%' with grant option";

/// Nothing waits for the disk: a killed server keeps what it wrote to its files.
const SETTINGS: &str = "\
skip-name-resolve
max_connections=1200
max_connect_errors=1000000000
back_log=1200
performance_schema=OFF
innodb_buffer_pool_size=128M
innodb_log_file_size=64M
innodb_flush_log_at_trx_commit=2
innodb_doublewrite=0
innodb_use_native_aio=0
sync_binlog=0
";

/// The programs of MariaDB.
pub(super) struct Installation {
    server: PathBuf,
    install: PathBuf,
    client: PathBuf,
    /// Whom the server becomes, when we are root.
    pub user: Option<User>,
    pub version: String,
}

impl Installation {
    pub fn find(programs: &Programs) -> Result<Installation, Error> {
        const PACKAGE: &str = "mariadb-server";
        let server = programs.need(&["mariadbd", "mysqld"], PACKAGE)?;
        let said = programs::ask(&server, "--version");
        if !said.contains("MariaDB") {
            return Err(Error::missing("the program mariadbd", PACKAGE));
        }
        Ok(Installation {
            server,
            install: programs.need(&["mariadb-install-db", "mysql_install_db"], PACKAGE)?,
            client: programs.need(&["mariadb", "mysql"], "mariadb-client")?,
            user: User::named("mysql").filter(|_| is_root()),
            version: programs::version(&said),
        })
    }

    /// The user is given on the command line: only root can enter a network namespace.
    fn user_argument(&self) -> Option<String> {
        let name = self.user.as_ref().map_or("root", |user| &user.name);
        is_root().then(|| format!("--user={name}"))
    }

    /// How to start the server of a node, with its configuration file in place.
    pub fn server(
        &self,
        cluster: &Cluster,
        node: usize,
        port: u16,
        settings: &str,
    ) -> Result<Launch, Error> {
        let mut launch = cluster.launch(node, self.server.clone(), None)?;
        self.give(&launch.directory)?;
        let file = launch.directory.join("my.cnf");
        let data = launch.directory.join("data");
        let host: IpAddr = cluster.host(node);
        let text = format!(
            "[mysqld]\ndatadir={}\nsocket={SOCKET}\npid-file=mariadb.pid\n\
             bind-address={host}\nport={port}\n{SETTINGS}{settings}",
            data.display()
        );
        fs::write(&file, text)
            .map_err(|error| Error::new(format!("cannot write {}: {error}", file.display())))?;
        launch.argument(format!("--defaults-file={}", file.display()));
        launch.arguments(self.user_argument());
        Ok(launch)
    }

    fn give(&self, path: &Path) -> Result<(), Error> {
        let Some(user) = &self.user else {
            return Ok(());
        };
        std::os::unix::fs::chown(path, Some(user.id), Some(user.group))
            .map_err(|error| Error::new(format!("cannot give {} away: {error}", path.display())))
    }

    /// Makes the directory of data of the first node; where it is.
    pub fn initialize(&self, cluster: &Cluster) -> Result<PathBuf, Error> {
        let mut tool = cluster.launch(0, self.install.clone(), None)?;
        tool.namespace = None;
        self.give(&tool.directory)?;
        let data = tool.directory.join("data");
        tool.arguments([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-name-resolve",
            "--skip-test-db",
            "--innodb-log-file-size=64M",
            "--innodb-doublewrite=0",
            "--innodb-use-native-aio=0",
        ]);
        tool.argument(format!("--datadir={}", data.display()));
        tool.arguments(self.user_argument());
        cluster.run(&tool)?;
        Ok(data)
    }

    /// Asks a node by its socket; the rows, columns by tabs.
    pub fn query(&self, cluster: &Cluster, node: usize, sql: &str) -> Result<String, Error> {
        let server = &cluster.nodes[node].server.launch;
        let mut client = server.clone();
        client.program = self.client.clone();
        client.namespace = None;
        client.log = server.directory.join("client.log");
        client.directory = server.directory.join("data");
        client.arguments.clear();
        client.arguments([
            "--no-defaults",
            "--user=root",
            &format!("--socket={SOCKET}"),
            "--connect-timeout=5",
            "--skip-column-names",
            "--batch",
            "--execute",
            sql,
        ]);
        cluster.run(&client)
    }

    /// Makes the database and the user that clients use.
    pub fn welcome(&self, cluster: &Cluster, node: usize) -> Result<(), Error> {
        self.query(cluster, node, WELCOME).map(|_| ())
    }
}

/// The lines of a configuration file for settings of the user.
pub(super) fn lines(settings: &[(String, String)]) -> String {
    let lines = settings.iter();
    lines
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect()
}

pub(super) fn url(address: SocketAddr) -> String {
    format!("mysql://root@{address}/isolde")
}

pub(super) struct Mariadb {
    installation: Installation,
}

impl Mariadb {
    pub fn find(programs: &Programs) -> Result<Mariadb, Error> {
        let installation = Installation::find(programs)?;
        Ok(Mariadb { installation })
    }
}

impl Product for Mariadb {
    fn raise(&self, cluster: &mut Cluster, options: &Options<'_>) -> Result<(), Error> {
        let name = self.describe(1);
        (options.progress)(&format!("making a database of {name}"));
        self.installation.initialize(cluster)?;
        let port = free_ports(1)?[0];
        let settings = lines(options.settings);
        let launch = self.installation.server(cluster, 0, port, &settings)?;
        cluster.add(launch, port);
        (options.progress)(&format!("starting {name}"));
        cluster.begin(0, &[])?;
        cluster.wait_until_ready(0, READY_TIMEOUT)?;
        self.installation.welcome(cluster, 0)
    }

    fn answers(&self, cluster: &Cluster, node: usize) -> Result<(), String> {
        wire::mariadb_greets(cluster.nodes[node].address)
    }

    fn url(&self, address: SocketAddr) -> String {
        url(address)
    }

    fn describe(&self, _: usize) -> String {
        format!("MariaDB {}", self.installation.version)
    }
}
