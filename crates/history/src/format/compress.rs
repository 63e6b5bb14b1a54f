//! Compressed files, known by their first bytes.

use super::{FormatError, Place};
use std::io::Read;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A file may unpack to this many times its size, and always to [`CONTENT_FREE`] bytes. Recordings
/// of the most regular kind compress some 50 to 1; files made to fill the memory, 1000 to 1 and more.
const RATIO_MAX: u64 = 256;
const CONTENT_FREE: u64 = 64 << 20;
/// No file may unpack to more.
const CONTENT_MAX: u64 = 64 << 30;

/// The content of a gzip (of one member or several) or zstd file; `None` if it is neither. A file
/// that unpacks to implausibly many bytes is refused, before they are held.
pub fn decompress(bytes: &[u8]) -> Result<Option<Vec<u8>>, FormatError> {
    if bytes.starts_with(GZIP) {
        unpack("gzip", flate2::bufread::MultiGzDecoder::new(bytes), bytes).map(Some)
    } else if bytes.starts_with(ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
        unpack("zstd", decoder.map_err(|e| broken("zstd", &e))?, bytes).map(Some)
    } else {
        Ok(None)
    }
}

/// The first bytes of what a compressed file holds, as far as its own first bytes tell; `None` if it is
/// not compressed.
pub(super) fn unpacked_head(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let limit = length as u64;
    // An error is where the beginning stops; what was unpacked before it is there.
    let _ = if bytes.starts_with(GZIP) {
        let decoder = flate2::bufread::MultiGzDecoder::new(bytes);
        decoder.take(limit).read_to_end(&mut head)
    } else if bytes.starts_with(ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(bytes).ok()?;
        decoder.take(limit).read_to_end(&mut head)
    } else {
        return None;
    };
    Some(head)
}

fn unpack(kind: &str, decoder: impl Read, bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
    let believed = (bytes.len() as u64).saturating_mul(RATIO_MAX);
    let limit = believed.clamp(CONTENT_FREE, CONTENT_MAX);
    let mut content = Vec::new();
    let read = decoder.take(limit + 1).read_to_end(&mut content);
    read.map_err(|error| behind_gzip(bytes).unwrap_or_else(|| broken(kind, &error)))?;
    if content.len() as u64 > limit {
        let size = bytes.len();
        let problem = format!("the {kind} file of {size} bytes unpacks to more than {limit}");
        return Err(FormatError::new(Place::Whole, problem)
            .hint("if that is right, unpack it yourself and check the result"));
    }
    Ok(content)
}

/// The error of a gzip file with something else behind its last whole member; none if that is not what
/// is wrong.
fn behind_gzip(bytes: &[u8]) -> Option<FormatError> {
    if !bytes.starts_with(GZIP) {
        return None;
    }
    let mut rest = bytes;
    while rest.starts_with(GZIP) {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        std::io::copy(&mut member, &mut std::io::sink()).ok()?;
        rest = member.into_inner();
    }
    let at = bytes.len() - rest.len();
    // The first byte of another member may be all that is left of it.
    if rest.is_empty() || GZIP.starts_with(rest) {
        return None;
    }
    let (place, count) = (Place::Byte(at as u64), rest.len());
    let problem = format!("the gzip file ends here, and {count} bytes that are no gzip follow");
    Some(
        FormatError::new(place, problem)
            .hint("cut them off, or unpack the file yourself and check that"),
    )
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
