//! Who may be connected at once. When all places are taken, the client that has moved no byte of an answer for the
//! longest makes room for a new one, so that clients which say or read nothing never keep others out. Never reads or
//! writes a connection.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// Time without any progress after which a client may be closed in favour of another.
const QUIET: Duration = Duration::from_millis(250);
/// Time between two log lines that say that all places are taken.
const SAID: Duration = Duration::from_mins(1);

/// Places for connections.
pub(super) struct Room {
    most: usize,
    opened: Instant,
    seats: Mutex<Seats>,
    freed: Notify,
}

#[derive(Default)]
struct Seats {
    next: u64,
    taken: BTreeMap<u64, Seat>,
    /// Closed in favour of others since the last log line.
    closed: u64,
    said: Option<Instant>,
}

struct Seat {
    /// Milliseconds since the room was opened.
    moved: Arc<AtomicU64>,
    leave: Arc<Notify>,
}

/// One connection's place; dropping it makes room.
pub(super) struct Guest {
    room: Arc<Room>,
    id: u64,
    moved: Arc<AtomicU64>,
    leave: Arc<Notify>,
}

impl Guest {
    /// To be called whenever a part of an answer went out.
    pub(super) fn moved(&self) {
        self.moved.store(self.room.now(), Ordering::Relaxed);
    }

    /// Ends when somebody else needs the place.
    pub(super) fn leave(&self) -> impl Future<Output = ()> + use<> {
        let leave = Arc::clone(&self.leave);
        async move { leave.notified().await }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.room.seats().taken.remove(&self.id);
        self.room.freed.notify_one();
    }
}

impl Room {
    /// A room with `most` places.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            opened: Instant::now(),
            seats: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// A place, as soon as there is one or the quietest client was quiet for long enough.
    pub(super) async fn enter(self: &Arc<Self>) -> Guest {
        loop {
            let wait = match self.try_enter() {
                Ok(guest) => return guest,
                Err(wait) => wait,
            };
            tokio::select! {
                () = self.freed.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// A place, or the time after which another try makes sense.
    fn try_enter(self: &Arc<Self>) -> Result<Guest, Duration> {
        let now = self.now();
        let mut seats = self.seats();
        if seats.taken.len() >= self.most {
            let when = |seat: &Seat| seat.moved.load(Ordering::Relaxed);
            let quietest = seats.taken.iter().min_by_key(|(_, seat)| when(seat));
            let Some((id, since)) = quietest.map(|(id, seat)| (*id, when(seat))) else {
                return Err(QUIET);
            };
            let quiet = Duration::from_millis(now.saturating_sub(since));
            if quiet < QUIET {
                return Err(QUIET.saturating_sub(quiet));
            }
            if let Some(seat) = seats.taken.remove(&id) {
                seat.leave.notify_one();
            }
            seats.say_full(self.most);
        }
        let guest = Guest {
            room: Arc::clone(self),
            id: seats.next,
            moved: Arc::new(AtomicU64::new(now)),
            leave: Arc::new(Notify::new()),
        };
        let seat = Seat {
            moved: Arc::clone(&guest.moved),
            leave: Arc::clone(&guest.leave),
        };
        seats.taken.insert(guest.id, seat);
        seats.next += 1;
        Ok(guest)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        // Nothing between lock and unlock can leave the seats half changed.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    fn say_full(&mut self, most: usize) {
        self.closed += 1;
        if self.said.is_none_or(|said| said.elapsed() >= SAID) {
            tracing::warn!(
                connections = most,
                closed = self.closed,
                "all connections are taken; closing the ones that are quiet for the longest"
            );
            self.said = Some(Instant::now());
            self.closed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_quietest_makes_room_for_a_new_client() {
        let room = Room::new(2);
        let first = room.enter().await;
        let second = room.enter().await;
        assert!(room.try_enter().is_err(), "both moved just now");
        tokio::time::sleep(QUIET * 2).await;
        first.moved();
        let third = room.enter().await;
        second.leave().await;
        assert_eq!(third.id, 2);
        assert_eq!(room.seats().taken.len(), 2);
        drop((first, second, third));
        assert_eq!(room.seats().taken.len(), 0);
    }

    #[tokio::test]
    async fn a_client_that_ends_makes_room_at_once() {
        let room = Room::new(1);
        let first = room.enter().await;
        let other = Arc::clone(&room);
        let next = tokio::spawn(async move { other.enter().await.id });
        drop(first);
        assert_eq!(next.await.unwrap(), 1);
    }
}
