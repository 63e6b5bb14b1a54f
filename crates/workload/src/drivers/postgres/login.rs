//! Where a PostgreSQL server is and how to log in to it: by a password in clear, MD5 or SCRAM-SHA-256.

use super::fate::{Phase, Report};
use super::wire::{Channel, Unsent, Wire, garbage, put_text, take_i32, take_text, told};
use crate::driver::{Error, Fate};
use crate::drivers::address::Address;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A server, a database on it, and a user of it.
#[derive(Clone)]
pub struct Login {
    /// The URL without its password.
    pub shown: String,
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
    database: String,
    /// Settings of the session that the server is told at the start.
    settings: Vec<(String, String)>,
}

impl Login {
    /// Reads a URL, as far as libpq's parameters mean something here.
    pub fn parse(url: &str) -> Result<Login, Error> {
        let mut address = Address::parse(url)?;
        let mut settings = Vec::new();
        let mut application = "isolde".to_string();
        for (name, value) in std::mem::take(&mut address.parameters) {
            match name.as_str() {
                "host" => address.host = Some(value),
                "port" => {
                    let port = value.parse();
                    address.port = Some(port.map_err(|_| address.hopeless("port is a number"))?);
                }
                "user" => address.user = Some(value),
                "password" => address.password = Some(value),
                "dbname" => address.database = Some(value),
                "options" => settings.push((name, value)),
                "application_name" => application = value,
                "sslmode" if ["disable", "allow", "prefer"].contains(&value.as_str()) => {}
                "sslmode" => {
                    return Err(address.hopeless("Isolde does not speak TLS yet: sslmode=disable"));
                }
                _ => return Err(address.hopeless(format!("unknown parameter '{name}'"))),
            }
        }
        settings.push(("application_name".to_string(), application));
        settings.push(("client_encoding".to_string(), "UTF8".to_string()));
        let user = address.user.unwrap_or_else(|| "postgres".to_string());
        Ok(Login {
            shown: address.shown,
            host: address.host.unwrap_or_else(|| "localhost".to_string()),
            port: address.port.unwrap_or(5432),
            database: address.database.unwrap_or_else(|| user.clone()),
            user,
            password: address.password,
            settings,
        })
    }

    /// Connects, sends the login, and proves who we are. What the server says after that is still to
    /// be received.
    pub fn connect(&self, patience: Duration) -> Result<Wire, Error> {
        let lost = |error: io::Error| self.lost(error, patience);
        let mut wire = Wire::new(self.channel(patience).map_err(lost)?);
        wire.put_plain(|out| {
            // Version 3.0.
            out.extend_from_slice(&[0, 3, 0, 0]);
            put_text(out, "user");
            put_text(out, &self.user);
            put_text(out, "database");
            put_text(out, &self.database);
            for (name, value) in &self.settings {
                put_text(out, name);
                put_text(out, value);
            }
            out.push(0);
        });
        self.prove(&mut wire, patience)?;
        Ok(wire)
    }

    fn channel(&self, patience: Duration) -> io::Result<Box<dyn Channel>> {
        if self.host.starts_with('/') {
            return socket_file(&format!("{}/.s.PGSQL.{}", self.host, self.port), patience);
        }
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, patience) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(patience))?;
                    stream.set_write_timeout(Some(patience))?;
                    return Ok(Box::new(stream));
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn lost(&self, error: io::Error, patience: Duration) -> Error {
        let message = format!("{}: {}", self.shown, told(&error, patience));
        Error::new(Fate::Lost, message)
    }

    fn prove(&self, wire: &mut Wire, patience: Duration) -> Result<(), Error> {
        let lost = |error: io::Error| self.lost(error, patience);
        let hopeless = |what: String| Error::hopeless(format!("{}: {what}", self.shown));
        let mut scram: Option<ScramSha256> = None;
        loop {
            wire.send().map_err(|Unsent { error, .. }| lost(error))?;
            let (letter, mut body) = wire.receive().map_err(lost)?;
            match letter {
                b'R' => {}
                b'E' => {
                    let mut error = Report::parse(body).error(Phase::Connect);
                    error.message = format!("{}: {}", self.shown, error.message);
                    return Err(error);
                }
                // A notice.
                b'N' => continue,
                _ => return Err(lost(garbage("an unexpected message"))),
            }
            match (take_i32(&mut body).map_err(lost)?, &mut scram) {
                (0, _) => return Ok(()),
                (3, _) => {
                    let password = self.secret()?;
                    wire.put(b'p', |out| put_text(out, password));
                }
                (5, _) => {
                    let salt = body.try_into();
                    let salt = salt.map_err(|_| lost(garbage("a salt that is too short")))?;
                    let hash = md5_hash(self.user.as_bytes(), self.secret()?.as_bytes(), salt);
                    wire.put(b'p', |out| put_text(out, &hash));
                }
                (10, None) => scram = Some(self.begin_scram(wire)?),
                (11, Some(scram)) => {
                    scram.update(body).map_err(|e| hopeless(e.to_string()))?;
                    wire.put(b'p', |out| out.extend_from_slice(scram.message()));
                }
                (12, Some(scram)) => scram.finish(body).map_err(|e| hopeless(e.to_string()))?,
                (way, _) => {
                    return Err(hopeless(format!(
                        "the server asks for a login of kind {way}; Isolde knows passwords \
                         (scram-sha-256, md5, password) and trust"
                    )));
                }
            }
        }
    }

    fn begin_scram(&self, wire: &mut Wire) -> Result<ScramSha256, Error> {
        let scram = ScramSha256::new(self.secret()?.as_bytes(), ChannelBinding::unsupported());
        wire.put(b'p', |out| {
            put_text(out, SCRAM_SHA_256);
            out.extend_from_slice(&(scram.message().len() as u32).to_be_bytes());
            out.extend_from_slice(scram.message());
        });
        Ok(scram)
    }

    fn secret(&self) -> Result<&str, Error> {
        self.password.as_deref().ok_or_else(|| {
            Error::hopeless(format!(
                "{}: the server wants a password: postgres://USER:PASSWORD@HOST/DATABASE",
                self.shown
            ))
        })
    }
}

#[cfg(unix)]
fn socket_file(path: &str, patience: Duration) -> io::Result<Box<dyn Channel>> {
    let stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(Box::new(stream))
}

#[cfg(not(unix))]
fn socket_file(_path: &str, _patience: Duration) -> io::Result<Box<dyn Channel>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Name and value of a ParameterStatus message.
pub fn parameter(mut body: &[u8]) -> io::Result<(&[u8], &[u8])> {
    Ok((take_text(&mut body)?, take_text(&mut body)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Login {
        Login::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[test]
    fn what_a_url_leaves_out_is_as_usual() {
        let login = read("postgres://h");
        assert_eq!((login.host.as_str(), login.port), ("h", 5432));
        assert_eq!(
            (login.user.as_str(), login.database.as_str()),
            ("postgres", "postgres")
        );
        assert_eq!(read("postgres://me@h").database, "me");
        assert_eq!(read("postgresql:///db").host, "localhost");
    }

    #[test]
    fn parameters_take_the_place_of_parts() {
        let login = read(
            "postgres:///db?host=/var/run&port=6000&user=me&password=p%26q&dbname=x&sslmode=prefer",
        );
        assert_eq!((login.host.as_str(), login.port), ("/var/run", 6000));
        assert_eq!((login.user.as_str(), login.database.as_str()), ("me", "x"));
        assert_eq!(login.password.as_deref(), Some("p&q"));
        assert!(!login.shown.contains("p%26q"));
        assert_eq!(read("postgres://%2Fvar%2Frun/db").host, "/var/run");
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (url, word) in [
            ("postgres://h/db?sslmode=require", "TLS"),
            ("postgres://h/db?sslmode=verify-full", "TLS"),
            (
                "postgres://h/db?target_session_attrs=primary",
                "target_session_attrs",
            ),
            ("postgres://h/db?port=x", "port"),
        ] {
            let error = Login::parse(url).err().unwrap_or_else(|| panic!("{url}"));
            assert_eq!(error.fate, Fate::Hopeless);
            assert!(error.message.contains(word), "{error}");
        }
    }
}
