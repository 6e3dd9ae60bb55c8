//! The file as a value: boards and faults. It is parsed strictly, so that a test's typing error cannot pass for a
//! healthy board; nothing here answers a call.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::board::{Board, Compute, Instance, MODELS, Process, multiprocessors};
use crate::workload;

/// All that the file says.
pub(crate) struct World {
    pub(crate) driver: String,
    pub(crate) boards: BTreeMap<u32, Board>,
    faults: Vec<Fault>,
}

/// What goes wrong where.
struct Fault {
    /// `None`: calls that concern no board.
    gpu: Option<u32>,
    /// A function's name, `field:N`, or `*`.
    call: String,
    effect: Effect,
}

/// How it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Return(u32),
    Delay(Duration),
    Hang,
}

/// Which file, and in which state: a test replaces it by renaming.
type Stamp = (u64, i64, i64, u64);

/// The file as last parsed.
static LAST: Mutex<Option<(Stamp, Arc<World>)>> = Mutex::new(None);

/// Where the world lies.
pub(crate) fn path() -> Result<String, String> {
    let path = std::env::var("FORESAIL_TEST_NVML");
    path.map_err(|_| "FORESAIL_TEST_NVML names no file".to_owned())
}

impl World {
    /// Reads the file named by the environment, unless it is the one read last.
    pub(crate) fn read() -> Result<Arc<Self>, String> {
        let path = path()?;
        let about = std::fs::metadata(&path).map_err(|e| format!("{path}: {e}"))?;
        let stamp = (about.ino(), about.mtime(), about.mtime_nsec(), about.len());
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, world)) = last.as_ref().filter(|(of, _)| *of == stamp) {
            return Ok(Arc::clone(world));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let world = Arc::new(Self::parse(&text).map_err(|e| format!("{path}: {e}"))?);
        *last = Some((stamp, Arc::clone(&world)));
        Ok(world)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut world = Self {
            driver: "590.48.01".to_owned(),
            boards: BTreeMap::new(),
            faults: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            world
                .statement(&words)
                .ok_or_else(|| format!("line {}: not understood: {line}", number + 1))?;
        }
        Ok(world)
    }

    fn statement(&mut self, words: &[&str]) -> Option<()> {
        match words {
            [] => {}
            ["driver", version] => (*version).clone_into(&mut self.driver),
            ["fault", call, effect @ ..] => self.fault(None, call, effect)?,
            ["gpu", gpu, rest @ ..] => self.about_board(gpu.parse().ok()?, rest)?,
            _ => return None,
        }
        Some(())
    }

    fn about_board(&mut self, gpu: u32, words: &[&str]) -> Option<()> {
        if let ["board", key] = words {
            let model = MODELS.iter().find(|m| m.key == *key)?;
            self.boards.insert(gpu, Board::new(model));
            return Some(());
        }
        if let ["fault", call, effect @ ..] = words {
            return self.fault(Some(gpu), call, effect);
        }
        let board = self.boards.get_mut(&gpu)?;
        match words {
            ["set", name, value] => {
                board
                    .readings
                    .insert((*name).to_owned(), value.parse().ok()?);
            }
            ["unset", name] => drop(board.readings.remove(*name)?),
            ["uuid", uuid] => board.uuid = Some((*uuid).to_owned()),
            ["mig", "on"] => board.mig = Some(true),
            ["xid", xid] => board.xids.push(xid.parse().ok()?),
            ["workload", cause, "seed", seed] => {
                workload::apply(board, cause, seed.parse().ok()?)?;
            }
            ["instance", rest @ ..] => instance(board, rest)?,
            ["compute", rest @ ..] => compute(board, rest)?,
            ["process", rest @ ..] => board.processes.push(process(rest)?),
            _ => return None,
        }
        Some(())
    }

    fn fault(&mut self, gpu: Option<u32>, call: &str, effect: &[&str]) -> Option<()> {
        let effect = match effect {
            ["return", code] => Effect::Return(code.parse().ok()?),
            ["delay", milliseconds] => {
                Effect::Delay(Duration::from_millis(milliseconds.parse().ok()?))
            }
            ["hang"] => Effect::Hang,
            _ => return None,
        };
        self.faults.push(Fault {
            gpu,
            call: call.to_owned(),
            effect,
        });
        Some(())
    }

    /// The faults that meet a call, in the file's order.
    pub(crate) fn faults<'a>(
        &'a self,
        call: &'a str,
        gpu: Option<u32>,
    ) -> impl Iterator<Item = Effect> + 'a {
        self.faults
            .iter()
            .filter(move |f| f.gpu == gpu && (f.call == call || f.call == "*"))
            .map(|f| f.effect)
    }
}

/// `PROFILE id ID start START used MIB`, and `bare` for one without compute instances.
fn instance(board: &mut Board, words: &[&str]) -> Option<()> {
    let (words, bare) = match words {
        [words @ .., "bare"] => (words, true),
        words => (words, false),
    };
    let [profile, "id", id, "start", start, "used", used] = words else {
        return None;
    };
    let profile = board.model.profiles().iter().find(|p| p.name == *profile)?;
    let whole = Compute {
        id: 0,
        slices: profile.slices,
        multiprocessors: multiprocessors(profile),
    };
    board.place(Instance {
        profile,
        id: id.parse().ok()?,
        start: start.parse().ok()?,
        used_mib: used.parse().ok()?,
        compute: if bare { Vec::new() } else { vec![whole] },
    })
}

/// `ID in INSTANCE slices SLICES multiprocessors COUNT`: a compute instance in a bare one.
fn compute(board: &mut Board, words: &[&str]) -> Option<()> {
    let [
        id,
        "in",
        instance,
        "slices",
        slices,
        "multiprocessors",
        count,
    ] = words
    else {
        return None;
    };
    let instance: u32 = instance.parse().ok()?;
    let instance = board.instances.iter_mut().find(|i| i.id == instance)?;
    let compute = Compute {
        id: id.parse().ok()?,
        slices: slices.parse().ok()?,
        multiprocessors: count.parse().ok()?,
    };
    let taken: u32 = instance.compute.iter().map(|c| c.slices).sum();
    let free = taken + compute.slices <= instance.profile.slices;
    let known = instance.compute.iter().any(|c| c.id == compute.id);
    (free && !known).then(|| instance.compute.push(compute))
}

/// `PID compute|graphics|mps used MIB|na`, then `in INSTANCE` and `busy SM MEMORY` where they hold.
fn process(words: &[&str]) -> Option<Process> {
    let [
        pid,
        list @ ("compute" | "graphics" | "mps"),
        "used",
        used,
        rest @ ..,
    ] = words
    else {
        return None;
    };
    let used_mib = match *used {
        "na" => None,
        used => Some(used.parse().ok()?),
    };
    let (gpu_instance, rest) = match rest {
        ["in", id, rest @ ..] => (Some(id.parse().ok()?), rest),
        rest => (None, rest),
    };
    let busy = match rest {
        [] => None,
        ["busy", sm, memory] => Some((sm.parse().ok()?, memory.parse().ok()?)),
        _ => return None,
    };
    Some(Process {
        pid: pid.parse().ok()?,
        list: (*list).to_owned(),
        used_mib,
        gpu_instance,
        busy,
    })
}
