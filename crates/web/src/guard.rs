//! Who may ask: the checks before anything is answered.
//!
//! - The `Host` must be an address or a name under which this server was started. A page elsewhere
//!   that has its own name point here (DNS rebinding) sends its own name, and is refused.
//! - Whatever changes something must come from this page itself: the `Origin` of a POST must be this
//!   server's.
//! - Data is not given to other sites, where the browser says who asks (`Sec-Fetch-Site`).
//! - If there is a token, the page is opened with it in the URL and gets it as a cookie, which
//!   every other request must bring.

use crate::http::{Method, Request, Response};
use std::net::{IpAddr, SocketAddr};

/// Knows who may ask.
pub(crate) struct Guard {
    /// Where the server listens.
    pub address: SocketAddr,
    /// The name that was given for the address, if it was a name.
    pub name: Option<String>,
    /// What a request must know.
    pub token: Option<String>,
}

/// The parameter that opens the page.
const PARAMETER: &str = "token";

impl Guard {
    /// Why a request is refused, if it is.
    pub fn refuse(&self, request: &Request) -> Option<Response> {
        let host = request.header("host").unwrap_or_default();
        if !self.is_ours(host) {
            return Some(Response::refusal(421, "this server has another name"));
        }
        if let Some(site) = request.header("sec-fetch-site")
            && site != "same-origin"
            && site != "none"
            && request.path != "/"
        {
            return Some(Response::refusal(403, "another site asks"));
        }
        let origin = request.header("origin");
        let own = format!("http://{host}");
        let is_own = origin.is_some_and(|origin| origin.eq_ignore_ascii_case(&own));
        if (request.method == Method::Post || origin.is_some()) && !is_own {
            return Some(Response::refusal(403, "another origin asks"));
        }
        if !self.is_known(request) {
            let reason = "open the page by the URL that 'isolde serve' printed: it has the token";
            return Some(Response::refusal(403, reason));
        }
        None
    }

    /// Adds the cookie to the answer to whoever opened the page with the token.
    pub fn welcome(&self, request: &Request, response: &mut Response) {
        if let Some(token) = &self.token
            && request.path == "/"
            && request.query.get(PARAMETER).is_some()
        {
            let cookie = format!(
                "{}={token}; Path=/; HttpOnly; SameSite=Strict",
                self.cookie()
            );
            response.headers.push(("Set-Cookie", cookie));
        }
    }

    /// Cookies do not tell ports apart, so the name does.
    fn cookie(&self) -> String {
        format!("isolde-{}", self.address.port())
    }

    fn is_known(&self, request: &Request) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let given = match request.query.get(PARAMETER) {
            Some(given) if request.path == "/" => Some(given),
            _ => request.cookie(&self.cookie()),
        };
        given.is_some_and(|given| is_same(given, token))
    }

    /// Whether a `Host` is this server.
    fn is_ours(&self, host: &str) -> bool {
        let port = self.address.port();
        let (name, given_port) = split(host);
        if given_port.unwrap_or(80) != port {
            return false;
        }
        let is_name = self
            .name
            .as_deref()
            .is_some_and(|own| own.eq_ignore_ascii_case(name));
        if is_name || name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let Ok(ip) = bare.unwrap_or(name).parse::<IpAddr>() else {
            return false;
        };
        // An address cannot be pointed elsewhere, so any is good that leads here.
        let own = self.address.ip();
        ip == own || own.is_unspecified() || (own.is_loopback() && ip.is_loopback())
    }
}

/// A host as a name and a port.
fn split(host: &str) -> (&str, Option<u16>) {
    let after_bracket = host.rfind(']').map_or(0, |at| at + 1);
    match host[after_bracket..].rfind(':') {
        None => (host, None),
        Some(at) => {
            let at = after_bracket + at;
            // A port that is no number matches none.
            (&host[..at], Some(host[at + 1..].parse().unwrap_or(0)))
        }
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn is_same(given: &str, token: &str) -> bool {
    let (given, token) = (given.as_bytes(), token.as_bytes());
    let mut difference = given.len() ^ token.len();
    for (place, byte) in token.iter().enumerate() {
        let other = given.get(place).copied().unwrap_or(0);
        difference |= usize::from(byte ^ other);
    }
    std::hint::black_box(difference) == 0
}

/// A token nobody can guess: 128 bits from the system, as hexadecimal digits.
pub fn draw_token() -> std::io::Result<String> {
    use std::io::Read;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str, name: Option<&str>) -> Guard {
        Guard {
            address: address.parse().unwrap(),
            name: name.map(str::to_string),
            token: None,
        }
    }

    #[test]
    fn a_host_must_be_this_server() {
        let here = guard("127.0.0.1:8080", None);
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST:8080",
            "[::1]:8080",
        ] {
            assert!(here.is_ours(host), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:8080",
            "127.0.0.1.evil.example:8080",
            "localhost:8080:8080",
            "[::1:8080",
            "localhost.:8080",
            "192.0.2.1:8080",
        ] {
            assert!(!here.is_ours(host), "{host}");
        }
        let everywhere = guard("0.0.0.0:80", Some("lab"));
        assert!(everywhere.is_ours("192.0.2.1"));
        assert!(everywhere.is_ours("lab"));
        assert!(!everywhere.is_ours("evil.example"));
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("abc", "abc"));
        for other in ["", "ab", "abcd", "abd", "Abc"] {
            assert!(!is_same(other, "abc"), "{other}");
        }
        assert_ne!(draw_token().unwrap(), draw_token().unwrap());
    }
}
