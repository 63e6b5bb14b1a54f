//! The Cargo.toml files as text: sections and the names in them.

use super::source::{files, read};
use std::path::PathBuf;

/// A dependency declared somewhere.
pub struct Dependency {
    /// The folder of the package below `crates`, or "" for the root.
    pub package: String,
    /// The section without `target` prefixes: dependencies, dev-dependencies, build-dependencies.
    pub section: String,
    /// The name it is used by.
    pub name: String,
}

/// The manifests of the root and of the crates.
pub fn manifests() -> Vec<(String, PathBuf)> {
    files("toml")
        .into_iter()
        .filter(|path| path.ends_with("Cargo.toml"))
        .filter_map(|path| {
            let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
            match parts[..] {
                ["Cargo.toml"] => Some((String::new(), path)),
                ["crates", name, "Cargo.toml"] => Some((name.to_string(), path)),
                _ => None,
            }
        })
        .collect()
}

/// Every dependency of every package.
pub fn dependencies() -> Vec<Dependency> {
    let mut found = Vec::new();
    for (package, path) in manifests() {
        let mut section = String::new();
        for line in read(&path).lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_end_matches(']').to_string();
                // [dependencies.name] declares one, too.
                if let Some((before, name)) = section.rsplit_once("dependencies.") {
                    found.push(Dependency {
                        package: package.clone(),
                        section: kind(&format!("{before}dependencies")),
                        name: name.to_string(),
                    });
                }
            } else if section.ends_with("dependencies") && !section.starts_with("workspace") {
                let name = line.split(['.', '=', ' ']).next().unwrap_or("");
                if !name.is_empty() && !name.starts_with('#') {
                    found.push(Dependency {
                        package: package.clone(),
                        section: kind(&section),
                        name: name.trim_matches('"').to_string(),
                    });
                }
            }
        }
    }
    found
}

fn kind(section: &str) -> String {
    section.rsplit('.').next().unwrap_or(section).to_string()
}
