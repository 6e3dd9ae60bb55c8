//! What happens next: a queue of events by time. Two events of one moment come in the order in which they
//! were put in, so that a run is the same each time.

use std::{cmp::Ordering, collections::BinaryHeap};

/// An event at a time in seconds.
struct Entry<T> {
    time: f64,
    number: u64,
    event: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The heap gives its greatest first, so the earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        let time = other.time.total_cmp(&self.time);
        time.then_with(|| other.number.cmp(&self.number))
    }
}

/// Events to come.
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    number: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            number: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Puts in an event.
    pub fn add(&mut self, time: f64, event: T) {
        self.number += 1;
        self.heap.push(Entry {
            time,
            number: self.number,
            event,
        });
    }

    /// Takes out the earliest event.
    pub fn earliest(&mut self) -> Option<(f64, T)> {
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }

    /// Events that were put in so far.
    pub fn count(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_their_order() {
        let mut agenda = Agenda::default();
        for (time, event) in [(2.0, 'c'), (1.0, 'a'), (2.0, 'd'), (1.5, 'b')] {
            agenda.add(time, event);
        }
        let order: Vec<char> = std::iter::from_fn(|| agenda.earliest())
            .map(|(_, event)| event)
            .collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
        assert_eq!(agenda.count(), 4);
    }
}
