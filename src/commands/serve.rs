//! `isolde serve`: the local page.

use crate::args::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::interrupt;
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use history::format::Loaded;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use web::{Config, Server, Tell};

/// Serves until it is interrupted.
pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::with("isolde", error))?;
    let (address, name) = address(&args.listen)?;
    let token = match args.token {
        true => {
            let drawn = web::draw_token();
            Some(drawn.map_err(|error| Failure::with("/dev/urandom", error))?)
        }
        false => None,
    };
    let config = Config {
        directory: PathBuf::from(&args.directory),
        program,
        address,
        name,
        token,
        load: Arc::new(load),
        version: env!("CARGO_PKG_VERSION").to_string(),
        limits: web::Limits::default(),
    };
    interrupt::listen();
    let server = Server::start(config).map_err(Failure)?;
    output::print_plain(&format!("{}\n", server.url()))?;
    if !address.ip().is_loopback() {
        output::note(
            "whoever has this URL can read the directory, check histories and start runs; what is \
             sent is not encrypted",
        );
    }
    output::note(&format!(
        "serving {} until Ctrl-C",
        if args.directory == "." {
            "this directory"
        } else {
            &args.directory
        }
    ));
    while !interrupt::pressed() {
        std::thread::sleep(Duration::from_millis(100));
    }
    // Ends what the page started.
    drop(server);
    Ok(Exit::Holds)
}

/// Where to listen: an address, or a name and a port.
fn address(text: &str) -> Result<(SocketAddr, Option<String>), Failure> {
    if let Ok(address) = text.parse() {
        return Ok((address, None));
    }
    let expected = || Failure::with("--listen", "expected an address such as 127.0.0.1:8080");
    let (name, _) = text.rsplit_once(':').ok_or_else(expected)?;
    let mut found = text.to_socket_addrs().map_err(|_| expected())?;
    let address = found.next().ok_or_else(expected)?;
    Ok((address, Some(name.to_string())))
}

/// Reads a history as `check` does: mapped, of any format.
fn load(path: &Path, tell: Tell) -> Result<Loaded, String> {
    let name = path.to_str().ok_or("the name of the file is no text")?;
    let limits = Limits::new(None, None);
    input::load(name, None, &limits, &Progress::told(tell)).map_err(|error| match error {
        LoadError::Failure(failure) => failure.0,
        LoadError::Limit(limit) => limit,
    })
}
