//! Training on public pictures without privacy, before the respondents are asked: hours, kept after every pass.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use indicatif::ProgressStyle;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use throng_learn::{
    Average, ChannelScale, Examples, Judged, Network, Protocol, Randomness, Rate, Settings, Training,
};

use super::pretrained::{PUBLIC_DIGEST, Progress, Public, STEPS, paper_network};
use super::source::Place;
use crate::dataset::{Labelled, PictureSet, digest_of};
use crate::experiments::lab::people;
use crate::experiments::{Lab, Row, Section};

/// Trains, or goes on, until the network is complete.
pub(super) fn section(lab: &Lab, place: &Place) -> Result<Section> {
    let mut section = Section::new("learning-pretrain", "A network that was trained on public pictures");
    ensure!(!place.quick, "a smoke run has no public pictures; leave --quick or the part pretrain out");
    let data = place.data.as_deref().context("name the folder with data (--data or THRONG_DATASETS)")?;
    let out = place.out.as_deref().context("name the directory to keep the network in (--out)")?;
    let public = Public::in_directory(data);
    lab.say("reading public pictures");
    let pictures = public.open(data)?;
    let network = paper_network(public.classes());
    let pass =
        Pretraining { network: &network, public: &pictures, batch: BATCH, passes: PASSES, seed: lab.seed };
    let threads = ThreadPoolBuilder::new().num_threads(lab.threads).build()?;
    let scale = ChannelScale::of(&pictures, CHANNELS)?;
    let steps = pass.settings().steps;
    lab.progress.set_length(steps);
    lab.progress.set_style(ProgressStyle::with_template(
        "{spinner} {percent:>3} % in {elapsed}, about {eta} left  {wide_msg}",
    )?);
    let trained = threads.install(|| {
        pass.run(&public.path(out), |step, loss| {
            lab.progress.set_position(step);
            lab.say(format!("step {step} of {steps}, loss {loss:.3}"));
        })
    })?;
    let (_, parameters, ..) = trained.state.parts();
    let right = |examples: &Examples| {
        let scaled = examples.map(examples.width(), |pixels, out| scale.fill(pixels, out));
        100.0 * Judged::accuracy(&threads.install(|| network.judge(parameters, &scaled)))
    };
    section.text.push(format!(
        "The paper's network for CIFAR-10, {} parameters, trained without privacy on {}: {PASSES} passes in batches of {BATCH}, \
         momentum {MOMENTUM}, each picture mirrored and moved by up to {MOVED} pixels at random. The other pictures of CIFAR-10 \
         were not touched, and the part cifar trains a new last layer on them privately.",
        people(network.dimension() as f64),
        public.title()
    ));
    let row =
        |cell: &str, accuracy: f64| Row::order("pretrain", cell, true, "for the reader").throng(accuracy);
    section.rows.push(row("accuracy on the public pictures in %", right(&pictures)));
    if public == Public::StandIn {
        let test = Labelled::open_pictures(data, PictureSet::Cifar10)?.test;
        section
            .rows
            .push(row("accuracy on the test pictures of CIFAR-10, without privacy, in %", right(&test)));
    }
    Ok(section)
}

/// A training on public pictures.
struct Pretraining<'a> {
    network: &'a Network,
    public: &'a Examples,
    batch: usize,
    /// How often every picture is seen, on average.
    passes: u64,
    seed: u64,
}

impl Pretraining<'_> {
    fn settings(&self) -> Settings {
        Settings {
            protocol: Protocol::Plain,
            examples_each_step: self.batch,
            steps: self.passes * self.steps_each_pass(),
            rate: Rate::Linear { start: RATE, end: RATE / 50.0 },
            momentum: MOMENTUM,
            average: Average::Last,
            radius: None,
        }
    }

    /// All that decides the result: a file of another training is not gone on from.
    fn identity(&self) -> BTreeMap<String, String> {
        let settings = self.settings();
        BTreeMap::from(
            [
                (STEPS, settings.steps.to_string()),
                ("settings", format!("{settings:?}")),
                ("seed", self.seed.to_string()),
                ("parameters", self.network.dimension().to_string()),
                (PUBLIC_DIGEST, digest_of(&[self.public]).to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        )
    }

    fn steps_each_pass(&self) -> u64 {
        (self.public.len() / self.batch).max(1) as u64
    }

    /// Goes on from what is in the file, and keeps it there after every pass. The result is the same however often it was
    /// stopped.
    fn run(&self, path: &Path, mut each_step: impl FnMut(u64, f64)) -> Result<Progress> {
        let settings = self.settings();
        let scale = ChannelScale::of(self.public, CHANNELS)?;
        let randomness = Randomness::numbered(self.seed);
        let identity = self.identity();
        let mut progress = match Progress::read(path)? {
            Some(found) => {
                found.check(path, &identity)?;
                found
            }
            None => {
                let training = Training::new(self.network, self.public, settings, randomness.clone())?;
                Progress { identity, state: training.state().clone() }
            }
        };
        while progress.state.step() < settings.steps {
            let pass = progress.state.step() / self.steps_each_pass();
            let pictures = self.varied(pass, &scale)?;
            let mut training =
                Training::resume(self.network, &pictures, settings, randomness.clone(), progress.state)?;
            while training.state().step() < (pass + 1) * self.steps_each_pass() {
                let step = training.step()?;
                ensure!(step.loss.is_finite(), "the training diverged at step {}", training.state().step());
                each_step(training.state().step(), step.loss);
            }
            progress.state = training.state().clone();
            progress.write(path)?;
        }
        Ok(progress)
    }

    /// Every picture, mirrored by a coin and moved a little, in the scale of its channels.
    fn varied(&self, pass: u64, scale: &ChannelScale) -> Result<Examples> {
        let width = self.public.width();
        let side = (width / CHANNELS).isqrt();
        let mut inputs = vec![0.0; width * self.public.len()];
        inputs.par_chunks_mut(width).enumerate().for_each(|(i, out)| {
            let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
            rng.set_stream(pass << 32 | i as u64);
            let mut below = |most: u32| rng.next_u32() % most;
            let mirrored = below(2) == 1;
            let [right, down] = [(); 2].map(|()| below(2 * MOVED + 1) as isize - MOVED as isize);
            let mut scaled = vec![0.0; width];
            scale.fill(self.public.input(i), &mut scaled);
            vary(&scaled, side, mirrored, right, down, out);
        });
        let labels = (0..self.public.len()).map(|i| self.public.label(i)).collect();
        Ok(Examples::new(inputs, width, labels, self.public.classes())?)
    }
}

/// A picture mirrored and moved; what comes in from outside is 0, the average.
fn vary(pixels: &[f32], side: usize, mirrored: bool, right: isize, down: isize, out: &mut [f32]) {
    for (i, to) in out.iter_mut().enumerate() {
        let (plane, place) = (i / (side * side), i % (side * side));
        let (x, y) = ((place % side) as isize - right, (place / side) as isize - down);
        let inside = |at: isize| (0..side as isize).contains(&at);
        *to = if inside(x) && inside(y) {
            let x = if mirrored { side - 1 - x as usize } else { x as usize };
            pixels[plane * side * side + y as usize * side + x]
        } else {
            0.0
        };
    }
}

const CHANNELS: usize = 3;
const BATCH: usize = 100;
const PASSES: u64 = 40;
const RATE: f64 = 0.02;
const MOMENTUM: f64 = 0.9;
/// In pixels, each way.
const MOVED: u32 = 4;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::drawn::drawn;
    use super::super::pretrained::features;
    use super::*;

    /// A small network on drawn pictures learns something, and a training that was stopped gives the same to the bit.
    #[test]
    fn a_stopped_training_goes_on_as_if_it_had_not_been() {
        let folder = tempfile::tempdir().unwrap();
        let public = drawn(PictureSet::Cifar10).unwrap().0;
        let network = Network::cifar(32, [2, 3, 4], 12, 10);
        let passes = |passes| Pretraining { network: &network, public: &public, batch: 40, passes, seed: 3 };
        let (path, other) = (folder.path().join("one.bin"), folder.path().join("other.bin"));
        let mut losses = Vec::new();
        let whole = passes(4).run(&path, |_, loss| losses.push(loss)).unwrap();
        assert_eq!((losses.len(), whole.state.step()), (24, 24));

        // Stop it in the third pass by a panic, as a kill would.
        let stopped = std::panic::catch_unwind(|| {
            passes(4).run(&other, |step, _| assert!(step < 15, "stop here")).map(|_| ()).unwrap();
        });
        assert!(stopped.is_err());
        assert_eq!(Progress::read(&other).unwrap().unwrap().state.step(), 12);
        let mut steps = Vec::new();
        let again = passes(4).run(&other, |step, _| steps.push(step)).unwrap();
        assert_eq!(steps, (13..=24).collect::<Vec<_>>());
        assert_eq!(again.state.parts().1, whole.state.parts().1);

        // Another training does not go on from it, and is told what differs.
        let fewer = public.split(200).0;
        for (another, differs) in [
            (passes(5), "steps was 24, is 30"),
            (Pretraining { seed: 4, ..passes(4) }, "seed was 3, is 4"),
            (Pretraining { public: &fewer, ..passes(4) }, "public_digest was "),
        ] {
            let error = format!("{:#}", another.run(&other, |_, _| ()).unwrap_err());
            let file = other.display().to_string();
            assert!(
                [&file, "remove it to begin again", differs].iter().all(|part| error.contains(*part)),
                "{error}"
            );
        }
        let scale = ChannelScale::of(&public, 3).unwrap();
        let seen = features(&network, whole.state.parts().1, &scale, &public);
        let norm = seen.input(0).iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!(seen.width() == 12 && seen.len() == 240 && (norm - 1.0).abs() < 1e-4, "{norm}");
    }

    /// A flipped byte or a cut, anywhere in the file, is an error with the file and the place.
    #[test]
    fn a_damaged_training_is_not_gone_on_from() {
        let folder = tempfile::tempdir().unwrap();
        let public = drawn(PictureSet::Cifar10).unwrap().0;
        let network = Network::cifar(32, [1, 1, 1], 2, 10);
        let training = Pretraining { network: &network, public: &public, batch: 120, passes: 1, seed: 3 };
        let path = folder.path().join("one.bin");
        training.run(&path, |_, _| ()).unwrap();
        let good = fs::read(&path).unwrap();
        let places = (0..good.len()).step_by(good.len() / 40).chain([good.len() - 1]);
        for place in places {
            let mut flipped = good.clone();
            flipped[place] ^= 4;
            for bytes in [&flipped[..], &good[..place]] {
                fs::write(&path, bytes).unwrap();
                let error = format!("{:#}", training.run(&path, |_, _| ()).unwrap_err());
                assert!(error.contains(&path.display().to_string()) && error.contains("at byte "), "{error}");
            }
        }
    }

    #[test]
    fn pictures_are_mirrored_and_moved() {
        let pixels: Vec<f32> = (1..=18).map(|x| x as f32).collect();
        let varied = |mirrored, right, down| {
            let mut out = [f32::NAN; 18];
            vary(&pixels, 3, mirrored, right, down, &mut out);
            out
        };
        assert_eq!(varied(false, 0, 0).as_slice(), pixels);
        assert_eq!(varied(true, 0, 0)[..6], [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
        assert_eq!(varied(false, 1, 0)[..6], [0.0, 1.0, 2.0, 0.0, 4.0, 5.0]);
        assert_eq!(varied(false, 0, -1)[9..], [13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 0.0, 0.0, 0.0]);
    }
}
