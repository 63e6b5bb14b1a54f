//! The databases that can be driven, one file each, chosen by the scheme of a URL.

mod address;
mod cells;
#[cfg(feature = "embedded")]
mod embedded;
mod etcd;
mod external;
mod gate;
mod mysql;
mod postgres;
mod redis;
mod sqlite;
mod wire;

use crate::driver::{Database, Error, Settings};
use crate::session::Session;
use std::time::Duration;

/// Opens a database by the URLs of its nodes, which are all of one scheme.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let Some(first) = urls.first() else {
        return Err(Error::hopeless("no database was named"));
    };
    let scheme = scheme(first);
    if let Some(other) = urls.iter().find(|url| self::scheme(url) != scheme) {
        return Err(Error::hopeless(format!(
            "all nodes must be of one kind, but {} is not {scheme}",
            without_password(other)
        )));
    }
    match scheme {
        "etcd" => etcd::open(urls, settings),
        "exec" => external::open(urls, settings),
        #[cfg(feature = "embedded")]
        "redb" | "fjall" => embedded::open(scheme, urls, settings),
        #[cfg(not(feature = "embedded"))]
        "redb" | "fjall" => Err(Error::hopeless(format!(
            "{scheme}: this program was built without it; build it with --features embedded"
        ))),
        "redis" => redis::open(urls, settings),
        "mysql" | "mariadb" => mysql::open(urls, settings),
        "postgres" | "postgresql" => postgres::open(urls, settings),
        "sqlite" => sqlite::open(urls, settings),
        _ => Err(Error::hopeless(format!(
            "{}: no driver for '{scheme}'; known are {}",
            without_password(first),
            SCHEMES.join(", ")
        ))),
    }
}

/// Opens a session for plain SQL on a database server.
pub fn open_session(url: &str, patience: Duration) -> Result<Box<dyn Session>, Error> {
    match scheme(url) {
        "postgres" | "postgresql" => postgres::open_plain(url, patience),
        "mysql" | "mariadb" => mysql::open_plain(url, patience),
        other => Err(Error::hopeless(format!(
            "{}: SQL sessions are for postgres:// and mysql://, not for '{other}'",
            without_password(url)
        ))),
    }
}

/// The URL by which JDBC reaches the same database as the same user. It may hold a password.
pub fn jdbc_url(url: &str) -> Result<String, Error> {
    let address = address::Address::parse(url)?;
    let (scheme, port) = match scheme(url) {
        "postgres" | "postgresql" => ("postgresql", 5432),
        "mysql" | "mariadb" => ("mariadb", 3306),
        _ => return Err(address.hopeless("no JDBC driver is known for it")),
    };
    let database = address.database.as_deref().unwrap_or_default();
    let mut text = format!("jdbc:{scheme}://{}/{database}", address.place(port)?);
    let given = [("user", &address.user), ("password", &address.password)];
    for (at, (name, value)) in given.iter().filter(|one| one.1.is_some()).enumerate() {
        let mark = if at == 0 { '?' } else { '&' };
        let value = escaped(value.as_deref().unwrap_or_default());
        text.push_str(&format!("{mark}{name}={value}"));
    }
    Ok(text)
}

/// Everything but letters and digits as `%41`.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The schemes of URLs.
pub const SCHEMES: &[&str] = &[
    "sqlite:PATH",
    "postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    "mysql://USER:PASSWORD@HOST:PORT/DATABASE",
    "redis://HOST:PORT",
    "etcd://HOST:PORT",
    "redb:PATH",
    "fjall:PATH",
    "exec:COMMAND ARGS…",
];

/// What stands before the first colon.
fn scheme(url: &str) -> &str {
    url.split(':').next().unwrap_or_default()
}

/// The URL without what stands between a colon and the last `@` of its authority, and without the values
/// of parameters that are called like passwords. Rather too much is left out than too little.
pub fn without_password(url: &str) -> String {
    let (start, rest) = match (url.split_once("://"), url.split_once(':')) {
        (Some((scheme, rest)), _) => (scheme.len() + 3, rest),
        // Somebody forgot the slashes.
        (None, Some((scheme, rest))) => (scheme.len() + 1, rest),
        (None, None) => return hide_parameters(url.to_string()),
    };
    let authority_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password may hold a slash that somebody forgot to escape: the last @ of all ends it.
    let at = rest
        .rfind('@')
        .filter(|&at| at < authority_len || rest[..at].contains(':'));
    let mut plain = url[..start].to_string();
    match at {
        Some(at) => {
            let user = rest[..at].split(':').next().unwrap_or_default();
            plain.push_str(user);
            plain.push_str(&rest[at..]);
        }
        None => plain.push_str(rest),
    }
    hide_parameters(plain)
}

fn hide_parameters(url: String) -> String {
    let Some((before, query)) = url.split_once('?') else {
        return url;
    };
    let is_secret = |part: &str| {
        let name = part.split('=').next().unwrap_or_default().to_lowercase();
        name.contains("pass") || name.contains("pwd") || name.contains('%')
    };
    let kept: Vec<&str> = query.split('&').filter(|part| !is_secret(part)).collect();
    match kept.is_empty() {
        true => before.to_string(),
        false => format!("{before}?{}", kept.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (url, shown) in [
            ("sqlite:some/file.db", "sqlite:some/file.db"),
            ("sqlite::memory:", "sqlite::memory:"),
            ("postgres://h/db", "postgres://h/db"),
            ("postgres://me@h:5432/db", "postgres://me@h:5432/db"),
            ("postgres://me:hush@h:5432/db", "postgres://me@h:5432/db"),
            ("postgres://me:@h", "postgres://me@h"),
            ("redis://:hush@h", "redis://@h"),
            (
                "postgres://me:hush@[::1]:5432/db",
                "postgres://me@[::1]:5432/db",
            ),
            ("postgres://me:hu@sh@h/db", "postgres://me@h/db"),
            ("postgres://me:hush/hush@h/db", "postgres://me@h/db"),
            ("postgres://me:hush?hush@h/db", "postgres://me@h/db"),
            ("postgres://me:hush#hush@h/db", "postgres://me@h/db"),
            ("postgres:me:hush@h/db", "postgres:me@h/db"),
            ("postgres://h/db?password=hush", "postgres://h/db"),
            (
                "postgres://h/db?a=1&PASSWORD=hush&b=2",
                "postgres://h/db?a=1&b=2",
            ),
            (
                "mysql://h/db?sslpassword=hush&passwd=hush&pwd=hush",
                "mysql://h/db",
            ),
            ("postgres://h/db?p%61ssword=hush&a=1", "postgres://h/db?a=1"),
            ("", ""),
            ("nothing", "nothing"),
            ("://@", "://@"),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }

    #[test]
    fn jdbc_has_urls_of_its_own() {
        let jdbc = |url: &str| jdbc_url(url).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            jdbc("postgres://me:a%26b@h/db"),
            "jdbc:postgresql://h:5432/db?user=me&password=a%26b"
        );
        assert_eq!(
            jdbc("mysql://root@127.0.0.1:4000/x"),
            "jdbc:mariadb://127.0.0.1:4000/x?user=root"
        );
        assert!(jdbc_url("redis://h").is_err());
    }

    #[test]
    fn a_database_that_is_not_known_is_told_without_its_password() {
        let urls = |urls: &[&str]| -> Vec<String> { urls.iter().map(|u| u.to_string()).collect() };
        for urls in [
            urls(&["oracle://me:hush@h/db"]),
            urls(&["sqlite:a.db", "postgres://me:hush@h/db"]),
            urls(&["POSTGRES://me:hush@h/db"]),
            urls(&[]),
        ] {
            let error = open(&urls, &Settings::default()).err();
            let error = error.unwrap_or_else(|| panic!("{urls:?}"));
            assert_eq!(error.fate, crate::driver::Fate::Hopeless);
            assert!(!error.message.contains("hush"), "{error}");
        }
    }
}
