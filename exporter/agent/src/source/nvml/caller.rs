//! A thread that makes driver calls for an owner who does not wait for ever. A call that does not return costs the thread
//! it runs on: the thread is left behind, makes no further call, and its answer can be had when it comes. Never two
//! threads at work, save for those that are left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use exporter_nvml::Pulse;

/// How often is looked whether calls go on.
const LOOK: Duration = Duration::from_millis(20);

type Job = Box<dyn FnOnce() + Send>;

/// The thread, once it is needed.
#[derive(Default)]
pub(super) struct Caller {
    thread: Option<(Sender<Job>, Arc<Pulse>)>,
}

/// How long is waited.
#[derive(Clone)]
pub(super) struct Patience {
    /// Longest time of one call.
    pub(super) deadline: Duration,
    /// The program ends: nothing is waited for any more.
    pub(super) leaving: Arc<AtomicBool>,
}

/// Work whose answer may still come.
pub(super) struct Late<T> {
    answer: Receiver<T>,
    /// The call that did not return.
    pub(super) call: &'static str,
}

/// Why there is no answer now.
pub(super) enum Missed<T> {
    /// A call does not return, or the program ends.
    Late(Late<T>),
    /// The work ended without an answer, or no thread could be started: why.
    Broken(String),
}

impl<T> Late<T> {
    /// The answer, if it has come meanwhile.
    pub(super) fn arrived(&self) -> Option<T> {
        self.answer.try_recv().ok()
    }
}

impl Caller {
    /// Does the work on the thread. Each of its calls may take as long as the deadline.
    pub(super) fn run<T: Send + 'static>(
        &mut self,
        patience: &Patience,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Missed<T>> {
        let (answer, pulse) = self.begin(work).map_err(Missed::Broken)?;
        let mut begun = pulse.begun();
        let mut since = Instant::now();
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Disconnected) => {
                    self.thread = None;
                    return Err(Missed::Broken("reading ended without an answer".into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if pulse.begun() != begun {
                begun = pulse.begun();
                since = Instant::now();
            }
            let leaving = patience.leaving.load(Ordering::Relaxed);
            if leaving || since.elapsed() >= patience.deadline {
                pulse.give_up();
                self.thread = None;
                let call = pulse.call();
                return Err(Missed::Late(Late { answer, call }));
            }
        }
    }

    /// Does the last work; whether it was done within `limit`.
    pub(super) fn finish(&mut self, limit: Duration, work: impl FnOnce() + Send + 'static) -> bool {
        match self.begin(work) {
            Ok((answer, _)) => {
                self.thread = None;
                answer.recv_timeout(limit).is_ok()
            }
            Err(_) => false,
        }
    }

    fn begin<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(Receiver<T>, Arc<Pulse>), String> {
        let (give, answer) = mpsc::channel();
        // Fails only when nobody waits any more; then the value is dropped there.
        let job: Job = Box::new(move || drop(give.send(work())));
        let (jobs, pulse) = match self.thread.take() {
            Some(thread) => thread,
            None => start().map_err(|error| format!("cannot start a thread: {error}"))?,
        };
        // A thread that ended drops the job, which shows as an answer that never comes.
        let _ = jobs.send(job);
        self.thread = Some((jobs, Arc::clone(&pulse)));
        Ok((answer, pulse))
    }
}

fn start() -> std::io::Result<(Sender<Job>, Arc<Pulse>)> {
    let (jobs, work) = mpsc::channel::<Job>();
    let pulse = Arc::new(Pulse::default());
    let own = Arc::clone(&pulse);
    thread::Builder::new()
        .name("gpu-calls".into())
        .spawn(move || {
            own.follow();
            for job in work {
                job();
            }
        })?;
    Ok((jobs, pulse))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(milliseconds: u64) -> Patience {
        Patience {
            deadline: Duration::from_millis(milliseconds),
            leaving: Arc::default(),
        }
    }

    #[test]
    fn work_that_hangs_leaves_the_next_to_another_thread_and_may_answer_later() {
        let mut caller = Caller::default();
        let (release, held) = mpsc::channel::<()>();
        let late = caller.run(&patience(50), move || held.recv().is_ok());
        let Err(Missed::Late(late)) = late else {
            panic!("it cannot have answered")
        };
        assert_eq!(caller.run(&patience(60_000), || 7).ok(), Some(7));
        assert_eq!(late.arrived(), None);
        release.send(()).unwrap();
        assert_eq!(late.answer.recv(), Ok(true));
    }

    #[test]
    fn nothing_is_waited_for_at_the_end_and_a_broken_reading_is_told() {
        let mut caller = Caller::default();
        let ending = patience(60_000);
        ending.leaving.store(true, Ordering::Relaxed);
        let (_release, held) = mpsc::channel::<()>();
        let late = caller.run(&ending, move || held.recv().is_ok());
        assert!(matches!(late, Err(Missed::Late(_))));
        let broken = caller.run::<()>(&patience(60_000), || std::panic::resume_unwind(Box::new(1)));
        assert!(matches!(broken, Err(Missed::Broken(_))));
        assert_eq!(caller.run(&patience(60_000), || 7).ok(), Some(7));
    }
}
