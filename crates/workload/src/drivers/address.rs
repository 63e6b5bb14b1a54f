//! The parts of a URL such as `postgres://user:password@host:port/database?name=value`, with their escapes
//! undone. What goes wrong is told without quoting the URL's authority, which may hold a password.

use super::without_password;
use crate::driver::Error;

/// Where a server is, and who we are to it. It has no `Debug`, so that no password is printed.
#[derive(Clone)]
pub struct Address {
    /// The URL without its password, for messages.
    pub shown: String,
    /// Who we are.
    pub user: Option<String>,
    /// How we prove it.
    pub password: Option<String>,
    /// A name, an IP address without brackets, or a folder of sockets.
    pub host: Option<String>,
    /// Where it listens.
    pub port: Option<u16>,
    /// What the path names.
    pub database: Option<String>,
    /// Names and values after the question mark, in order.
    pub parameters: Vec<(String, String)>,
}

impl Address {
    /// Reads a URL with `://`.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let shown = without_password(url);
        let wrong = |what: &str| Error::hopeless(format!("{shown}: {what}"));
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("a URL has :// after its scheme"));
        };
        if rest.contains('#') {
            return Err(wrong("a # must be written %23"));
        }
        let authority_len = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(authority_len);
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let plain = |text: &str| decode(text).ok_or_else(|| wrong(BAD_ESCAPE));
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            Some((user, password)) => (plain(user)?, plain(password)?),
            None => (String::new(), String::new()),
        };
        let (host, port) = split_port(place).ok_or_else(|| wrong(BAD_PLACE))?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parameters = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            parameters.push((plain(name)?, plain(value)?));
        }
        let host = plain(host)?;
        if host.contains(',') {
            return Err(wrong(&format!(
                "one URL names one node: give several URLs, {scheme}://… {scheme}://…"
            )));
        }
        let database = plain(path.strip_prefix('/').unwrap_or(path))?;
        Ok(Address {
            shown,
            user: some(user),
            password: some(password),
            host: some(host),
            port,
            database: some(database),
            parameters,
        })
    }

    /// `host:port`, to connect to.
    pub fn place(&self, port: u16) -> Result<String, Error> {
        let port = self.port.unwrap_or(port);
        match self.host.as_deref() {
            None => Err(self.hopeless("which host?")),
            Some(ipv6) if ipv6.contains(':') => Ok(format!("[{ipv6}]:{port}")),
            Some(host) => Ok(format!("{host}:{port}")),
        }
    }

    /// An error about this node that ends the run.
    pub fn hopeless(&self, what: impl std::fmt::Display) -> Error {
        Error::hopeless(format!("{}: {what}", self.shown))
    }
}

const BAD_ESCAPE: &str = "a % must be followed by two hexadecimal digits (a % itself is %25)";
const BAD_PLACE: &str = "after the host comes a port, a number up to 65535; \
    a password with / ? # or % needs them written %2F %3F %23 %25";

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Splits `host:port`; a host with colons, which is an IPv6 address, is in brackets.
fn split_port(place: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            match port {
                "" => (host, ""),
                _ => (host, port.strip_prefix(':')?),
            }
        }
        None => place.split_once(':').unwrap_or((place, "")),
    };
    match port {
        "" => Some((host, None)),
        _ => Some((host, Some(port.parse().ok()?))),
    }
}

/// Undoes `%41`.
fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Address {
        Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[test]
    fn a_url_has_parts() {
        let full = read("postgres://me:p%40ss%2Fw@db.example:6000/some%20base?a=b%26c&d");
        assert_eq!(full.user.as_deref(), Some("me"));
        assert_eq!(full.password.as_deref(), Some("p@ss/w"));
        assert_eq!(full.host.as_deref(), Some("db.example"));
        assert_eq!(full.port, Some(6000));
        assert_eq!(full.database.as_deref(), Some("some base"));
        let parameters = [("a", "b&c"), ("d", "")].map(|(n, v)| (n.to_string(), v.to_string()));
        assert_eq!(full.parameters, parameters);
        assert!(!full.shown.contains("p%40ss"));
    }

    #[test]
    fn parts_may_be_missing() {
        for url in ["mysql://", "mysql:///", "mysql://@", "mysql://:@/"] {
            let bare = read(url);
            assert!(bare.user.is_none() && bare.password.is_none(), "{url}");
            assert!(bare.host.is_none() && bare.port.is_none(), "{url}");
            assert!(bare.database.is_none(), "{url}");
        }
        assert_eq!(read("postgres://me@h").user.as_deref(), Some("me"));
        assert_eq!(read("postgres://h?a=1").host.as_deref(), Some("h"));
        assert_eq!(read("postgres://a:b@c@h/").password.as_deref(), Some("b@c"));
    }

    #[test]
    fn an_ipv6_host_is_in_brackets() {
        let with_port = read("postgres://me@[::1]:5433/db");
        assert_eq!(with_port.host.as_deref(), Some("::1"));
        assert_eq!(with_port.port, Some(5433));
        assert_eq!(
            read("postgres://[fe80::2]").host.as_deref(),
            Some("fe80::2")
        );
    }

    #[test]
    fn a_bad_url_is_told_without_its_password() {
        for url in [
            "postgres://me:hush/x@h/db",
            "postgres://me:hush?x@h/db",
            "postgres://me:hush#x@h/db",
            "postgres://me:hush%zz@h/db",
            "postgres://me:hush@h:port/db",
            "postgres://me:hush@h:70000/db",
            "postgres://me:hush@[::1/db",
            "postgres://me:hush@[::1]5432/db",
            "postgres://me:hush@h1,h2/db",
            "postgres://me:hush@%ff/db",
        ] {
            let error = Address::parse(url).err().unwrap_or_else(|| panic!("{url}"));
            assert!(!error.message.contains("hush"), "{url}: {error}");
        }
    }
}
