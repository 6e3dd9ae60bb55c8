//! One service as a fluid: requests arrive at a rate, Ready replicas serve at theirs, the rest waits.
//! A replica takes its start-up time to become Ready and costs GPU time from the moment it is asked for.

/// What the model's replicas are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Requests per second that one Ready replica serves.
    pub capacity: f64,
    /// Seconds from creation to Ready.
    pub startup: f64,
    /// Seconds that a request may wait; one that waits longer is late.
    pub patience: f64,
}

/// What came of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Requests that arrived.
    pub arrived: f64,
    /// Requests that were served.
    pub served: f64,
    /// Requests that had to wait longer than the model's patience.
    pub late: f64,
    /// Seconds of GPUs held, start-up included; one GPU a replica.
    pub gpu_seconds: f64,
    /// Changes of replicas.
    pub changes: u32,
}

impl Score {
    /// Hours of GPUs held.
    pub fn gpu_hours(&self) -> f64 {
        self.gpu_seconds / 3600.0
    }

    /// Late requests among those that arrived; 0 before the first.
    pub fn late_share(&self) -> f64 {
        if self.arrived > 0.0 {
            self.late / self.arrived
        } else {
            0.0
        }
    }
}

/// The replicas and the queue of one service.
#[derive(Clone, Debug)]
pub struct Cluster {
    model: Model,
    /// When each replica becomes Ready, oldest first.
    replicas: Vec<f64>,
    queue: f64,
    score: Score,
}

impl Cluster {
    /// A service with Ready replicas and no queue.
    pub fn new(model: Model, replicas: u32) -> Self {
        Self {
            model,
            replicas: vec![f64::MIN; replicas as usize],
            queue: 0.0,
            score: Score::default(),
        }
    }

    /// Lets `seconds` pass from `now` with `rate` requests per second arriving.
    ///
    /// The queue is taken to grow or shrink evenly within the step; the share of the step in which a
    /// request would wait longer than the patience is the share of its arrivals that are late.
    pub fn step(&mut self, now: f64, seconds: f64, rate: f64) {
        let capacity = f64::from(self.ready(now)) * self.model.capacity;
        let arrivals = rate.max(0.0) * seconds;
        let before = self.queue;
        let served = (before + arrivals).min(capacity * seconds);
        self.queue = (before + arrivals - served).max(0.0);
        let limit = capacity * self.model.patience;
        self.score.arrived += arrivals;
        self.score.served += served;
        self.score.late += arrivals * above(before, self.queue, limit);
        self.score.gpu_seconds += self.replicas.len() as f64 * seconds;
    }

    /// Asks for a number of replicas; new ones start now, the newest go first.
    pub fn scale(&mut self, now: f64, replicas: u32) {
        if replicas as usize != self.replicas.len() {
            self.score.changes += 1;
            self.replicas
                .resize(replicas as usize, now + self.model.startup);
        }
    }

    /// Replicas that were asked for.
    pub fn desired(&self) -> u32 {
        u32::try_from(self.replicas.len()).unwrap_or(u32::MAX)
    }

    /// Replicas that serve at `now`.
    pub fn ready(&self, now: f64) -> u32 {
        let ready = self.replicas.iter().filter(|ready| **ready <= now).count();
        u32::try_from(ready).unwrap_or(u32::MAX)
    }

    /// Requests that wait.
    pub fn queue(&self) -> f64 {
        self.queue
    }

    /// Share of what the Ready replicas could do that a rate asks of them, 0 to 1.
    pub fn utilization(&self, now: f64, rate: f64) -> f64 {
        let capacity = f64::from(self.ready(now)) * self.model.capacity;
        if capacity > 0.0 {
            ((rate + self.queue) / capacity).min(1.0)
        } else {
            0.0
        }
    }

    /// What came of it so far.
    pub fn score(&self) -> Score {
        self.score
    }
}

/// Share of a step in which a value that goes evenly from `from` to `to` is above `limit`.
fn above(from: f64, to: f64, limit: f64) -> f64 {
    match (from > limit, to > limit) {
        (true, true) => 1.0,
        (false, false) => 0.0,
        (true, false) => (from - limit) / (from - to),
        (false, true) => (to - limit) / (to - from),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MODEL: Model = Model {
        capacity: 10.0,
        startup: 120.0,
        patience: 2.0,
    };

    #[test]
    fn a_new_replica_costs_at_once_and_serves_after_its_start_up() {
        let mut cluster = Cluster::new(MODEL, 1);
        cluster.scale(0.0, 3);
        assert_eq!(
            (
                cluster.desired(),
                cluster.ready(119.0),
                cluster.ready(120.0)
            ),
            (3, 1, 3)
        );
        cluster.step(0.0, 60.0, 0.0);
        assert!((cluster.score().gpu_seconds - 180.0).abs() < 1e-9);
    }

    #[test]
    fn requests_are_late_once_the_queue_outgrows_the_patience() {
        let mut cluster = Cluster::new(MODEL, 1);
        // 20 come, 10 are served a second: after 2 s 20 wait, which takes 2 s to work off.
        cluster.step(0.0, 4.0, 20.0);
        assert!(
            (cluster.score().late - 40.0).abs() < 1e-9,
            "{:?}",
            cluster.score()
        );
        assert!((cluster.queue() - 40.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn what_arrives_is_served_or_waits(rates in prop::collection::vec(0.0..500.0, 1..200), start in 0_u32..20) {
            let mut cluster = Cluster::new(MODEL, start);
            for (index, rate) in (0_u32..).zip(&rates) {
                let now = f64::from(index) * 15.0;
                cluster.step(now, 15.0, *rate);
                cluster.scale(now, index % 30);
                let score = cluster.score();
                prop_assert!((score.arrived - score.served - cluster.queue()).abs() < 1e-6);
                prop_assert!(score.late >= -1e-9 && score.late <= score.arrived + 1e-6);
                prop_assert!(cluster.ready(now) <= cluster.desired());
            }
        }

        #[test]
        fn fixed_replicas_cost_their_number_times_the_time(replicas in 1_u32..50, steps in 1_u32..500) {
            let mut cluster = Cluster::new(MODEL, replicas);
            for index in 0..steps {
                cluster.step(f64::from(index) * 15.0, 15.0, 3.0);
            }
            let hours = f64::from(replicas) * f64::from(steps) * 15.0 / 3600.0;
            prop_assert!((cluster.score().gpu_hours() - hours).abs() < 1e-6);
        }
    }
}
