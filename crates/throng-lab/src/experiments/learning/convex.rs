//! Theorem learning, utility: how fast a convex model is learned, measured beside the theorem and its proof.

use anyhow::{Context, Result};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use throng_dp::Epsilon;
use throng_learn::{
    Average, Convergence, Examples, MechanismName, Network, Protocol, Rate, Settings, Simulation,
};

use super::Scale;
use super::bench::Results;
use super::job::{Job, Mean, Model};
use super::source::{Question, Source};
use crate::experiments::lab::people;
use crate::experiments::{Figure, Image, Row, Section};
use throng_plot::plot::{Axis, Plot, Series, Style};

/// Two classes that lie on both sides of the origin, one label in ten of which is wrong.
///
/// Inputs have norm 1, so that the loss of softmax regression is [`LIPSCHITZ`]-Lipschitz; how far apart the classes are does
/// not depend on the dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) respondents: u64,
    pub(super) inputs: usize,
}

/// A place on the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    problem: Problem,
    epsilon_local: f64,
}

/// A line on the grid, over which one quantity grows.
struct Sweep {
    /// What grows, as in `with n`.
    over: &'static str,
    title: String,
    cells: Vec<Cell>,
    /// The quantity that the theorem has a power of.
    quantity: fn(&Cell) -> f64,
}

/// What was measured in a cell.
struct CellResult {
    cell: Cell,
    /// With the printed learning rate, and with the proof's.
    printed: Mean,
    proved: Mean,
    rate: f64,
    bound: f64,
    start: f64,
}

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for sweep in sweeps() {
        for cell in sweep.cells {
            jobs.extend([cell.job(scale, Step::Printed)?, cell.job(scale, Step::Proved)?]);
            jobs.push(cell.optimum()?);
        }
    }
    Ok(jobs)
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section =
        Section::new("learning-convex", "A convex model, and how fast a theorem says it is learned");
    section.text = text(scale);
    for sweep in sweeps() {
        let all: Vec<CellResult> =
            sweep.cells.iter().map(|cell| cell.measured(scale, results)).collect::<Result<_>>()?;
        let rows = all.iter().map(|one| one.row(scale)).collect::<Vec<_>>();
        // A cell of two sweeps is shown once.
        let new = |row: &Row| section.rows.iter().all(|known| known.cell != row.cell);
        let fresh: Vec<Row> = rows.into_iter().filter(new).collect();
        section.rows.extend(fresh);
        section.rows.push(sweep.exponent(scale, &all));
        section.figures.push(sweep.figure(&all));
    }
    Ok(section)
}

fn text(scale: &Scale) -> Vec<String> {
    vec![
        format!(
            "The paper's theorem: if all n respondents report in every one of T = n/ln(n)^2 steps, the excess of the mean loss \
             over its least value in a ball is proportional to L * |C| * sqrt(d) * ln(n)^2/n * coth(epsilon_local/2). Here \
             softmax regression starts from 0, is kept in a ball of diameter {DIAMETER}, and learns a drawn problem of two \
             classes whose loss is {LIPSCHITZ}-Lipschitz; means are over {} runs. The least value was found by {OPTIMUM_STEPS} \
             steps of plain descent in the same ball. One column has the learning rate that the algorithm prints, which is \
             the same in all steps, the other that of its proof, which falls with 1/sqrt(t).",
            scale.runs
        ),
        "The proof leaves out that gradients themselves have a length: beyond n = (pi/2) * d * coth(epsilon_local/2)^2 \
         respondents it is this length, not the noise, that limits a step, and the bound falls with 1/sqrt(n) only. Every cell \
         has to be within the bound with that term. Where that bound is larger than the excess before the first step, of the \
         model 0, doing nothing would be within it too: so every cell has to be below that excess as well. Both are about the \
         worst problem there is. This one is smooth, so its excess may go with the square of the noise: it may be far below \
         the bound, and its exponents may be twice those of the theorem. The printed learning rate is not the one that the proof is about: it grows with sqrt(n) and never falls."
            .into(),
    ]
}

/// Which learning rate.
#[derive(Clone, Copy)]
enum Step {
    Printed,
    Proved,
}

impl Problem {
    pub(super) fn name(self) -> String {
        format!("convex-n{}-w{}", self.respondents, self.inputs)
    }

    fn dimension(self) -> usize {
        Network::linear(self.inputs, 2).dimension()
    }

    pub(super) fn examples(self) -> Result<Examples> {
        let mut rng = ChaCha20Rng::seed_from_u64(self.respondents ^ (self.inputs as u64) << 32);
        let mut uniform = || f64::from(rng.next_u32()) * 2f64.powi(-32);
        let mut inputs = Vec::with_capacity(self.respondents as usize * self.inputs);
        let mut labels = Vec::with_capacity(self.respondents as usize);
        for i in 0..self.respondents {
            let class = i % 2;
            // Any direction but the first, uniform in a cube and scaled: nearly uniform, and that is all that matters.
            let across: Vec<f64> = (1..self.inputs).map(|_| uniform() - 0.5).collect();
            let norm = across.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
            inputs.push(if class == 1 { APART } else { -APART } as f32);
            let length = (1.0 - APART * APART).sqrt() / norm;
            inputs.extend(across.iter().map(|x| (x * length) as f32));
            labels.push(if uniform() < 0.1 { 1 - class } else { class } as u8);
        }
        Ok(Examples::new(inputs, self.inputs, labels, 2)?)
    }
}

impl Cell {
    fn convergence(&self) -> Result<Convergence> {
        let Problem { respondents, .. } = self.problem;
        let epsilon = Epsilon::new(self.epsilon_local)?;
        Ok(Convergence::new(respondents, self.problem.dimension(), LIPSCHITZ, DIAMETER, epsilon)?)
    }

    fn job(&self, scale: &Scale, step: Step) -> Result<Job> {
        let convergence = self.convergence()?;
        let steps = convergence.steps();
        let protocol = Protocol::Local {
            mechanism: MechanismName::Sign,
            epsilon: Epsilon::new(self.epsilon_local)?,
            clip: LIPSCHITZ,
            reports_each: 1,
            simulation: Simulation::ChunkExact,
        };
        let rate = match step {
            Step::Printed => Rate::Constant(convergence.learning_rate_as_paper()),
            Step::Proved => Rate::InverseRoot(convergence.step_size(1)),
        };
        Ok(Job { runs: scale.runs, ..self.training(protocol, rate, steps) })
    }

    /// Plain descent for long: the Hessian of the loss is at most half the square of an input with its constant, 1.
    fn optimum(&self) -> Result<Job> {
        Ok(self.training(Protocol::Plain, Rate::Constant(1.0), OPTIMUM_STEPS))
    }

    fn training(&self, protocol: Protocol, rate: Rate, steps: u64) -> Job {
        Job {
            source: Source::Drawn(self.problem),
            model: Model::Linear,
            settings: Settings {
                protocol,
                examples_each_step: self.problem.respondents as usize,
                steps,
                rate,
                momentum: 0.0,
                average: Average::Last,
                radius: Some(0.5 * DIAMETER),
            },
            question: Question::Risk,
            checkpoints: vec![steps],
            respondents: self.problem.respondents,
            runs: 1,
        }
    }

    fn measured(&self, scale: &Scale, results: &Results) -> Result<CellResult> {
        let risks = |job: &Job| -> Result<Mean> {
            let runs = results.of(job).context("a convex run is missing")?;
            Ok(Mean::at(runs, job.settings.steps, |point| point.loss))
        };
        let (printed, proved) =
            (risks(&self.job(scale, Step::Printed)?)?, risks(&self.job(scale, Step::Proved)?)?);
        let least = risks(&self.optimum()?)?.mean;
        let excess = |risk: Mean| Mean { mean: risk.mean - least, ..risk };
        let convergence = self.convergence()?;
        Ok(CellResult {
            cell: *self,
            printed: excess(printed),
            proved: excess(proved),
            rate: convergence.rate_as_paper(),
            bound: convergence.excess_bound(convergence.steps()),
            start: std::f64::consts::LN_2 - least,
        })
    }
}

impl CellResult {
    fn row(&self, scale: &Scale) -> Row {
        let Cell { problem, epsilon_local } = self.cell;
        let cell = format!(
            "n {}, d {}, epsilon_local {epsilon_local}: excess risk",
            people(problem.respondents as f64),
            people(problem.dimension() as f64),
        );
        let within = self.proved.mean <= self.bound && self.proved.mean < self.start;
        let row = Row::order(
            TABLE,
            cell,
            within || scale.quick,
            "within the bound of the proof, with its missing term, and below the excess of the first model",
        )
        .rule(self.printed.mean)
        .throng(self.proved.mean);
        row.note(format!(
            "bound {:.3}, the theorem without its constant {:.3}, before the first step {:.3}; deviation of a run {:.4}",
            self.bound, self.rate, self.start, self.proved.deviation
        ))
    }
}

impl Sweep {
    fn exponent(&self, scale: &Scale, all: &[CellResult]) -> Row {
        let of = |value: &dyn Fn(&CellResult) -> f64| {
            slope(all.iter().map(|one| ((self.quantity)(&one.cell), value(one).max(1e-9))))
        };
        let ours = of(&|one| one.proved.mean);
        let theorem = of(&|one| one.rate);
        let cell = format!("{}: exponent {}", self.title, self.over);
        let row = Row::order(
            TABLE_EXPONENTS,
            cell,
            scale.quick || (0.5..=2.0).contains(&(ours / theorem)),
            "from half to twice that of the theorem",
        );
        Row { paper: Some(theorem), ..row }.rule(of(&|one| one.printed.mean)).throng(ours)
    }

    fn figure(&self, all: &[CellResult]) -> Figure {
        let curve = |name: &str, style, value: &dyn Fn(&CellResult) -> f64| Series {
            name: name.into(),
            points: all.iter().map(|one| ((self.quantity)(&one.cell), value(one))).collect(),
            style,
        };
        Figure {
            name: format!("learning-convex-{}", self.over.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
            caption: "Lower is better. The theorem is drawn with the constant 1.".into(),
            image: Image::Plot(Plot {
                title: self.title.clone(),
                x: Axis::log(self.over),
                y: Axis::log("excess risk"),
                series: vec![
                    curve("the proof's steps", Style::Line, &|one| one.proved.mean),
                    curve("the printed steps", Style::Line, &|one| one.printed.mean),
                    curve("bound", Style::Dashed, &|one| one.bound),
                    curve("theorem", Style::Dashed, &|one| one.rate),
                ],
            }),
        }
    }
}

/// The exponent of a power law through points, by least squares of logarithms.
fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let logs: Vec<(f64, f64)> = points.map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), log| (x + log.0 / count, y + log.1 / count));
    let products: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    products / logs.iter().map(|log| (log.0 - x).powi(2)).sum::<f64>()
}

fn sweeps() -> [Sweep; 4] {
    let cell =
        |respondents, inputs, epsilon_local| Cell { problem: Problem { respondents, inputs }, epsilon_local };
    let few = [1_000, 2_000, 4_000, 8_000, 16_000].map(|n| cell(n, 39, 1.9)).to_vec();
    // With fewer, the model has hardly left its start.
    let many = [4_000, 8_000, 16_000, 32_000].map(|n| cell(n, 999, 1.9)).to_vec();
    let sizes = [9, 39, 159, 639].map(|inputs| cell(4_000, inputs, 1.9)).to_vec();
    let budgets = [0.5, 1.0, 2.0, 4.0].map(|epsilon| cell(4_000, 39, epsilon)).to_vec();
    let respondents = |cell: &Cell| cell.problem.respondents as f64;
    [
        Sweep {
            over: "n, d 80",
            title: "More respondents, few parameters".into(),
            cells: few,
            quantity: respondents,
        },
        Sweep {
            over: "n, d 2,000",
            title: "More respondents, many parameters".into(),
            cells: many,
            quantity: respondents,
        },
        Sweep {
            over: "d",
            title: "More parameters, 4,000 respondents".into(),
            cells: sizes,
            quantity: |cell| cell.problem.dimension() as f64,
        },
        Sweep {
            over: "coth(epsilon_local/2)",
            title: "More noise, 4,000 respondents".into(),
            cells: budgets,
            quantity: |cell| 1.0 / (0.5 * cell.epsilon_local).tanh(),
        },
    ]
}

const TABLE: &str = "Theorem learning";
const TABLE_EXPONENTS: &str = "Theorem learning: exponents";
/// Of cross entropy over two classes, for inputs of norm 1 with a constant: sqrt(2) * sqrt(2).
const LIPSCHITZ: f64 = 2.0;
const DIAMETER: f64 = 4.0;
/// How far the middle of a class is from the origin.
const APART: f64 = 0.5;
const OPTIMUM_STEPS: u64 = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_has_its_exponent() {
        assert!(
            (slope([1.0, 3.0, 20.0].map(|x: f64| (x, 7.0 * x.powf(-1.25))).into_iter()) + 1.25).abs() < 1e-12
        );
    }

    /// The problem is as stated: inputs of norm 1, gradients of at most the Lipschitz constant, both classes, wrong labels.
    #[test]
    fn the_problem_is_lipschitz() {
        let problem = Problem { respondents: 400, inputs: 9 };
        let examples = problem.examples().unwrap();
        assert_eq!((examples.len(), problem.dimension()), (400, 20));
        let network = Network::linear(9, 2);
        let mut workspace = network.workspace::<f64>(1);
        let parameters: Vec<f64> = (0..20).map(|i| f64::from(i % 7) - 3.0).collect();
        let mut wrong = 0;
        for i in 0..400 {
            let input = examples.input(i);
            assert!((input.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
            wrong += u32::from((input[0] > 0.0) != (examples.label(i) == 1));
            let (mut loss, mut gradient) = ([0.0], vec![0.0; 20]);
            network.gradients(
                &parameters,
                &[input],
                &[examples.label(i)],
                &mut workspace,
                &mut loss,
                &mut gradient,
            );
            assert!(gradient.iter().map(|x| x * x).sum::<f64>().sqrt() <= LIPSCHITZ * (1.0 + 1e-9));
        }
        // A tenth of them, give or take 5 standard deviations; the seed is fixed.
        assert!((10..=70).contains(&wrong), "{wrong}");
    }
}
