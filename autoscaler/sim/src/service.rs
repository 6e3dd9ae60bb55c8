//! The replicas of one service at request level: they start, serve, drain, fail; requests go to the one
//! that has least to do. Knows no policy.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    event::Agenda,
    scenario::{Metric, Scenario},
    score::{Latencies, Score},
    server::{Next, Request, Work},
};

/// What can happen. A replica is named by a number that no other gets again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The next request arrives.
    Arrival,
    /// A replica ends its step or batch.
    End(u64),
    /// The oldest request of a batch has waited long enough.
    Due(u64),
    /// A replica's start ends.
    Started(u64),
    /// A node is lost, by its place in the scenario.
    Loss(usize),
    /// Policies look.
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Draining,
}

struct Replica {
    state: State,
    created: f64,
    work: Work,
}

/// The service.
pub struct Service<'a> {
    scenario: &'a Scenario,
    random: fastrand::Rng,
    replicas: BTreeMap<u64, Replica>,
    next: u64,
    desired: u32,
    /// Requests that came while nobody was Ready.
    backlog: VecDeque<Request>,
    latencies: Latencies,
    /// Answers, and late ones, since the last tick.
    tick: (u64, u64),
    /// When and in which direction the number was changed last.
    turned: Option<(f64, bool)>,
    /// Seconds of replicas that are gone: held and worked.
    gone: (f64, f64),
    /// Start-up times since they were last asked for.
    startups: Vec<f64>,
    answered: Vec<Request>,
    /// The score so far.
    pub score: Score,
}

impl<'a> Service<'a> {
    /// A service with Ready replicas at time 0.
    pub fn new(scenario: &'a Scenario, replicas: u32, seed: u64) -> Self {
        let mut service = Self {
            scenario,
            random: fastrand::Rng::with_seed(seed),
            replicas: BTreeMap::new(),
            next: 0,
            desired: replicas,
            backlog: VecDeque::new(),
            latencies: Latencies::default(),
            tick: (0, 0),
            turned: None,
            gone: (0.0, 0.0),
            startups: Vec::new(),
            answered: Vec::new(),
            score: Score::default(),
        };
        for _ in 0..replicas {
            service.create(0.0, State::Ready);
        }
        service
    }

    fn create(&mut self, now: f64, state: State) -> u64 {
        self.next += 1;
        let replica = Replica {
            state,
            created: now,
            work: Work::default(),
        };
        self.replicas.insert(self.next, replica);
        self.next
    }

    /// Replicas that are asked for.
    pub fn desired(&self) -> u32 {
        self.desired
    }

    /// Replicas that serve.
    pub fn ready(&self) -> u32 {
        let ready = self
            .replicas
            .values()
            .filter(|replica| replica.state == State::Ready);
        u32::try_from(ready.count()).unwrap_or(u32::MAX)
    }

    /// Requests that wait, and requests in work.
    pub fn load(&self) -> (usize, usize) {
        let works = || self.replicas.values().map(|replica| &replica.work);
        let waiting = works().map(Work::waiting).sum::<usize>() + self.backlog.len();
        (waiting, works().map(Work::running).sum())
    }

    /// Start-up times that were seen since the last call.
    pub fn startups(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.startups)
    }

    /// A request arrives.
    pub fn arrive(&mut self, now: f64, agenda: &mut Agenda<Event>) {
        self.score.arrived += 1;
        let request = self.scenario.server.request(now, &mut self.random);
        self.dispatch(request, now, agenda);
    }

    fn dispatch(&mut self, request: Request, now: f64, agenda: &mut Agenda<Event>) {
        let ready = self
            .replicas
            .iter_mut()
            .filter(|(_, replica)| replica.state == State::Ready);
        match ready.min_by_key(|(_, replica)| replica.work.inside()) {
            Some((id, replica)) => {
                replica.work.push(request);
                let id = *id;
                self.begin(id, now, agenda);
            }
            None => self.backlog.push_back(request),
        }
    }

    fn begin(&mut self, id: u64, now: f64, agenda: &mut Agenda<Event>) {
        let Some(replica) = self.replicas.get_mut(&id) else {
            return;
        };
        match replica.work.begin(&self.scenario.server, now) {
            Next::Ends(time) => agenda.add(time, Event::End(id)),
            Next::Begins(time) => agenda.add(time, Event::Due(id)),
            Next::Idle => {
                if replica.state == State::Draining && replica.work.inside() == 0 {
                    self.remove(id, now);
                }
            }
        }
    }

    fn remove(&mut self, id: u64, now: f64) {
        if let Some(replica) = self.replicas.remove(&id) {
            self.gone.0 += now - replica.created;
            self.gone.1 += replica.work.worked;
        }
    }

    /// What an event of a replica brings; one of a replica that is gone brings nothing.
    pub fn happen(&mut self, event: Event, now: f64, agenda: &mut Agenda<Event>) {
        match event {
            Event::End(id) => {
                let Some(replica) = self.replicas.get_mut(&id) else {
                    return;
                };
                replica
                    .work
                    .end(&self.scenario.server, now, &mut self.answered);
                while let Some(request) = self.answered.pop() {
                    self.answer(&request, now);
                }
                self.begin(id, now, agenda);
            }
            Event::Due(id) => self.begin(id, now, agenda),
            Event::Started(id) => self.started(id, now, agenda),
            Event::Loss(place) => self.lose(place, now, agenda),
            Event::Arrival | Event::Tick => {}
        }
    }

    fn answer(&mut self, request: &Request, now: f64) {
        let objective = self.scenario.objective;
        let seconds = match objective.metric {
            Metric::EndToEnd => now - request.arrived,
            Metric::TimeToFirstToken => request.first - request.arrived,
        };
        let late = u64::from(seconds > objective.seconds);
        self.latencies.add(seconds);
        self.score.answered += 1;
        self.score.late += late;
        self.tick.0 += 1;
        self.tick.1 += late;
    }

    fn started(&mut self, id: u64, now: f64, agenda: &mut Agenda<Event>) {
        let failed = self.random.f64() < self.scenario.startup.failed;
        let Some(replica) = self.replicas.get_mut(&id) else {
            return;
        };
        if failed {
            let seconds = self.start_seconds();
            agenda.add(now + seconds, Event::Started(id));
            return;
        }
        replica.state = State::Ready;
        self.startups.push(now - replica.created);
        // What waited for anybody to be Ready goes to whoever has least.
        while let Some(request) = self.backlog.pop_front() {
            self.dispatch(request, now, agenda);
        }
    }

    fn start_seconds(&mut self) -> f64 {
        let startup = self.scenario.startup;
        let slow = self.random.f64() < startup.slow;
        startup.seconds * if slow { 3.0 } else { 1.0 }
    }

    /// A node goes with its replicas, the oldest; as many are begun again, their requests go to others.
    fn lose(&mut self, place: usize, now: f64, agenda: &mut Agenda<Event>) {
        let count = self
            .scenario
            .losses
            .get(place)
            .map_or(0, |loss| loss.replicas);
        let lost: Vec<u64> = self.replicas.keys().take(count as usize).copied().collect();
        let mut homeless = Vec::new();
        for id in lost {
            if let Some(replica) = self.replicas.get_mut(&id) {
                homeless.extend(replica.work.drain());
            }
            self.remove(id, now);
        }
        self.fill(now, agenda);
        for request in homeless {
            self.dispatch(request, now, agenda);
        }
    }

    /// Asks for a number of replicas. The newest go first, those that still start before those that serve.
    pub fn scale(&mut self, to: u32, now: f64, agenda: &mut Agenda<Event>) {
        if to == self.desired {
            return;
        }
        let up = to > self.desired;
        self.score.changes += 1;
        let turned = self
            .turned
            .is_some_and(|(time, before)| before != up && now - time <= 600.0);
        self.score.reversals += u32::from(turned);
        self.turned = Some((now, up));
        self.desired = to;
        self.fill(now, agenda);
        let mut much: Vec<(bool, u64)> = (self.replicas.iter())
            .filter(|(_, replica)| replica.state != State::Draining)
            .map(|(id, replica)| (replica.state == State::Ready, *id))
            .collect();
        much.sort_by_key(|(ready, id)| (*ready, std::cmp::Reverse(*id)));
        let surplus = much.len().saturating_sub(to as usize);
        for (ready, id) in much.into_iter().take(surplus) {
            if let (true, Some(replica)) = (ready, self.replicas.get_mut(&id)) {
                replica.state = State::Draining;
                if replica.work.inside() == 0 {
                    self.remove(id, now);
                }
            } else {
                self.remove(id, now);
            }
        }
    }

    /// Starts what is missing.
    fn fill(&mut self, now: f64, agenda: &mut Agenda<Event>) {
        let there = self
            .replicas
            .values()
            .filter(|replica| replica.state != State::Draining)
            .count();
        for _ in there..self.desired as usize {
            let id = self.create(now, State::Starting);
            let seconds = self.start_seconds();
            agenda.add(now + seconds, Event::Started(id));
        }
    }

    /// Ends a tick of `seconds`: it violates the objective when more than one answer in a hundred was late.
    pub fn end_tick(&mut self, seconds: f64, now: f64) {
        let (answers, late) = std::mem::take(&mut self.tick);
        let (waiting, _) = self.load();
        let oldest = self
            .backlog
            .front()
            .map_or(0.0, |request| now - request.arrived);
        // With nobody to answer there is no late answer, but it is late all the same.
        let stuck = waiting > 0 && oldest > self.scenario.objective.seconds;
        if late * 100 > answers || stuck {
            self.score.violation_seconds += seconds;
        }
    }

    /// The score at the end of a run, at `now`.
    pub fn finish(mut self, now: f64, events: u64) -> Score {
        let left = self
            .replicas
            .values_mut()
            .flat_map(|replica| replica.work.drain().collect::<Vec<_>>());
        let objective = self.scenario.objective.seconds;
        let overdue = left
            .chain(self.backlog.drain(..))
            .filter(|request| now - request.arrived > objective);
        self.score.late += overdue.count() as u64;
        let (mut held, mut worked) = self.gone;
        for replica in self.replicas.values() {
            held += now - replica.created;
            worked += replica.work.worked;
        }
        let power = self.scenario.power;
        let score = &mut self.score;
        score.p50_seconds = self.latencies.quantile(0.5);
        score.p99_seconds = self.latencies.quantile(0.99);
        score.gpu_hours = held / 3600.0;
        score.utilization = if held > 0.0 {
            (worked / held).min(1.0)
        } else {
            0.0
        };
        score.energy_kwh = (held * power.idle + worked * (power.busy - power.idle)) / 3.6e6;
        score.events = events;
        self.score
    }
}
