//! Where the driver library may lie. The loader's own search comes first; then the places where GPU operators and
//! clouds put the driver. Nothing here loads a file.

use std::path::{Path, PathBuf};

/// Name of the library's file.
const FILE: &str = "libnvidia-ml.so.1";

/// The host itself, the GPU operator's driver container, and Google's nodes.
const ROOTS: [&str; 3] = ["/", "/run/nvidia/driver", "/home/kubernetes/bin/nvidia"];

/// Folders below a root.
const FOLDERS: [&str; 6] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/nvidia/lib64",
    "lib64",
];

/// What to load, the first first: a file that was named; the first file below a folder that was named; else `None`, the
/// loader's own search, and every file that lies at a usual place.
pub(super) fn candidates(named: Option<&Path>) -> Vec<Option<PathBuf>> {
    match named {
        Some(root) if root.is_dir() => {
            let file = below(root).next();
            // The name to complain about, when there is none.
            vec![Some(file.unwrap_or_else(|| root.join(FILE)))]
        }
        Some(file) => vec![Some(file.to_owned())],
        None => {
            let usual = ROOTS.iter().flat_map(|root| below(Path::new(root)));
            std::iter::once(None).chain(usual.map(Some)).collect()
        }
    }
}

fn below(root: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let files = FOLDERS.iter().map(|folder| root.join(folder).join(FILE));
    std::iter::once(root.join(FILE))
        .chain(files)
        .filter(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_root_is_searched_and_a_named_file_is_taken_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let missing = root.path().join(FILE);
        assert_eq!(candidates(Some(root.path())), [Some(missing)]);
        let folder = root.path().join("usr/lib64");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILE), "").unwrap();
        assert_eq!(candidates(Some(root.path())), [Some(folder.join(FILE))]);
        let absent = Path::new("/nonexistent/libnvidia-ml.so.1");
        assert_eq!(candidates(Some(absent)), [Some(absent.to_owned())]);
    }

    #[test]
    fn the_loader_is_asked_first() {
        assert_eq!(candidates(None).first(), Some(&None));
    }
}
