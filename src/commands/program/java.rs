//! The application whose own Java code is played.

use super::sources::Text;
use crate::exit::Failure;
use crate::program_args::JavaArgs;
use program::Program;
use program::replay::JavaApplication;
use std::path::{Path, PathBuf};

/// The application, if its own code is asked for. The sources of a test directory are compiled from
/// there: `kept` is that directory.
pub fn application(
    args: &JavaArgs,
    files: &[Text],
    program: &Program,
    kept: Option<&str>,
) -> Result<Option<JavaApplication>, Failure> {
    if !args.java {
        return Ok(None);
    }
    let is_java = |name: &str| name.to_ascii_lowercase().ends_with(".java");
    let mut sources: Vec<PathBuf> = Vec::new();
    for file in files.iter().filter(|file| is_java(&file.name)) {
        sources.push(PathBuf::from(&file.name));
    }
    if let Some(directory) = kept {
        let missing = sources.iter().find(|path| !path.exists());
        if let Some(path) = missing {
            return Err(Failure(format!(
                "{directory}: the source {} is not there any more",
                path.display()
            )));
        }
    }
    if sources.is_empty() {
        return Err(Failure(
            "--java plays Java code, and there is no .java file among the sources".to_string(),
        ));
    }
    let has_entry = |path: &&PathBuf| {
        let mut transactions = program.transactions.iter();
        transactions.any(|one| Path::new(&*one.place.file) == path.as_path())
    };
    let entries = sources.iter().filter(has_entry).cloned().collect();
    let class_path = args.class_path.iter().flat_map(std::env::split_paths);
    Ok(Some(JavaApplication {
        entries,
        sources,
        class_path: class_path.collect(),
        home: std::env::var_os("JAVA_HOME").map(PathBuf::from),
    }))
}
