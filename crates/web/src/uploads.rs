//! Files that somebody drops on the page: streamed to the page's own corner of the directory, never
//! held in memory, never larger than allowed.

use crate::folder::{Folder, OWN, file_name};
use crate::http::Body;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// How much may be uploaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// As one file.
    pub file_bytes: u64,
    /// By all files together.
    pub total_bytes: u64,
}

/// Why a file was not taken: the status to answer with, and why.
pub(crate) type Refused = (u16, String);

/// Takes a file and returns where it is.
pub(crate) fn take(
    folder: &Folder,
    name: &str,
    body: &mut Body<'_>,
    room: Room,
) -> Result<PathBuf, Refused> {
    if body.is_empty() {
        return Err((400, "the file is empty".to_string()));
    }
    if body.len() > room.file_bytes {
        let limit = room.file_bytes >> 20;
        return Err((413, format!("a file may have at most {limit} MiB here")));
    }
    let failed = |error: std::io::Error| (500, format!("cannot keep the file: {error}"));
    let place = folder.own("uploads").map_err(failed)?;
    if used(&place).saturating_add(body.len()) > room.total_bytes {
        let reason = "the uploads are full; remove some of them first";
        return Err((413, reason.to_string()));
    }
    let (path, mut file) = create(&place, &file_name(name)).map_err(failed)?;
    copy(body, &mut file).map_err(|error| {
        // Half a file is of no use to anybody.
        let _ = std::fs::remove_file(&path);
        (400, format!("the upload ended early: {error}"))
    })?;
    Ok(path)
}

/// Removes an upload; nothing else.
pub(crate) fn remove(folder: &Folder, path: &Path) -> Result<(), String> {
    let uploads = folder.root().join(OWN).join("uploads");
    if path.parent() != Some(&uploads) || !path.is_file() {
        return Err("only uploads can be removed here".to_string());
    }
    std::fs::remove_file(path).map_err(|error| error.to_string())
}

fn used(place: &Path) -> u64 {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| entry.metadata().ok());
    sizes.map(|metadata| metadata.len()).sum()
}

/// A new file: that name, or with a number before it.
fn create(place: &Path, name: &str) -> std::io::Result<(PathBuf, File)> {
    let mut number = 1;
    loop {
        let path = match number {
            1 => place.join(name),
            more => place.join(format!("{more}-{name}")),
        };
        match File::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 10_000 => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn copy(body: &mut Body<'_>, file: &mut File) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 17];
    loop {
        match body.read(&mut buffer)? {
            0 => return file.flush(),
            count => file.write_all(&buffer[..count])?,
        }
    }
}
