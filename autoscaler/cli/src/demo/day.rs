//! The day itself: load, GPUs and world advanced step by step, and what is printed and shown of it.

use std::{collections::VecDeque, fmt::Write as _};

use anyhow::Context as _;
use autoscaler_core::{
    explain,
    plan::Decision,
    snapshot::{Gpu, Node, Policy},
    units::{TargetId, Timestamp},
};
use autoscaler_sim::{
    cluster::Model,
    world::{Moment, STEP, World},
};
use autoscaler_view::{Change, Page, Target};
use exporter_core::{
    collect::collect,
    exposition::{parse, text::render},
    simulated::{fleet::Fleet, load::Day},
};

use super::serve::Shown;

/// One replica: an LLM server on one GPU.
pub(super) const REPLICA: Model = Model {
    capacity: 12.0,
    startup: 180.0,
    patience: 2.0,
};
/// Steps of the day.
pub(super) const STEPS: u32 = 5760;
/// Begin of the day, a midnight UTC.
const MIDNIGHT: i64 = 1_764_547_200;
/// Requests per second at the top of the daily swing; a flash crowd goes above it.
const PEAK: f64 = 60.0;
/// Nodes with eight GPUs each.
const NODES: usize = 2;
const SPEC: &str = "8xH100-SXM5-80GB";
/// Steps between two points of the charts, and points kept: the last six hours.
const POINT: u32 = 8;
const POINTS: usize = 180;
/// Steps without a change after which a line says that all is well: two hours.
const QUIET: u32 = 480;
const CHANGES: usize = 30;

/// A running day.
pub(super) struct Demo {
    world: World,
    day: Day,
    fleets: Vec<Fleet>,
    step: u32,
    quiet: u32,
    latest: Option<Moment>,
    load: VecDeque<(Timestamp, f64)>,
    forecast: VecDeque<(Timestamp, f64, f64)>,
    replicas: VecDeque<(Timestamp, u32, u32)>,
    rival: VecDeque<(Timestamp, u32)>,
    changes: VecDeque<Change>,
    nodes: Vec<Node>,
    metrics: String,
}

/// What the owner of the service wants.
fn policy() -> Policy {
    Policy::new(1, 16, REPLICA.capacity)
}

impl Demo {
    /// A day whose past is known and whose first minute begins now.
    pub(super) fn new(seed: u64) -> anyhow::Result<Self> {
        let day = Day::new(seed, PEAK);
        let spec = SPEC.parse().context("the simulated GPUs")?;
        let fleets = (0..NODES)
            .map(|node| Fleet::new(&spec, seed.wrapping_add(node as u64)))
            .collect();
        // What fixed capacity must hold: the highest minute of the day, known only afterwards.
        let minutes = (0..1440).map(|minute| day.rate(f64::from(minute) * 60.0 + MIDNIGHT as f64));
        let highest = minutes.fold(0.0, f64::max);
        let need = |rate: f64| autoscaler_core::capacity::replicas_for(rate, REPLICA.capacity).0;
        let begin = need(day.rate(MIDNIGHT as f64)) + 1;
        let target = TargetId {
            namespace: "serving".to_owned(),
            name: "chat".to_owned(),
        };
        let mut world = World::new(target, policy(), REPLICA, MIDNIGHT, begin);
        let capacity = REPLICA.capacity;
        world.add_hpa("hpa", policy(), capacity, REPLICA, begin);
        world.add_hpa("hpa at 80 %", policy(), 0.8 * capacity, REPLICA, begin);
        world.add_fixed("fixed peak", REPLICA, need(highest));
        world.remember(7 * 1440, |at| day.rate(at))?;
        Ok(Self {
            world,
            day,
            fleets,
            step: 0,
            quiet: 0,
            latest: None,
            load: VecDeque::new(),
            forecast: VecDeque::new(),
            replicas: VecDeque::new(),
            rival: VecDeque::new(),
            changes: VecDeque::new(),
            nodes: Vec::new(),
            metrics: String::new(),
        })
    }

    /// One step of the day; the lines to print.
    pub(super) fn step(&mut self) -> anyhow::Result<Vec<String>> {
        let at = MIDNIGHT + i64::from(self.step) * STEP;
        let rate = self.day.rate(at as f64);
        self.gpus(at, rate)?;
        let moment = self.world.step(rate, self.nodes.clone())?;
        self.step += 1;
        let mut lines = Vec::new();
        self.quiet += 1;
        for decision in &moment.pass.plan.decisions {
            if decision.from != decision.to {
                self.quiet = 0;
                lines.push(line(decision));
                self.changes.push_front(change(decision));
                self.changes.truncate(CHANGES);
            } else if self.quiet >= QUIET {
                self.quiet = 0;
                lines.push(line(decision));
            }
        }
        if self.step.is_multiple_of(POINT) {
            self.points(&moment);
        }
        self.latest = Some(moment);
        Ok(lines)
    }

    /// Lets the GPUs run: a Ready replica a GPU, busy by the load. The map is read back from their
    /// exposition, as a scraper would.
    fn gpus(&mut self, at: i64, rate: f64) -> anyhow::Result<()> {
        let busy = self.world.utilization(rate);
        let ready = self.latest.as_ref().map_or(0, |moment| moment.replicas.1) as usize;
        let mut metrics = String::new();
        let shown = self.step.is_multiple_of(POINT);
        for (index, fleet) in self.fleets.iter_mut().enumerate() {
            let first = index * fleet.len();
            let each: Vec<f64> = (0..fleet.len())
                .map(|gpu| if first + gpu < ready { busy } else { 0.0 })
                .collect();
            fleet.advance(STEP as f64, &each);
            if shown {
                let snapshot = fleet.snapshot(at as f64, &format!("gpu-node-{index}"));
                metrics += &render(&collect(&snapshot, env!("CARGO_PKG_VERSION")));
            }
        }
        if shown {
            self.nodes = nodes(&metrics)?;
            self.metrics = metrics;
        }
        Ok(())
    }

    fn points(&mut self, moment: &Moment) {
        let now = Timestamp(moment.now);
        push(&mut self.load, (now, moment.rate));
        push(
            &mut self.replicas,
            (now, moment.replicas.0, moment.replicas.1),
        );
        if let Some(hpa) = self.world.rival(0) {
            push(&mut self.rival, (now, hpa));
        }
        let basis = moment
            .pass
            .plan
            .decisions
            .first()
            .and_then(|decision| decision.basis.forecast.as_ref());
        if let Some(forecast) = basis {
            push(
                &mut self.forecast,
                (now.plus(forecast.horizon), forecast.median, forecast.load),
            );
        }
    }

    /// Puts the newest state where the page is served from.
    pub(super) fn show(&self, shown: &mut Shown) {
        if !self.step.is_multiple_of(POINT) {
            return;
        }
        let sentence = self
            .latest
            .as_ref()
            .and_then(|moment| moment.pass.plan.decisions.first());
        let page = Page {
            title: "Foresail demo".to_owned(),
            subtitle: format!(
                "{} of a simulated day; the HPA gets the same requests",
                clock(self.now())
            ),
            refresh: Some(1),
            targets: vec![Target {
                name: "serving/chat".to_owned(),
                sentence: sentence.map(explain::sentence).unwrap_or_default(),
                load: self.load.iter().copied().collect(),
                forecast: self.forecast.iter().copied().collect(),
                replicas: self.replicas.iter().copied().collect(),
                rival: Some((
                    "HPA on the same load".to_owned(),
                    self.rival.iter().copied().collect(),
                )),
            }],
            nodes: self.nodes.clone(),
            changes: self.changes.iter().cloned().collect(),
            scores: self.rows(),
        };
        shown.page = Some(page);
        shown.metrics.clone_from(&self.metrics);
    }

    fn now(&self) -> Timestamp {
        Timestamp(MIDNIGHT + i64::from(self.step) * STEP)
    }

    /// The table of scores, its head first; ratios are against the HPA.
    fn rows(&self) -> Vec<Vec<String>> {
        let scores = self.world.scores();
        let head = [
            "policy",
            "GPU-hours",
            "against HPA",
            "late requests",
            "share",
            "changes",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let hpa = scores.get(1).map_or(0.0, |(_, score)| score.gpu_hours());
        for (name, score) in &scores {
            rows.push(vec![
                name.clone(),
                format!("{:.1}", score.gpu_hours()),
                if hpa > 0.0 {
                    format!("{:.2}x", score.gpu_hours() / hpa)
                } else {
                    "-".to_owned()
                },
                format!("{:.0}", score.late),
                format!("{:.2} %", score.late_share() * 100.0),
                score.changes.to_string(),
            ]);
        }
        rows
    }

    /// The closing table.
    pub(super) fn summary(&self) -> String {
        let hours = f64::from(self.step) * STEP as f64 / 3600.0;
        let arrived = self
            .world
            .scores()
            .first()
            .map_or(0.0, |(_, score)| score.arrived);
        let mut text = format!(
            "\n{hours:.1} simulated hours, {arrived:.0} requests; late = waits over {:.0} s\n",
            REPLICA.patience
        );
        for row in self.rows() {
            // Writing to a String cannot fail.
            let _ = write!(text, "  {:<14}", row[0]);
            for cell in &row[1..] {
                let _ = write!(text, "{cell:>15}");
            }
            text.push('\n');
        }
        text
    }
}

/// GPUs of an exposition, by node.
fn nodes(metrics: &str) -> anyhow::Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    for sample in parse(metrics)?
        .iter()
        .filter(|sample| sample.name == "DCGM_FI_DEV_GPU_UTIL")
    {
        let label = |name: &str| sample.labels.get(name).cloned().unwrap_or_default();
        let gpu = Gpu {
            index: label("gpu").parse().context("the label gpu")?,
            model: label("modelName"),
            utilization: Some(sample.value / 100.0),
            memory: None,
            target: None,
        };
        let name = label("Hostname");
        match nodes.iter_mut().find(|node| node.name == name) {
            Some(node) => node.gpus.push(gpu),
            None => nodes.push(Node {
                name,
                gpus: vec![gpu],
            }),
        }
    }
    Ok(nodes)
}

fn push<T>(points: &mut VecDeque<T>, point: T) {
    points.push_back(point);
    if points.len() > POINTS {
        points.pop_front();
    }
}

/// Hours and minutes.
fn clock(time: Timestamp) -> String {
    let minutes = (time.0 - MIDNIGHT).div_euclid(60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// A decision as a line.
fn line(decision: &Decision) -> String {
    let load = decision.basis.load.map_or_else(
        || "load unknown".to_owned(),
        |load| format!("{load:5.1} req/s"),
    );
    let forecast = decision
        .basis
        .forecast
        .as_ref()
        .map_or_else(String::new, |forecast| {
            format!(", in {} s at most {:5.1}", forecast.horizon, forecast.load)
        });
    format!(
        "{}  {load}{forecast}  {}",
        clock(decision.time),
        explain::sentence(decision)
    )
}

fn change(decision: &Decision) -> Change {
    Change {
        time: clock(decision.time),
        target: decision.target.to_string(),
        sentence: explain::sentence(decision),
    }
}
