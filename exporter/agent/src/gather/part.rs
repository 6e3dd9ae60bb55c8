//! What one source brought last, and how it fared. What is too old counts as nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use exporter_core::snapshot::SourceStatus;

/// What the last gather of one source brought.
#[derive(Clone, Debug)]
pub(crate) struct Part<T> {
    pub(super) status: SourceStatus,
    pub(super) brought: Option<Arc<T>>,
    /// Unix seconds and process clock of its end; `None` before the first.
    pub(super) ended: Option<(f64, Instant)>,
    /// Whether it is not spoken of before it first worked.
    quiet: bool,
}

impl<T> Part<T> {
    pub(super) fn new(name: &str, target: Option<String>) -> Self {
        let status = SourceStatus {
            name: name.into(),
            target,
            ..SourceStatus::default()
        };
        Self {
            status,
            brought: None,
            ended: None,
            quiet: false,
        }
    }

    /// One that may be no source at all: it is not spoken of before it first worked.
    pub(super) fn guessed(name: &str, target: Option<String>) -> Self {
        Self {
            quiet: true,
            ..Self::new(name, target)
        }
    }

    /// Whether it is to be shown.
    pub(super) fn spoken_of(&self) -> bool {
        !self.quiet || self.status.last_success.is_some()
    }

    /// Takes the end of a gather; a failure replaces what an earlier one brought.
    pub(super) fn take(
        &mut self,
        started: Instant,
        up: bool,
        brought: Option<T>,
        reason: Option<String>,
    ) {
        let now = unix_now();
        let silent = !self.spoken_of();
        let status = &mut self.status;
        if reason != status.reason && !silent {
            report(&status.name, status.target.as_deref(), reason.as_deref());
        }
        status.up = up;
        status.success = reason.is_none();
        status.duration = Some(started.elapsed().as_secs_f64());
        status.failures += u64::from(reason.is_some());
        if reason.is_none() {
            status.last_success = Some(now);
        }
        status.reason = reason;
        self.brought = brought.map(Arc::new);
        self.ended = Some((now, Instant::now()));
    }

    /// Status and content as they count at `now`.
    pub(super) fn fresh(&self, now: Instant, oldest: Duration) -> (SourceStatus, Option<&Arc<T>>) {
        let age = self
            .ended
            .map(|(_, ended)| now.saturating_duration_since(ended));
        if age.is_some_and(|age| age <= oldest) {
            return (self.status.clone(), self.brought.as_ref());
        }
        let mut status = self.status.clone();
        status.up = false;
        status.success = false;
        // Of a source that fails, asked ever more seldom, its own reason stands.
        if let Some(age) = age.filter(|_| status.reason.is_none()) {
            status.reason = Some(format!(
                "no answer for {} s: a call hangs, or the machine is starved",
                age.as_secs()
            ));
        }
        (status, None)
    }
}

/// Says once that a source fails, and once that it is back.
fn report(source: &str, target: Option<&str>, reason: Option<&str>) {
    if let Some(reason) = reason {
        tracing::warn!(source, target, reason, "source failed");
    } else {
        tracing::info!(source, target, "source works again");
    }
}

/// Unix seconds now.
pub(super) fn unix_now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
