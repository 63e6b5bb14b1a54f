//! Compressed files, known by their first bytes.

use super::{FormatError, Place};
use std::io::Read;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The content of a gzip (of one member or several) or zstd file; `None` if it is neither.
pub fn decompress(bytes: &[u8]) -> Result<Option<Vec<u8>>, FormatError> {
    let mut content = Vec::new();
    if bytes.starts_with(GZIP) {
        flate2::bufread::MultiGzDecoder::new(bytes)
            .read_to_end(&mut content)
            .map_err(|error| broken("gzip", &error))?;
    } else if bytes.starts_with(ZSTD) {
        zstd::stream::read::Decoder::with_buffer(bytes)
            .and_then(|mut decoder| decoder.read_to_end(&mut content))
            .map_err(|error| broken("zstd", &error))?;
    } else {
        return Ok(None);
    }
    Ok(Some(content))
}

/// Whether these are the first bytes of a compressed file.
pub(super) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(GZIP) || bytes.starts_with(ZSTD)
}

fn broken(kind: &str, error: &std::io::Error) -> FormatError {
    let cut_off = error.kind() == std::io::ErrorKind::UnexpectedEof
        || error.to_string().contains("incomplete frame");
    if cut_off {
        return FormatError::new(Place::Whole, format!("the {kind} file is cut off"))
            .hint("copy it again, or unpack what is left of it yourself and check that");
    }
    FormatError::new(Place::Whole, format!("the {kind} file is damaged: {error}"))
        .hint("copy it again, or unpack it with another program to see whether that can")
}
