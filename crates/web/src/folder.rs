//! The directory that is served, and the promise that nothing leads out of it.

use std::path::{Component, Path, PathBuf};

/// A directory, by its true path.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

/// Where the page keeps what it was given and what it found out.
pub(crate) const OWN: &str = ".isolde";

impl Folder {
    /// The directory at a path.
    pub fn open(path: &Path) -> std::io::Result<Folder> {
        let root = path.canonicalize()?;
        if !root.is_dir() {
            return Err(std::io::Error::other("not a directory"));
        }
        Ok(Folder { root })
    }

    /// The true path of the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The true path behind a name relative to the directory. It exists and lies within.
    pub fn find(&self, name: &str) -> Result<PathBuf, String> {
        let relative = plain(name)?;
        let found = self
            .root
            .join(relative)
            .canonicalize()
            .map_err(|_| format!("{name}: there is no such file"))?;
        // Links may lead anywhere; only what they lead to counts.
        if !found.starts_with(&self.root) || found == self.root {
            return Err(format!("{name}: outside of the directory"));
        }
        Ok(found)
    }

    /// The true path of a file that is at a path, if it lies within. A file of a directory may be a link, too.
    pub fn file(&self, path: &Path) -> Option<PathBuf> {
        let found = path.canonicalize().ok()?;
        (found.starts_with(&self.root) && found.is_file()).then_some(found)
    }

    /// Whether something new under this name would lie within: the name is free, or no link that leads out.
    pub fn keeps(&self, name: &str) -> bool {
        let path = self.root.join(name);
        match path.canonicalize() {
            Ok(found) => found.starts_with(&self.root),
            // A link that leads nowhere yet may lead anywhere later.
            Err(_) => path.symlink_metadata().is_err(),
        }
    }

    /// A directory of the page's own within, made if it is missing.
    pub fn own(&self, name: &str) -> std::io::Result<PathBuf> {
        if !self.keeps(OWN) {
            return Err(std::io::Error::other("leads out of the directory"));
        }
        let path = self.root.join(OWN).join(name);
        std::fs::create_dir_all(&path)?;
        let found = path.canonicalize()?;
        if !found.starts_with(&self.root) {
            return Err(std::io::Error::other("leads out of the directory"));
        }
        Ok(found)
    }

    /// The name of a path within, as [`Folder::find`] takes it.
    pub fn name(&self, path: &Path) -> Option<String> {
        let relative = path.strip_prefix(&self.root).ok()?;
        relative.to_str().map(str::to_string)
    }
}

/// A name that only goes down.
fn plain(name: &str) -> Result<&Path, String> {
    let path = Path::new(name);
    let goes_down = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_plain = !name.is_empty()
        && !name.contains(['\0', '\\'])
        && name.len() <= 4096
        && path.components().all(goes_down);
    match is_plain {
        true => Ok(path),
        false => Err("a name must lead down from the directory".to_string()),
    }
}

/// A name made of somebody's words that is good for a file: never hidden, never long.
pub(crate) fn file_name(words: &str) -> String {
    let last = words.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |letter: char| {
        if letter.is_ascii_alphanumeric() || "-_.".contains(letter) {
            letter
        } else {
            '-'
        }
    };
    let name: String = last.chars().map(safe).collect();
    let name = name.trim_start_matches(['.', '-']);
    // The end of a name tells the format, so that is what is kept of a long one.
    let start = name.len().saturating_sub(100);
    match name[start..].trim_start_matches(['.', '-']) {
        "" => "history".to_string(),
        kept => kept.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_only_go_down() {
        for name in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../x",
            "./../x",
            "a\0b",
            "a\\..\\b",
            ".",
        ] {
            assert!(plain(name).is_err(), "{name:?}");
        }
        assert!(plain("a/b.jsonl").is_ok());
        assert!(plain("a/./b").is_ok());
    }

    #[test]
    fn uploads_get_harmless_names() {
        assert_eq!(file_name("../../etc/passwd"), "passwd");
        assert_eq!(file_name(".bashrc"), "bashrc");
        assert_eq!(file_name("-rf"), "rf");
        assert_eq!(file_name("a b<script>.jsonl"), "a-b-script-.jsonl");
        assert_eq!(file_name("…"), "history");
        assert!(file_name(&format!("{}.edn", "x".repeat(500))).ends_with(".edn"));
        assert_eq!(file_name(""), "history");
        assert_eq!(file_name(&format!("a{}", "-".repeat(200))), "history");
    }
}
