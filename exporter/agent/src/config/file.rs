//! Reads a file of the configuration: a regular one of bounded size, as text. Never waits for a pipe or a device.

use std::{fs::File, io::Read, path::Path};

/// Bytes that a file may have; a real one has a few thousand.
const LARGEST: u64 = 1 << 20;

/// Why a file is not read. Messages follow the file's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// Not there, or not readable.
    #[error("cannot be read")]
    Unreadable(#[source] std::io::Error),
    /// A folder, a device, a pipe.
    #[error("is {0}; name a file")]
    NoFile(&'static str),
    /// Too much.
    #[error("is larger than {} MiB, so it is not a configuration", LARGEST >> 20)]
    TooLarge,
    /// Not text.
    #[error("is not UTF-8 text")]
    NotText,
}

/// The text of `path`, without a byte order mark. Links are followed: a `ConfigMap` is mounted as links.
pub(crate) fn read(path: &Path) -> Result<String, FileError> {
    let about = std::fs::metadata(path).map_err(FileError::Unreadable)?;
    if about.is_dir() {
        return Err(FileError::NoFile("a folder"));
    }
    if !about.is_file() {
        return Err(FileError::NoFile("a device or a pipe"));
    }
    let file = File::open(path).map_err(FileError::Unreadable)?;
    let mut bytes = Vec::new();
    // What the size says is not trusted: a file may grow, and those of /proc say 0.
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(FileError::Unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(FileError::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.into(),
        None => text,
    })
}
