//! Calls as they happen, for somebody who waits for a thread that makes them: a call can hang inside the driver for
//! ever, and only another thread can tell. Nothing here keeps a clock or ends a thread.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings::nvmlReturn_t;

use crate::error::{Answer, Error, answer};

thread_local! {
    static FOLLOWED: RefCell<Option<Arc<Pulse>>> = const { RefCell::new(None) };
}

/// What the calls of one thread look like from outside.
#[derive(Debug, Default)]
pub struct Pulse {
    begun: AtomicU64,
    given_up: AtomicBool,
    last: Mutex<&'static str>,
}

impl Pulse {
    /// From now on the calls of this thread show here.
    pub fn follow(self: &Arc<Self>) {
        FOLLOWED.with_borrow_mut(|followed| *followed = Some(Arc::clone(self)));
    }

    /// Number of calls begun. While it stands still and no answer comes, [`Pulse::call`] has not returned.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// The C function called last; empty before the first.
    pub fn call(&self) -> &'static str {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread is given up: when its call returns it makes no further one, save to free what it holds.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }

    fn begin(&self, call: &'static str) -> Answer<()> {
        if self.given_up.load(Ordering::Acquire) {
            return Err(Error::GivenUp { call });
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = call;
        self.begun.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

fn begin(call: &'static str) -> Answer<()> {
    FOLLOWED.with_borrow(|followed| followed.as_ref().map_or(Ok(()), |pulse| pulse.begin(call)))
}

/// Makes a call that the wrapper offers.
pub(crate) fn ask<T>(
    call: &'static str,
    invoke: impl FnOnce() -> Result<T, NvmlError>,
) -> Answer<T> {
    begin(call)?;
    answer(call, invoke())
}

/// Makes a call that the wrapper does not offer, if this driver has the function.
pub(crate) fn raw<F>(
    call: &'static str,
    function: Result<&F, &libloading::Error>,
    invoke: impl FnOnce(&F) -> nvmlReturn_t,
) -> Answer<()> {
    ask(call, || {
        nvml_sym(function).and_then(|function| nvml_try(invoke(function)))
    })
}

/// Gives back what a call gave. Also made by a thread that was given up; a failure leaves nothing to do.
pub(crate) fn free<F>(
    call: &'static str,
    function: Result<&F, &libloading::Error>,
    invoke: impl FnOnce(&F) -> nvmlReturn_t,
) {
    let _ = begin(call);
    let _ = nvml_sym(function).and_then(|function| nvml_try(invoke(function)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_given_up_makes_no_further_call() {
        let pulse = Arc::new(Pulse::default());
        let own = Arc::clone(&pulse);
        let thread = std::thread::spawn(move || {
            own.follow();
            let first = ask("first", || Ok(1));
            own.give_up();
            let second = ask::<u32>("second", || unreachable!());
            (first.ok(), second.err().map(|error| error.to_string()))
        });
        let (first, second) = thread.join().expect("the thread ends");
        assert_eq!(first, Some(1));
        assert_eq!(
            second.as_deref(),
            Some("second was not called: its thread was given up")
        );
        assert_eq!((pulse.begun(), pulse.call()), (1, "first"));
    }
}
