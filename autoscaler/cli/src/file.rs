//! Files of the command line: read whole up to a limit, written only when all is known. A device that
//! never ends is refused; a pipe is fine.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use anyhow::{Context as _, bail};

/// The text of a file of at most `most` bytes, without a byte order mark.
pub(crate) fn read(path: &Path, most: u64) -> anyhow::Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let kind = file
        .metadata()
        .with_context(|| format!("cannot read {name}"))?;
    if kind.is_dir() {
        bail!("cannot read {name}: it is a folder, a file is needed");
    }
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > most {
        bail!("{name} is larger than {} MiB, more is not read", most >> 20);
    }
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name} is not UTF-8 text"))?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Whether `output` can be written later, as far as that can be known before the work: its folder is
/// there, and it is none of the `inputs`, which it would destroy.
pub(crate) fn writable(flag: &str, output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    let name = output.display();
    if output.is_dir() {
        bail!("{flag}: {name} is a folder, the name of a file is needed");
    }
    let folder = output.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        bail!("{flag}: the folder {} is not there", folder.display());
    }
    let Ok(own) = fs::canonicalize(output) else {
        return Ok(());
    };
    // What is no file, as /dev/null, may be named twice.
    let same =
        |input: &&&Path| own.is_file() && fs::canonicalize(input).is_ok_and(|path| path == own);
    if inputs.iter().find(same).is_some() {
        bail!("{flag}: {name} is an input as well and would be lost; name another file");
    }
    Ok(())
}

/// Writes the whole file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused_and_a_mark_is_passed_over() {
        let error = read(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/dev/zero is larger than 1 MiB, more is not read"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marked.csv");
        fs::write(&path, "\u{feff}timestamp,value\n").unwrap();
        assert_eq!(read(&path, 100).unwrap(), "timestamp,value\n");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        let error = read(&path, 100).unwrap_err().to_string();
        assert!(error.contains("is not UTF-8 text"), "{error}");
        let error = read(folder.path(), 100).unwrap_err().to_string();
        assert!(error.contains("is a folder"), "{error}");
    }

    #[test]
    fn an_input_is_never_an_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.csv");
        fs::write(&path, "x").unwrap();
        let other = folder.path().join("./load.csv");
        let error = writable("--output", &other, &[&path])
            .unwrap_err()
            .to_string();
        assert!(error.contains("is an input as well"), "{error}");
        assert!(
            writable(
                "--output",
                Path::new("/dev/null"),
                &[Path::new("/dev/null")]
            )
            .is_ok()
        );
        let absent = folder.path().join("no/such.csv");
        assert!(writable("--output", &absent, &[&path]).is_err());
    }
}
