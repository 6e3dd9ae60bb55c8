//! One replica at request level: its queue, and what it works on. Two kinds of servers: dynamic batching
//! (a batch at a time, as Triton) and continuous batching (a token a step, as vLLM).

use std::collections::VecDeque;

use autoscaler_core::capacity::tokens::{Engine, Shape};
use serde::Deserialize;

/// How a server works.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Server {
    /// Waits for a batch to fill, up to a time, and then works on nothing else.
    Batching {
        /// Requests in a batch at most.
        most: u32,
        /// Seconds that the oldest request waits for others at most.
        wait: f64,
        /// Seconds of a batch without requests.
        fixed: f64,
        /// Seconds on top for each request.
        each: f64,
    },
    /// Takes new requests between two steps.
    Continuous {
        /// What steps and prefills take.
        engine: Engine,
        /// Tokens of a request in the mean.
        shape: Shape,
        /// Deviation of the logarithm of the tokens: 0 is all the same.
        spread: f64,
    },
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// When it arrived, in seconds.
    pub arrived: f64,
    /// Tokens of its prompt; 0 with dynamic batching.
    pub prompt: f64,
    /// Tokens still to come.
    pub left: u32,
    /// When its first token came; the arrival until then.
    pub first: f64,
}

/// What a replica does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Its step or batch ends then.
    Ends(f64),
    /// Nothing else comes: it begins with what waits then.
    Begins(f64),
    /// It has nothing to do.
    Idle,
}

/// The work of one replica.
#[derive(Clone, Debug, Default)]
pub struct Work {
    waiting: VecDeque<Request>,
    running: Vec<Request>,
    busy: bool,
    /// Seconds in which it worked.
    pub worked: f64,
}

impl Work {
    /// Requests inside.
    pub fn inside(&self) -> usize {
        self.waiting.len() + self.running.len()
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Requests in work.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Takes a request in.
    pub fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// Takes out everything, when the replica is lost.
    pub fn drain(&mut self) -> impl Iterator<Item = Request> + '_ {
        self.busy = false;
        self.running.drain(..).chain(self.waiting.drain(..))
    }

    /// Begins what can begin at `now`; nothing while it is busy.
    pub fn begin(&mut self, server: &Server, now: f64) -> Next {
        if self.busy {
            return Next::Idle;
        }
        let seconds = match server {
            Server::Batching { most, wait, .. } => {
                let Some(oldest) = self.waiting.front() else {
                    return Next::Idle;
                };
                let due = oldest.arrived + wait;
                if self.waiting.len() < *most as usize && due > now {
                    return Next::Begins(due);
                }
                let count = self.waiting.len().min(*most as usize);
                self.running.extend(self.waiting.drain(..count));
                server.batch(count)
            }
            Server::Continuous { engine, .. } => self.step(engine),
        };
        if self.running.is_empty() {
            return Next::Idle;
        }
        self.busy = true;
        self.worked += seconds;
        Next::Ends(now + seconds)
    }

    /// A step: one waiting request is prefilled at most, so that the running ones go on, then a token of each.
    fn step(&mut self, engine: &Engine) -> f64 {
        let room = self.running.len() < engine.most_sequences as usize;
        let mut seconds = 0.0;
        if room && let Some(request) = self.waiting.pop_front() {
            seconds += engine.prefill(request.prompt);
            self.running.push(request);
        }
        let context: f64 = self.running.iter().map(|request| request.prompt).sum();
        let count = self.running.len() as f64;
        seconds + engine.step(count, if count > 0.0 { context / count } else { 0.0 })
    }

    /// Ends the step or batch at `now`; the requests that are answered.
    pub fn end(&mut self, server: &Server, now: f64, answered: &mut Vec<Request>) {
        self.busy = false;
        if matches!(server, Server::Batching { .. }) {
            answered.append(&mut self.running);
            return;
        }
        self.running.retain_mut(|request| {
            if request.first <= request.arrived {
                request.first = now;
            }
            // A prompt grows by each token that is answered.
            request.prompt += 1.0;
            request.left = request.left.saturating_sub(1);
            if request.left == 0 {
                answered.push(*request);
            }
            request.left > 0
        });
    }
}

impl Server {
    /// Whether its numbers can be.
    pub fn sound(&self) -> bool {
        let least_0 = |value: f64| value.is_finite() && value >= 0.0;
        match self {
            Self::Batching {
                most,
                wait,
                fixed,
                each,
            } => *most > 0 && [*wait, *fixed, *each].into_iter().all(least_0) && fixed + each > 0.0,
            Self::Continuous {
                engine,
                shape,
                spread,
            } => {
                let times = [
                    engine.step_per_sequence,
                    engine.step_per_context_token,
                    engine.prefill_fixed,
                    engine.prefill_per_token,
                    engine.prefill_per_token_pair,
                ];
                times.into_iter().all(least_0)
                    && engine.step_fixed > 0.0
                    && engine.most_sequences > 0
                    && (1.0..1e6).contains(&shape.prompt)
                    && (1.0..1e6).contains(&shape.output)
                    && (0.0..=3.0).contains(spread)
            }
        }
    }

    /// Seconds of a batch.
    fn batch(&self, count: usize) -> f64 {
        match self {
            Self::Batching { fixed, each, .. } => fixed + each * count as f64,
            Self::Continuous { .. } => 0.0,
        }
    }

    /// A request that arrives at `now`, its tokens drawn from `random`.
    pub fn request(&self, now: f64, random: &mut fastrand::Rng) -> Request {
        let (prompt, left) = match self {
            Self::Batching { .. } => (0.0, 1),
            Self::Continuous { shape, spread, .. } => {
                // The mean of a lognormal is exp(μ + σ²/2): taken off, so that the shape is the mean.
                let mut draw = |mean: f64| {
                    let drawn = mean * (spread * normal(random) - spread * spread / 2.0).exp();
                    drawn.round().clamp(1.0, 1e6)
                };
                let (prompt, output) = (draw(shape.prompt), draw(shape.output));
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "between 1 and a million"
                )]
                let left = output as u32;
                (prompt, left)
            }
        };
        Request {
            arrived: now,
            prompt,
            left,
            first: now,
        }
    }
}

/// A normally distributed number, by Box and Muller.
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batching(most: u32, wait: f64) -> Server {
        Server::Batching {
            most,
            wait,
            fixed: 0.01,
            each: 0.002,
        }
    }

    fn at(arrived: f64) -> Request {
        batching(1, 0.0).request(arrived, &mut fastrand::Rng::with_seed(1))
    }

    #[test]
    fn a_batch_waits_for_others_until_it_is_full_or_due() {
        let server = batching(2, 0.005);
        let mut work = Work::default();
        work.push(at(1.0));
        assert_eq!(work.begin(&server, 1.0), Next::Begins(1.005));
        work.push(at(1.002));
        let Next::Ends(end) = work.begin(&server, 1.002) else {
            unreachable!("two are a full batch")
        };
        assert!((end - 1.016).abs() < 1e-9);
        work.push(at(1.003));
        assert_eq!(work.begin(&server, 1.003), Next::Idle, "it is busy");
        let mut answered = Vec::new();
        work.end(&server, end, &mut answered);
        assert_eq!((answered.len(), work.inside()), (2, 1));
        assert!((work.worked - 0.014).abs() < 1e-9);
    }

    #[test]
    fn a_continuous_engine_answers_a_token_a_step() {
        let engine = Engine {
            step_fixed: 0.01,
            step_per_sequence: 0.0,
            step_per_context_token: 0.0,
            prefill_fixed: 0.1,
            prefill_per_token: 0.0,
            prefill_per_token_pair: 0.0,
            most_sequences: 8,
        };
        let shape = Shape {
            prompt: 10.0,
            output: 3.0,
        };
        let server = Server::Continuous {
            engine,
            shape,
            spread: 0.0,
        };
        let mut work = Work::default();
        work.push(server.request(0.0, &mut fastrand::Rng::with_seed(1)));
        let (mut now, mut answered, mut steps) = (0.0, Vec::new(), 0);
        while let Next::Ends(end) = work.begin(&server, now) {
            now = end;
            work.end(&server, now, &mut answered);
            steps += 1;
        }
        assert_eq!((steps, answered.len()), (3, 1));
        assert!((answered[0].first - 0.11).abs() < 1e-9 && (now - 0.13).abs() < 1e-9);
    }

    #[test]
    fn tokens_are_spread_around_their_mean() {
        let shape = Shape {
            prompt: 500.0,
            output: 200.0,
        };
        let engine = serde_json::from_str(
            r#"{"stepFixed":1,"stepPerSequence":0,"stepPerContextToken":0,"prefillFixed":0,"prefillPerToken":0,"prefillPerTokenPair":0,"mostSequences":1}"#,
        );
        let server = Server::Continuous {
            engine: engine.unwrap(),
            shape,
            spread: 0.8,
        };
        let mut random = fastrand::Rng::with_seed(3);
        let mean = (0..20_000)
            .map(|_| server.request(0.0, &mut random).prompt)
            .sum::<f64>()
            / 20_000.0;
        assert!((mean / 500.0 - 1.0).abs() < 0.03, "{mean}");
    }
}
