//! Our part of the process that runs an application, compiled with it.

/// Our sources, all of the package `isolde.replay`.
pub(super) const OWN: &[(&str, &str)] = &[
    ("Beans.java", include_str!("Beans.java")),
    ("Connections.java", include_str!("Connections.java")),
    ("Entry.java", include_str!("Entry.java")),
    ("Maker.java", include_str!("Maker.java")),
    ("Replayer.java", include_str!("Replayer.java")),
    ("StandIn.java", include_str!("StandIn.java")),
    ("Values.java", include_str!("Values.java")),
];

/// Drivers that applications load by name, though the server that they are played on has another.
pub(super) const STAND_INS: &[&str] = &[
    "com.github.adejanovski.cassandra.jdbc.CassandraDriver",
    "com.ibm.db2.jcc.DB2Driver",
    "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "com.mysql.cj.jdbc.Driver",
    "com.mysql.jdbc.Driver",
    "net.sourceforge.jtds.jdbc.Driver",
    "oracle.jdbc.OracleDriver",
    "oracle.jdbc.driver.OracleDriver",
    "org.apache.derby.jdbc.ClientDriver",
    "org.apache.derby.jdbc.EmbeddedDriver",
    "org.h2.Driver",
    "org.hsqldb.jdbc.JDBCDriver",
    "org.mariadb.jdbc.Driver",
    "org.postgresql.Driver",
    "org.sqlite.JDBC",
];

/// The source of a class of that name that stands in for a driver.
pub(super) fn stand_in(name: &str) -> String {
    let (package, class) = name.rsplit_once('.').unwrap_or(("", name));
    format!("package {package};\n\npublic class {class} extends isolde.replay.StandIn {{}}\n")
}
