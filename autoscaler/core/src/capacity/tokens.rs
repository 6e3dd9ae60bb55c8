//! What an engine with continuous batching does at a load of prompts and outputs: prefill and decode told
//! apart, in tokens. For planning where no history is; where there is some, [`super::curve`] knows better.
//!
//! A decode step of `B` sequences takes `fixed + B·(per_sequence + per_context_token·context)`, a prefill
//! stops all of them for its time. At `x` requests/s, prefills of `p` seconds and outputs of `n` tokens the
//! time per token is `t = step(x·n·t) / (1 − x·p)`, hence `t = fixed / (1 − x·p − k·x·n)`: the same line in
//! `1/t` that the curve learns.

use serde::{Deserialize, Serialize};

/// Seconds of the two kinds of work of one engine. Coefficients of the kind: `profiles/aiconfigurator`
/// fits of measured kernels, or an owner's own benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Engine {
    /// A decode step without sequences: reading the weights.
    pub step_fixed: f64,
    /// On top for each sequence in the step.
    pub step_per_sequence: f64,
    /// On top for each sequence and token of its context: reading the cache.
    pub step_per_context_token: f64,
    /// A prefill of nothing.
    pub prefill_fixed: f64,
    /// On top for each token of the prompt.
    pub prefill_per_token: f64,
    /// On top for each pair of tokens of the prompt: attention.
    pub prefill_per_token_pair: f64,
    /// Sequences that run at once, at most.
    pub most_sequences: u32,
}

/// What a request asks for, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Tokens of the prompt.
    pub prompt: f64,
    /// Tokens of the output, at least 1.
    pub output: f64,
}

/// Mean latencies, in seconds, with what runs meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// Until the first token of the output.
    pub first_token: f64,
    /// Between two tokens of the output.
    pub per_token: f64,
    /// Sequences in a step.
    pub running: f64,
}

impl Latencies {
    /// Seconds of a whole request.
    pub fn whole(&self, shape: Shape) -> f64 {
        self.first_token + self.per_token * (shape.output - 1.0).max(0.0)
    }
}

impl Engine {
    /// Seconds of one prompt alone.
    pub fn prefill(&self, prompt: f64) -> f64 {
        self.prefill_fixed
            + self.prefill_per_token * prompt
            + self.prefill_per_token_pair * prompt * prompt
    }

    /// Seconds of one decode step of `sequences` with `context` tokens each.
    pub fn step(&self, sequences: f64, context: f64) -> f64 {
        self.step_fixed + sequences * self.per_sequence(context)
    }

    fn per_sequence(&self, context: f64) -> f64 {
        self.step_per_sequence + self.step_per_context_token * context
    }

    /// Latencies at `rate` requests per second of this shape; `None` when the engine cannot keep up.
    pub fn at_rate(&self, rate: f64, shape: Shape) -> Option<Latencies> {
        let prefill = self.prefill(shape.prompt);
        let context = shape.prompt + shape.output / 2.0;
        let busy = rate * prefill;
        let left = 1.0 - busy - self.per_sequence(context) * rate * shape.output;
        if !(rate >= 0.0 && left > 1e-9) {
            return None;
        }
        let per_token = self.step_fixed / left;
        let running = rate * shape.output * per_token;
        if running > f64::from(self.most_sequences) {
            return None;
        }
        // A prompt waits for the step under way and, as in an M/D/1 queue, for the prompts before it.
        let waits = self.step(running, context) / 2.0 + busy * prefill / (2.0 * (1.0 - busy));
        Some(Latencies {
            first_token: prefill + waits,
            per_token,
            running,
        })
    }

    /// Latencies with `clients` that each send the next request when the last is answered.
    pub fn at_concurrency(&self, clients: f64, shape: Shape) -> Option<Latencies> {
        let inside = |rate: f64| {
            let found = self.at_rate(rate, shape);
            found.map(|latencies| rate * latencies.whole(shape))
        };
        let rate = highest(|rate| inside(rate).is_some_and(|inside| inside <= clients));
        self.at_rate(rate, shape)
    }

    /// Requests per second at which the mean time to the first token and the mean time per token are
    /// within these objectives, in seconds; 0 when not even one request meets them.
    pub fn capacity(&self, shape: Shape, first_token: f64, per_token: f64) -> f64 {
        highest(|rate| {
            self.at_rate(rate, shape)
                .is_some_and(|seen| seen.first_token <= first_token && seen.per_token <= per_token)
        })
    }
}

/// The highest rate that `holds`, for what holds up to some rate and not beyond; 0 when none does.
fn highest(holds: impl Fn(f64) -> bool) -> f64 {
    let mut high = 1e-3;
    while high < 1e6 && holds(high) {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama-3.1-8B in bfloat16 on one H100, fitted to measured kernels.
    const ENGINE: Engine = Engine {
        step_fixed: 6.36e-3,
        step_per_sequence: 1.15e-5,
        step_per_context_token: 4.2e-8,
        prefill_fixed: 2e-3,
        prefill_per_token: 2.4e-5,
        prefill_per_token_pair: 5e-10,
        most_sequences: 256,
    };
    const CHAT: Shape = Shape {
        prompt: 1000.0,
        output: 300.0,
    };

    #[test]
    fn alone_a_request_takes_its_prefill_and_its_steps() {
        let alone = ENGINE.at_rate(1e-9, CHAT).unwrap();
        assert!((alone.per_token - 6.36e-3).abs() < 1e-6);
        assert!(alone.first_token > ENGINE.prefill(1000.0));
        assert!(alone.running < 1e-6);
    }

    #[test]
    fn both_objectives_bound_the_capacity() {
        let by_token = ENGINE.capacity(CHAT, 10.0, 0.02);
        let both = ENGINE.capacity(CHAT, 0.038, 0.02);
        assert!(0.0 < both && both < by_token, "{both} {by_token}");
        let at = ENGINE.at_rate(by_token, CHAT).unwrap();
        assert!((at.per_token - 0.02).abs() < 1e-4, "{at:?}");
        assert!(
            ENGINE.capacity(CHAT, 1e-4, 1.0) < 1e-3,
            "no prefill is that short"
        );
    }

    #[test]
    fn longer_prompts_and_outputs_leave_less() {
        let more = |prompt, output| ENGINE.capacity(Shape { prompt, output }, 10.0, 0.02);
        assert!(more(1000.0, 300.0) > more(2000.0, 300.0));
        assert!(more(1000.0, 300.0) > more(1000.0, 600.0));
    }

    #[test]
    fn a_closed_loop_holds_its_clients() {
        for clients in [1.0, 16.0, 64.0] {
            let seen = ENGINE.at_concurrency(clients, CHAT).unwrap();
            let rate = clients / seen.whole(CHAT);
            let again = ENGINE.at_rate(rate, CHAT).unwrap();
            assert!((again.per_token / seen.per_token - 1.0).abs() < 1e-3);
        }
    }
}
