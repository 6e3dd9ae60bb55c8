//! The file as a value: boards and faults. It is parsed strictly, so that a test's typing error cannot pass for a
//! healthy board; nothing here answers a call.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::board::{Board, Instance, MODELS};

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

impl World {
    /// Reads the file named by the environment.
    pub(crate) fn read() -> Result<Self, String> {
        let path = std::env::var("FORESAIL_TEST_NVML")
            .map_err(|_| "FORESAIL_TEST_NVML names no file".to_owned())?;
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        Self::parse(&text).map_err(|e| format!("{path}: {e}"))
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
        let board = self.boards.get_mut(&gpu)?;
        match words {
            ["set", name, value] => {
                board
                    .readings
                    .insert((*name).to_owned(), value.parse().ok()?);
            }
            ["unset", name] => drop(board.readings.remove(*name)?),
            ["mig", "on"] => board.mig = Some(true),
            ["xid", xid] => board.xids.push(xid.parse().ok()?),
            ["instance", profile, "id", id, "start", start, "used", used] => {
                let mut profiles = board.model.profiles.iter();
                board.instances.push(Instance {
                    profile: profiles.find(|p| p.name == *profile)?,
                    id: id.parse().ok()?,
                    start: start.parse().ok()?,
                    used_mib: used.parse().ok()?,
                });
            }
            ["fault", call, effect @ ..] => self.fault(Some(gpu), call, effect)?,
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
