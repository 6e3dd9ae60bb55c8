//! What the library is left with, for tests that ask whether everything was given back: open initialisations, event
//! sets and samples, and how many calls ran at one time. Written beside the world, as `WORLD.state`, at each change.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts by name.
static COUNTS: Mutex<BTreeMap<&'static str, i64>> = Mutex::new(BTreeMap::new());

fn counts() -> MutexGuard<'static, BTreeMap<&'static str, i64>> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to a count and writes all of them.
pub(crate) fn change(name: &'static str, by: i64) {
    let mut counts = counts();
    *counts.entry(name).or_default() += by;
    write(&counts);
}

/// Whether the library was initialised and not shut down as often.
pub(crate) fn is_open() -> bool {
    counts().get("open").is_some_and(|open| *open > 0)
}

/// A call while it runs. How many ran at once is written when it becomes more than before.
pub(crate) struct Running;

impl Running {
    pub(crate) fn begin() -> Self {
        let mut counts = counts();
        *counts.entry("calls").or_default() += 1;
        let running = counts.entry("running").or_default();
        *running += 1;
        let running = *running;
        let most = counts.entry("most_at_once").or_default();
        if running > *most {
            *most = running;
            write(&counts);
        }
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *counts().entry("running").or_default() -= 1;
    }
}

fn write(counts: &BTreeMap<&'static str, i64>) {
    let Ok(path) = crate::world::path() else {
        return;
    };
    let mut text = String::new();
    for (name, count) in counts {
        let _ = writeln!(text, "{name} {count}");
    }
    // Renamed into place: a test must not read half a file. Without a writable folder there is nobody to tell.
    let next = format!("{path}.state-next");
    if std::fs::write(&next, text).is_ok() {
        let _ = std::fs::rename(next, format!("{path}.state"));
    }
}
