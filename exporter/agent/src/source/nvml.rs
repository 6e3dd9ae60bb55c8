//! GPUs of this node through NVIDIA's management library, opened at run time. A failing board or call costs its own
//! values only, and an absent or failing library is tried again at the next gather. A call can hang for ever: the board it
//! was made on is left out until it returns, and the others go on. Never waits for the driver without an end.

mod board;

mod caller;

mod engines;

mod partition;

mod processes;

mod rate;

mod search;

mod texts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use exporter_core::device::{Gpu, Identity, Memory, Partitioning, Xids};
use exporter_core::leak::LeakWatch;
use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Error, Library};

use self::board::Board;
use self::caller::{Caller, Late, Missed, Patience};
use super::{Gathered, Source, SourceError};

/// At the end: time to give back what was taken from the library, and to shut it down without that when a call hangs.
const GIVE_BACK: Duration = Duration::from_secs(1);
const SHUT_DOWN: Duration = Duration::from_millis(700);

/// The driver library, opened on the first gather and again after it was lost, and what is remembered of its boards.
pub(crate) struct Nvml {
    path: Option<PathBuf>,
    patience: Patience,
    caller: Caller,
    library: Option<Arc<Library>>,
    /// A look at the library that did not return.
    looking: Option<Late<Answer<Look>>>,
    slots: BTreeMap<u32, Slot>,
    /// Passes in which a board had no measure of its load.
    blind: BTreeMap<String, u32>,
    leaks: LeakWatch,
}

/// A board, or the call that keeps it.
enum Slot {
    Here(Box<Board>),
    Away(Away),
}

/// A board in a call that does not return.
struct Away {
    late: Late<(Box<Board>, Answer<Gpu>)>,
    identity: Option<Identity>,
    xids: Reading<Xids>,
}

/// What concerns no board.
struct Look {
    library: Arc<Library>,
    driver_version: Option<String>,
    nvml_version: Option<String>,
    count: u32,
}

impl Nvml {
    /// `path` names the library's file, or a folder under which it lies; without one it is searched for. A call that
    /// takes longer than `deadline` is taken for one that hangs.
    pub(crate) fn new(path: Option<PathBuf>, deadline: Duration) -> Self {
        Self {
            path,
            patience: Patience {
                deadline,
                leaving: Arc::new(AtomicBool::new(false)),
            },
            caller: Caller::default(),
            library: None,
            looking: None,
            slots: BTreeMap::new(),
            blind: BTreeMap::new(),
            leaks: LeakWatch::default(),
        }
    }

    /// Opens the library where it is not, and counts its boards.
    fn look(&mut self) -> Result<Look, SourceError> {
        let outcome = if let Some(late) = self.looking.take() {
            late.arrived().ok_or(Missed::Late(late))
        } else {
            let (library, path) = (self.library.clone(), self.path.clone());
            self.caller
                .run(&self.patience, move || look(library, path.as_deref()))
        };
        match outcome {
            Ok(Ok(look)) => {
                self.library = Some(Arc::clone(&look.library));
                Ok(look)
            }
            Ok(Err(error)) => Err(self.forget(&line(&error))),
            Err(Missed::Late(late)) => {
                let reason = hung(late.call);
                self.looking = Some(late);
                Err(SourceError::Unreachable(reason))
            }
            Err(Missed::Broken(reason)) => Err(self.forget(&reason)),
        }
    }

    /// Whatever it is, the only cure known is to open the library anew; watches and samples keep it open.
    fn forget(&mut self, reason: &str) -> SourceError {
        self.close();
        SourceError::Unreachable(reason.to_owned())
    }

    /// Fails only when the library as a whole no longer serves this process.
    fn gpu(&mut self, library: &Arc<Library>, index: u32, now: f64) -> Result<Gpu, SourceError> {
        let mut board = match self.slots.remove(&index) {
            None => Box::default(),
            Some(Slot::Here(board)) => board,
            Some(Slot::Away(away)) => {
                let Some((board, _)) = away.late.arrived() else {
                    let lost = away.gpu(index);
                    self.slots.insert(index, Slot::Away(away));
                    return Ok(lost);
                };
                // What it read is old; the board is read anew.
                board
            }
        };
        let (identity, xids) = (board.identity.clone(), board.xids.clone());
        let library = Arc::clone(library);
        let outcome = self.caller.run(&self.patience, move || {
            let gpu = board.read(&library, index, now);
            if gpu.is_err() {
                *board = board.remains();
            }
            (board, gpu)
        });
        match outcome {
            Ok((board, Ok(gpu))) => {
                self.slots.insert(index, Slot::Here(board));
                Ok(gpu)
            }
            Ok((_, Err(error))) if error.needs_reopening() => Err(self.forget(&line(&error))),
            Ok((board, Err(error))) => {
                let lost = lost(
                    index,
                    board.identity.clone(),
                    board.xids.clone(),
                    error.to_string(),
                );
                self.slots.insert(index, Slot::Here(board));
                Ok(lost)
            }
            Err(Missed::Late(late)) => {
                let away = Away {
                    late,
                    identity,
                    xids,
                };
                let lost = away.gpu(index);
                self.slots.insert(index, Slot::Away(away));
                Ok(lost)
            }
            Err(Missed::Broken(reason)) => Ok(lost(index, identity, xids, reason)),
        }
    }

    /// Lets go of the library: first what was taken from it, then the library itself, and the library alone where a call
    /// hangs. Boards in a call that does not return are left to it; they find the library closed.
    fn close(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        self.looking = None;
        let Some(library) = self.library.take() else {
            return;
        };
        let own = Arc::clone(&library);
        let done = self.caller.finish(GIVE_BACK, move || {
            drop(slots);
            own.close();
        });
        if !done {
            let mut other = Caller::default();
            if !other.finish(SHUT_DOWN, move || library.close()) {
                tracing::warn!("the driver library does not shut down; leaving it as it is");
            }
        }
    }

    /// Says once that a board's load is not measured. The first pass alone tells nothing: some measures need two.
    fn tell(&mut self, gpu: &Gpu) {
        let Partitioning::Mig(instances) = &gpu.partitioning else {
            return;
        };
        let readings = &gpu.readings;
        let unknown = |reading: &Reading<f64>| reading.value().is_none();
        if readings.utilization.value().is_some()
            || !unknown(&readings.graphics_engine_active)
            || !instances
                .iter()
                .all(|one| unknown(&one.graphics_engine_active))
        {
            return;
        }
        let passes = self.blind.entry(gpu.identity.uuid.clone()).or_default();
        *passes = passes.saturating_add(1);
        if *passes == 2 {
            tracing::warn!(
                gpu = gpu.identity.index,
                model = gpu.identity.model,
                "while MIG is on the driver measures no utilization of this board: its load is unknown, not zero, unless a dcgm-exporter lends it (--dcgm-exporter-url)"
            );
        }
    }
}

impl Source for Nvml {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn leaving(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.patience.leaving)
    }

    fn gather(&mut self, now: f64) -> Result<Gathered, SourceError> {
        let look = self.look()?;
        // A board that went away and comes back is seen as new. What it held is given back on the thread of the calls.
        let gone = self.slots.split_off(&look.count);
        if !gone.is_empty() {
            let _ = self.caller.run(&self.patience, move || drop(gone));
        }
        let mut gpus = Vec::new();
        for index in 0..look.count {
            if self.patience.leaving.load(Ordering::Relaxed) {
                return Err(SourceError::Unreachable("the exporter ends".into()));
            }
            let gpu = self.gpu(&look.library, index, now)?;
            self.tell(&gpu);
            gpus.push(gpu);
        }
        let leaks = self.leaks.observe(now, &gpus);
        for (gpu, leaks) in gpus.iter_mut().zip(leaks) {
            gpu.leaks = leaks;
        }
        Ok(Gathered {
            driver_version: look.driver_version,
            nvml_version: look.nvml_version,
            incomplete: gpus.iter().find_map(missing),
            gpus,
        })
    }
}

/// Why the library that is named cannot be used now, in one line. Opens and closes it.
pub(crate) fn usable(path: &Path) -> Result<(), String> {
    look(None, Some(path))
        .map(drop)
        .map_err(|error| line(&error))
}

impl Drop for Nvml {
    fn drop(&mut self) {
        self.close();
    }
}

impl Away {
    fn gpu(&self, index: u32) -> Gpu {
        lost(
            index,
            self.identity.clone(),
            self.xids.clone(),
            hung(self.late.call),
        )
    }
}

/// What a board in a call says. No time in it: it is the value of a label.
fn hung(call: &str) -> String {
    match call {
        "" => "the driver library does not load".to_owned(),
        call => format!("{call} does not return"),
    }
}

/// A board that cannot be read; one that was never seen whole has no names but its place.
fn lost(index: u32, identity: Option<Identity>, xids: Reading<Xids>, reason: String) -> Gpu {
    let unnamed = || Identity {
        index,
        minor: index,
        ..Identity::default()
    };
    Gpu {
        identity: identity.unwrap_or_else(unnamed),
        lost: Some(reason),
        xids,
        ..Gpu::default()
    }
}

/// Opens the first library that can be opened and looks how many boards it has.
fn look(library: Option<Arc<Library>>, path: Option<&Path>) -> Answer<Look> {
    let library = match library {
        Some(library) => library,
        None => Arc::new(open(path)?),
    };
    Ok(Look {
        count: library.device_count()?,
        driver_version: library.driver_version().ok(),
        nvml_version: library.nvml_version().ok(),
        library,
    })
}

fn open(path: Option<&Path>) -> Answer<Library> {
    let mut refused = None;
    for file in search::candidates(path) {
        match Library::open(file.as_deref()) {
            Ok(library) => return Ok(library),
            // The first to be there and refuse says more than the later ones that are not there.
            Err(error) if refused.as_ref().is_none_or(is_absent) => refused = Some(error),
            Err(_) => {}
        }
    }
    match refused {
        Some(error) => Err(error),
        None => Library::open(None),
    }
}

fn is_absent(error: &Error) -> bool {
    error.code() == "LIBRARY_NOT_FOUND"
}

/// An error and its cause in one line; the wrapper's errors repeat the causes below them.
fn line(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Why a board's values are not complete. A place that needs privileges is not counted: it is a lasting state.
fn missing(gpu: &Gpu) -> Option<String> {
    let lost = gpu.lost.as_deref();
    let unread = || gpu.readings.failures().into_iter().next();
    let processes = || gpu.processes.failure();
    let why = lost
        .or_else(unread)
        .or_else(processes)
        .or_else(|| match &gpu.partitioning {
            Partitioning::Whole => None,
            Partitioning::Unknown(reason) => Some(reason),
            Partitioning::Mig(instances) => instances.iter().find_map(|instance| {
                let named = instance.profile.failure();
                named.or_else(|| instance.memory.failure())
            }),
        })?;
    Some(format!("gpu {}: {why}", gpu.identity.index))
}

/// An answer as a reading; a board or a driver that is gone ends the pass instead.
fn reading<T>(answer: Answer<T>) -> Result<Reading<T>, Error> {
    match answer {
        Ok(value) => Ok(Reading::Value(value)),
        Err(error) if error.is_lost() || error.needs_reopening() || error.is_given_up() => {
            Err(error)
        }
        Err(error) if error.is_unsupported() => Ok(Reading::Unsupported),
        Err(error) => Ok(Reading::Failed(error.to_string())),
    }
}

fn memory(memory: exporter_nvml::Memory) -> Memory {
    Memory {
        total: memory.total,
        used: memory.used,
        free: memory.free,
        reserved: memory.reserved,
    }
}
