//! Which minutes of a load the test runs on: its steepest rise and its steepest falls, by the mean of a
//! quarter of an hour so that no single noisy minute decides.

use tests::load::Trace;

/// Minutes on each side of the smoothing.
const HALF: usize = 2;
/// Minutes over which a rise or a fall is measured.
const SPAN: usize = 5;
/// Minutes at the beginning of a trace that are not chosen: the history that the forecast sees would
/// reach over the seam at which a trace repeats.
const BEFORE: usize = 8 * 1440;
/// Minutes that a choice leaves behind it.
const AFTER: usize = 60;

fn smooth(rates: &[f64]) -> Vec<f64> {
    let mean = |index: usize| {
        let window = &rates[index.saturating_sub(HALF)..(index + HALF + 1).min(rates.len())];
        window.iter().sum::<f64>() / window.len() as f64
    };
    (0..rates.len()).map(mean).collect()
}

/// Minutes at which the load changes most within [`SPAN`] minutes, steepest first, an hour apart;
/// rises for a positive `sign`, falls for a negative one.
pub(crate) fn steepest(trace: &Trace, sign: f64, count: usize) -> Vec<usize> {
    let level = smooth(trace.rates());
    // A flash crowd that nothing announces is no test of a forecast.
    let announced = |minute: &usize| {
        trace
            .surprises()
            .iter()
            .all(|begin| begin.abs_diff(*minute) > 90)
    };
    let mut candidates: Vec<usize> = (BEFORE..level.len().saturating_sub(AFTER))
        .filter(announced)
        .collect();
    let change = |index: &usize| sign * (level[*index + SPAN] - level[*index]);
    candidates.sort_by(|left, right| change(right).total_cmp(&change(left)));
    let mut chosen: Vec<usize> = Vec::new();
    for candidate in candidates {
        if chosen.iter().all(|other| other.abs_diff(candidate) > 60) {
            chosen.push(candidate);
        }
        if chosen.len() == count {
            break;
        }
    }
    chosen
}
