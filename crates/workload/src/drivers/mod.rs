//! The databases that can be driven, one file each, chosen by the scheme of a URL.

mod cells;
mod external;
mod redis;
mod sqlite;
mod wire;

use crate::driver::{Database, Error, Settings};

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
        "exec" => external::open(urls, settings),
        "redis" => redis::open(urls, settings),
        "sqlite" => sqlite::open(urls, settings),
        _ => Err(Error::hopeless(format!(
            "{}: no driver for '{scheme}'; known are {}",
            without_password(first),
            SCHEMES.join(", ")
        ))),
    }
}

/// The schemes of URLs.
pub const SCHEMES: &[&str] = &["sqlite:PATH", "redis://HOST:PORT", "exec:COMMAND ARGS…"];

/// What stands before the first colon.
fn scheme(url: &str) -> &str {
    url.split(':').next().unwrap_or_default()
}

/// `host:port` of what names a host and perhaps a port; an IPv6 address stands in brackets.
fn wire_address(place: &str, port: u16) -> Option<String> {
    let (host, named) = match place.rsplit_once(':') {
        Some((host, named)) if !named.contains(']') => (host, Some(named)),
        _ => (place, None),
    };
    let port = match named {
        Some(named) => named.parse().ok()?,
        None => port,
    };
    (!host.is_empty()).then(|| format!("{host}:{port}"))
}

/// The URL without what stands between a colon and the last `@` of its authority, and without the value
/// of a `password` parameter.
pub fn without_password(url: &str) -> String {
    let (authority_start, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.len() + 3, rest),
        None => return url.to_string(),
    };
    let authority_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password may hold a slash that somebody forgot to escape: the last @ of all ends it.
    let at = rest
        .rfind('@')
        .filter(|&at| at < authority_len || rest[..at].contains(':'));
    let mut plain = url[..authority_start].to_string();
    match at {
        Some(at) => {
            let user = rest[..at].split(':').next().unwrap_or_default();
            plain.push_str(user);
            plain.push_str(&rest[at..]);
        }
        None => plain.push_str(rest),
    }
    hide_parameter(plain)
}

fn hide_parameter(url: String) -> String {
    let Some((before, query)) = url.split_once('?') else {
        return url;
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|part| !part.to_lowercase().starts_with("password"))
        .collect();
    match kept.is_empty() {
        true => before.to_string(),
        false => format!("{before}?{}", kept.join("&")),
    }
}
