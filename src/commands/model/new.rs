//! `isolde model new NAME`: a small protocol that compiles, runs and has a bug to find.

use crate::exit::{Exit, Failure};
use crate::model_args::NewArgs;
use crate::output;
use std::path::{Path, PathBuf};

/// The protocol to begin with; it is also an example of this package, so it compiles.
const STARTING_POINT: &str = include_str!("../../../examples/starting_point.rs");

/// Writes the project.
pub fn run(args: &NewArgs) -> Result<Exit, Failure> {
    let folder = Path::new(&args.name);
    let name = package_name(folder)
        .ok_or_else(|| Failure(format!("'{}' does not name a directory", args.name)))?;
    if folder.exists() {
        return Err(Failure::with(&args.name, "is there already"));
    }
    let isolde = match &args.isolde {
        Some(path) => path.clone(),
        None => env!("CARGO_MANIFEST_DIR").to_string(),
    };
    let sources = absolute(Path::new(&isolde))?;
    if !sources.join("Cargo.toml").exists() {
        return Err(Failure(format!(
            "{}: no sources of Isolde are there\n  hint: say where they are with --isolde PATH",
            sources.display()
        )));
    }
    let io = |error: std::io::Error| Failure::with(&args.name, error);
    std::fs::create_dir_all(folder.join("src")).map_err(io)?;
    std::fs::write(folder.join("Cargo.toml"), manifest(&name, &sources)).map_err(io)?;
    std::fs::write(folder.join(".gitignore"), "/target\n").map_err(io)?;
    std::fs::write(folder.join("src/main.rs"), STARTING_POINT).map_err(io)?;
    // The versions that Isolde was built with are known to be there and to work.
    let lock = sources.join("Cargo.lock");
    if lock.exists() {
        std::fs::copy(lock, folder.join("Cargo.lock")).map_err(io)?;
    }
    output::print(&format!(
        "{0}/src/main.rs has a small protocol, with a bug. To see it:\n\n    cd {0}\n    cargo run \
         --release\n\ndocs/protocols.md explains every line, and how to go on.\n",
        args.name
    ))?;
    Ok(Exit::Holds)
}

/// A name that cargo accepts for the package.
fn package_name(folder: &Path) -> Option<String> {
    let name = folder.file_name()?.to_str()?;
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '_' => letter,
            _ => '-',
        })
        .collect();
    Some(
        match plain.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            true => plain,
            false => format!("protocol-{plain}"),
        },
    )
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::with(&path.display().to_string(), error))
}

fn manifest(name: &str, sources: &Path) -> String {
    // A path in a string of TOML: a backslash and a quote have to be escaped.
    let path = sources.display().to_string();
    let path = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         isolde = {{ path = \"{path}\" }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\n\
         # Not part of any workspace around it.\n[workspace]\n"
    )
}
