//! One scenario under one policy, from begin to end: events move the service, a tick shows the policy a scrape
//! and carries out what it asks for. The same scenario, policy and seed give the same score.

use autoscaler_core::units::Timestamp;

use crate::{
    event::Agenda,
    policy::{Policy, Seen},
    scenario::Scenario,
    score::Score,
    service::{Event, Service},
    workload::Arrivals,
};

/// Unix seconds of the begin of what is simulated: a midnight UTC.
pub const BEGIN: i64 = 1_764_547_200;
/// Seconds of a step in which violations are counted, and between two scrapes.
const SCRAPE: f64 = 15.0;

/// The load of a scenario, requests per second by minute.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Before the begin, the newest last; a gap where nothing was recorded.
    pub history: Vec<Option<f64>>,
    /// What is simulated.
    pub minutes: Vec<f64>,
}

/// A point of a run, for charts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Unix seconds.
    pub time: i64,
    /// Requests per second that arrive.
    pub rate: f64,
    /// Replicas that are asked for.
    pub desired: u32,
    /// Replicas that serve.
    pub ready: u32,
}

/// What scrapes show: the counter of arrivals, and the minutes that were seen whole.
struct Source<'a> {
    scenario: &'a Scenario,
    random: fastrand::Rng,
    /// Arrivals of each second, for a proxy that counts by itself.
    seconds: Vec<u32>,
    /// Scrapes of the last minute: time and counter.
    scrapes: Vec<(f64, f64)>,
    minutes: Vec<Option<f64>>,
    arrived: f64,
}

impl Source<'_> {
    fn arrive(&mut self, now: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time from 0 on"
        )]
        let second = now as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, 0);
        }
        self.seconds[second] += 1;
        self.arrived += 1.0;
    }

    /// Whether the scrape of now gets through.
    fn scrape(&mut self, now: f64) -> bool {
        let hour = now / 3600.0;
        let scrape = &self.scenario.scrape;
        let out = scrape
            .outages
            .iter()
            .any(|(from, to)| (*from..*to).contains(&hour));
        let lost = self.random.f64() < scrape.lost;
        if out || lost {
            return false;
        }
        self.scrapes.push((now, self.arrived));
        true
    }

    /// The rate over the last minute of scrapes, as Prometheus' `rate` over it; `None` without two.
    fn rate(&mut self, now: f64) -> Option<f64> {
        self.scrapes.retain(|(time, _)| *time >= now - 60.0);
        let (first, last) = (self.scrapes.first()?, self.scrapes.last()?);
        let seconds = last.0 - first.0;
        (seconds > 0.0 && now - last.0 <= 60.0).then(|| (last.1 - first.1) / seconds)
    }

    fn counted(&self, now: f64, seconds: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time from 0 on"
        )]
        let (from, to) = ((now - seconds).max(0.0) as usize, now as usize);
        let to = to.min(self.seconds.len());
        let counts = self.seconds.get(from.min(to)..to).unwrap_or_default();
        f64::from(counts.iter().sum::<u32>()) / seconds.min(now.max(1.0))
    }
}

/// Runs `policy` over the scenario; points of the run, one a minute, and the score.
pub fn run(
    scenario: &Scenario,
    rates: &Rates,
    policy: &mut dyn Policy,
    begin: u32,
) -> (Score, Vec<Point>) {
    let seed = scenario.seed;
    let mut arrivals = Arrivals::new(rates.minutes.clone(), seed);
    let mut agenda = Agenda::default();
    let mut service = Service::new(scenario, begin, seed.wrapping_add(1));
    let mut source = Source {
        scenario,
        random: fastrand::Rng::with_seed(seed.wrapping_add(2)),
        seconds: Vec::new(),
        scrapes: Vec::new(),
        minutes: rates.history.clone(),
        arrived: 0.0,
    };
    let end = rates.minutes.len() as f64 * 60.0;
    for (place, loss) in scenario.losses.iter().enumerate() {
        agenda.add(loss.at_hours * 3600.0, Event::Loss(place));
    }
    let step = policy.period().min(SCRAPE);
    if let Some(first) = arrivals.next() {
        agenda.add(first, Event::Arrival);
    }
    agenda.add(step, Event::Tick);
    let mut points = Vec::new();
    let mut since_look = 0.0;
    while let Some((now, event)) = agenda.earliest() {
        if now > end {
            break;
        }
        match event {
            Event::Arrival => {
                source.arrive(now);
                service.arrive(now, &mut agenda);
                if let Some(next) = arrivals.next() {
                    agenda.add(next, Event::Arrival);
                }
            }
            Event::Tick => {
                agenda.add(now + step, Event::Tick);
                since_look += step;
                let look = since_look >= policy.period() - 1e-6;
                tick(
                    &mut service,
                    &mut source,
                    policy,
                    (now, step, look),
                    &mut agenda,
                );
                if look {
                    since_look = 0.0;
                }
                if now.rem_euclid(60.0) < 1e-6 {
                    points.push(point(&service, rates, now));
                }
            }
            other => service.happen(other, now, &mut agenda),
        }
    }
    (service.finish(end, agenda.count()), points)
}

fn point(service: &Service<'_>, rates: &Rates, now: f64) -> Point {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time from 0 on"
    )]
    let (time, minute) = (BEGIN + now as i64, (now / 60.0) as usize);
    Point {
        time,
        rate: rates
            .minutes
            .get(minute.saturating_sub(1))
            .copied()
            .unwrap_or(0.0),
        desired: service.desired(),
        ready: service.ready(),
    }
}

/// A tick: violations are counted, a scrape is taken every 15 s, and the policy looks when it is time.
fn tick(
    service: &mut Service<'_>,
    source: &mut Source<'_>,
    policy: &mut dyn Policy,
    (now, step, look): (f64, f64, bool),
    agenda: &mut Agenda<Event>,
) {
    let whole = |seconds: f64| now.rem_euclid(seconds) < step - 1e-6;
    let mut exposition = None;
    if whole(SCRAPE) {
        service.end_tick(SCRAPE, now);
        if source.scrape(now) {
            exposition = Some(text(source.arrived, service.load().0));
        }
    }
    let rate = source.rate(now);
    if whole(60.0) {
        source.minutes.push(rate);
    }
    if !look {
        return;
    }
    let startups = service.startups();
    #[expect(clippy::cast_possible_truncation, reason = "seconds of some weeks")]
    let seen = Seen {
        now: Timestamp(BEGIN + now as i64),
        rate,
        counted: &|seconds| source.counted(now, seconds),
        minutes: &source.minutes,
        desired: service.desired(),
        ready: service.ready(),
        startups: &startups,
        exposition: exposition.as_deref(),
    };
    let to = policy.decide(&seen);
    service.scale(to, now, agenda);
}

/// What gateway and servers expose.
fn text(arrived: f64, waiting: usize) -> String {
    let (arrivals, queue) = (
        crate::policy::foresail::ARRIVALS,
        exporter_core::queue::vllm::WAITING,
    );
    format!(
        "# TYPE {arrivals} counter\n{arrivals}{{service=\"simulated\"}} {arrived}\n# TYPE {queue} gauge\n{queue}{{model_name=\"simulated\",engine=\"0\"}} {waiting}\n"
    )
}

#[cfg(test)]
mod tests;
