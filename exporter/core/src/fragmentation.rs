//! Memory that owners hold and do not use, and MIG slices that position makes useless. Absent when what is held or
//! where it lies is unknown.

pub mod placement;

use crate::device::{Gpu, Partitioning};

/// What the owners of a GPU's memory hold and use, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Installed on the board.
    pub total: u64,
    /// Claimed by owners.
    pub allocated: u64,
    /// Held by their processes.
    pub used: u64,
}

impl Allocation {
    /// (allocated − used) / total, never below 0; `None` for a board without memory.
    pub fn fragmentation(self) -> Option<f64> {
        (self.total > 0)
            .then(|| self.allocated.saturating_sub(self.used) as f64 / self.total as f64)
    }
}

/// What is claimed on `gpu`: the sizes of its MIG instances, or all that is used and free of a whole GPU that
/// containers hold (`held`). `None` when unknown: MIG is off and nobody says who owns the board, or the
/// memory of one instance could not be read.
pub fn allocation(gpu: &Gpu, held: bool) -> Option<Allocation> {
    let memory = gpu.readings.memory.value()?;
    let total = memory.total;
    let instances = match &gpu.partitioning {
        Partitioning::Mig(instances) => instances,
        Partitioning::Whole if held => {
            return Some(Allocation {
                total,
                allocated: memory.used + memory.free,
                used: memory.used,
            });
        }
        Partitioning::Whole | Partitioning::Unknown(_) => return None,
    };
    let mut sum = Allocation {
        total,
        allocated: 0,
        used: 0,
    };
    for instance in instances {
        let memory = instance.memory.value()?;
        sum.allocated += memory.total;
        sum.used += memory.used;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::{Instance, Memory},
        reading::Reading,
    };

    fn memory(total: u64, used: u64) -> Reading<Memory> {
        Reading::Value(Memory {
            total,
            used,
            free: total - used,
            reserved: None,
        })
    }

    fn gpu(instances: Vec<Reading<Memory>>) -> Gpu {
        let mut gpu = Gpu::default();
        gpu.readings.memory = memory(80, 30);
        let instance = |memory| Instance {
            memory,
            ..Instance::default()
        };
        gpu.partitioning = Partitioning::Mig(instances.into_iter().map(instance).collect());
        gpu
    }

    #[test]
    fn instances_are_what_is_allocated() {
        let found = allocation(&gpu(vec![memory(40, 10), memory(20, 20)]), false).unwrap();
        assert_eq!(
            (found.allocated, found.used, found.fragmentation()),
            (60, 30, Some(0.375))
        );
        assert_eq!(
            allocation(&gpu(Vec::new()), true).unwrap().fragmentation(),
            Some(0.0)
        );
    }

    #[test]
    fn unknown_is_absent() {
        assert_eq!(allocation(&Gpu::default(), true), None);
        let one_failed = gpu(vec![
            memory(40, 10),
            Reading::Failed("no permission".into()),
        ]);
        assert_eq!(allocation(&one_failed, false), None);
    }

    #[test]
    fn a_whole_gpu_belongs_to_whom_it_was_given() {
        let mut gpu = gpu(Vec::new());
        gpu.partitioning = Partitioning::Whole;
        assert_eq!(allocation(&gpu, false), None);
        let found = allocation(&gpu, true).unwrap();
        assert_eq!((found.allocated, found.fragmentation()), (80, Some(0.625)));
        gpu.partitioning = Partitioning::Unknown("no permission".into());
        assert_eq!(allocation(&gpu, true), None);
    }

    #[test]
    fn never_below_zero() {
        let over = Allocation {
            total: 80,
            allocated: 10,
            used: 20,
        };
        assert_eq!(over.fragmentation(), Some(0.0));
    }
}
