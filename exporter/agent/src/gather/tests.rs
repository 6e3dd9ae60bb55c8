//! Sources that fail, hang and come back.

use super::*;
use crate::source::SourceError;
use exporter_core::snapshot::SourceStatus;

/// Answers as a script says; gathers without a line of script hang until the test ends.
struct Scripted(mpsc::Receiver<Result<Gathered, SourceError>>);

impl Source for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn gather(&mut self, _now: f64) -> Result<Gathered, SourceError> {
        self.0
            .recv()
            .unwrap_or_else(|_| Err(SourceError::Unreachable("the script is over".into())))
    }
}

fn gathered(driver: &str, incomplete: Option<&str>) -> Gathered {
    Gathered {
        driver_version: Some(driver.into()),
        nvml_version: None,
        gpus: vec![exporter_core::device::Gpu::default()],
        incomplete: incomplete.map(Into::into),
    }
}

fn start_scripted(
    oldest: Duration,
) -> (
    mpsc::Sender<Result<Gathered, SourceError>>,
    Published,
    Owner,
) {
    let (say, script) = mpsc::channel();
    let (gpus, owner) = own(Scripted(script), Duration::from_millis(1)).unwrap();
    let published = Published {
        hostname: "n".into(),
        oldest,
        gpus,
        pods: None,
        holders: None,
        batch: None,
        lent: None,
        servers: watch::channel(Vec::new()).1,
    };
    (say, published, owner)
}

async fn after(published: &mut Published, seen: impl Fn(&SourceStatus) -> bool) -> Snapshot {
    let seen = |part: &Part<Gathered>| seen(&part.status);
    drop(published.gpus.wait_for(seen).await.unwrap());
    published.snapshot()
}

const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_source_fails_and_comes_back() {
    let (say, mut published, owner) = start_scripted(LONG);
    assert!(!published.ready());
    say.send(Err(SourceError::Unreachable("no library".into())))
        .unwrap();
    let down = after(&mut published, |status| status.failures == 1).await;
    assert!(published.ready(), "a failed gather is a finished one");
    assert!(!down.sources[0].up && down.gpus.is_empty());

    say.send(Ok(gathered("1", None))).unwrap();
    let up = after(&mut published, |status| status.success).await;
    assert!(up.sources[0].up && up.sources[0].last_success.is_some());
    assert_eq!(
        (up.gpus.len(), up.driver_version.as_deref()),
        (1, Some("1"))
    );

    say.send(Ok(gathered("1", Some("gpu 0 is lost")))).unwrap();
    let partly = after(&mut published, |status| status.failures == 2).await;
    assert!(partly.sources[0].up && !partly.sources[0].success);
    assert_eq!(partly.gpus.len(), 1, "what was read is shown");
    drop(say);
    owner.stop(LONG);
}

#[tokio::test]
async fn what_is_old_is_dropped() {
    let (say, mut published, _owner) = start_scripted(Duration::ZERO);
    say.send(Ok(gathered("1", None))).unwrap();
    let old = after(&mut published, |status| status.success).await;
    assert!(old.gpus.is_empty() && !old.sources[0].up && !old.sources[0].success);
    assert!(
        old.sources[0].last_success.is_some(),
        "when it last worked stays known"
    );
}

#[tokio::test]
async fn a_source_that_hangs_does_not_hold_up_the_end() {
    let (say, published, owner) = start_scripted(LONG);
    let started = Instant::now();
    assert!(
        !published.snapshot().sources[0].up,
        "a scrape does not wait for it either"
    );
    owner.stop(Duration::from_millis(50));
    assert!(started.elapsed() < Duration::from_secs(30));
    drop(say);
}

#[test]
fn pauses_grow_and_end() {
    let second = Duration::from_secs(1);
    let pauses = [0, 1, 2, 3, 4, 40].map(|failures| pause(second * 15, failures).as_secs());
    assert_eq!(pauses, [15, 15, 30, 60, 60, 60]);
    assert_eq!(pause(second * 300, 9), second * 300);
}

#[tokio::test]
async fn a_source_that_fails_for_long_keeps_its_own_reason() {
    // Nothing is fresh here: as between two tries that are a minute apart.
    let (say, mut published, owner) = start_scripted(Duration::ZERO);
    let failed = Err(SourceError::Unreachable("no library".into()));
    say.send(failed).unwrap();
    let down = after(&mut published, |status| status.failures == 1).await;
    assert_eq!(down.sources[0].reason.as_deref(), Some("no library"));
    say.send(Ok(gathered("1", None))).unwrap();
    let silent = after(&mut published, |status| status.success).await;
    let reason = silent.sources[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("a call hangs"), "{reason}");
    drop(say);
    owner.stop(LONG);
}

/// Breaks at its first gather.
struct Broken;

impl Source for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn gather(&mut self, _now: f64) -> Result<Gathered, SourceError> {
        panic!("a fault of this program")
    }
}

#[tokio::test]
async fn a_thread_that_broke_is_no_healthy_process() {
    let (say, whole, owner) = start_scripted(LONG);
    assert!(whole.alive());
    let (gpus, _) = own(Broken, LONG).unwrap();
    let mut broken = Published { gpus, ..whole };
    // Ends with the thread.
    let _ = broken.gpus.wait_for(|_| false).await;
    assert!(!broken.alive());
    drop(say);
    owner.stop(LONG);
}
