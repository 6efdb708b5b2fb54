//! Data augmentation: a training without privacy on pictures that are mirrored and moved. It takes long, and is kept after
//! every pass.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use throng_learn::{
    Average, ChannelScale, Evaluation, Examples, Network, Protocol, Randomness, Rate, Settings, State,
    Training,
};

use crate::learning::{PICTURES_DIGEST, PROGRAM, Progress, STEPS, program};
use throng_simulate::dataset::digest_of;

/// A training with data augmentation, on pictures of three colours. All of them are mirrored and moved anew after every pass:
/// after as many steps as it takes to draw as many pictures as there are.
pub(super) struct AugmentedTraining<'a> {
    pub(super) network: &'a Network,
    pub(super) pictures: &'a Examples,
    pub(super) settings: Settings,
    pub(super) seed: u64,
}

/// Without privacy, every picture seen `passes` times on average.
pub(super) fn settings(pictures: usize, batch: usize, passes: u64) -> Settings {
    Settings {
        protocol: Protocol::Plain,
        examples_each_step: batch,
        steps: passes * steps_each_pass(pictures, batch),
        rate: Rate::Linear { start: RATE, end: RATE / 50.0 },
        momentum: MOMENTUM,
        average: Average::Last,
        radius: None,
    }
}

impl AugmentedTraining<'_> {
    /// All that decides the result: a file of another training is not gone on from.
    fn identity(&self) -> BTreeMap<String, String> {
        let settings = &self.settings;
        BTreeMap::from(
            [
                (STEPS, settings.steps.to_string()),
                ("settings", format!("{settings:?}, mirrored, moved by up to {MOVED}")),
                (PROGRAM, program(&settings.protocol)),
                ("seed", self.seed.to_string()),
                ("parameters", self.network.dimension().to_string()),
                (PICTURES_DIGEST, digest_of(&[self.pictures]).to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        )
    }

    /// The scale of channels that pictures are trained on in, and have to be judged in.
    pub(super) fn scale(&self) -> Result<ChannelScale> {
        Ok(ChannelScale::of(self.pictures, CHANNELS)?)
    }

    /// How a network from this training does on some pictures.
    pub(super) fn judge(&self, trained: &State, pictures: &Examples) -> Result<Vec<Evaluation>> {
        let (_, parameters, ..) = trained.parts();
        let scale = self.scale()?;
        let scaled = pictures.map(pictures.width(), |pixels, out| scale.fill(pixels, out));
        Ok(self.network.judge(parameters, &scaled))
    }

    /// Goes on from what is in the file, if there is one, and keeps it there after every pass. The result is the same however
    /// often it was stopped.
    pub(super) fn run(&self, path: Option<&Path>, mut each_step: impl FnMut(u64, f64)) -> Result<State> {
        let settings = self.settings;
        let scale = self.scale()?;
        let each_pass = steps_each_pass(self.pictures.len(), settings.examples_each_step);
        let randomness = Randomness::numbered(self.seed);
        let identity = self.identity();
        let begun = match path {
            Some(path) => {
                let found = Progress::read(path)?;
                found.iter().try_for_each(|found| found.check(path, &identity))?;
                found.map(|found| found.state)
            }
            None => None,
        };
        let mut state = match begun {
            Some(state) => state,
            None => {
                let training = Training::new(self.network, self.pictures, settings, randomness.clone())?;
                training.state().clone()
            }
        };
        while state.step() < settings.steps {
            let pass = state.step() / each_pass;
            let pictures = self.varied(pass, &scale)?;
            let mut training =
                Training::resume(self.network, &pictures, settings, randomness.clone(), state)?;
            while training.state().step() < ((pass + 1) * each_pass).min(settings.steps) {
                let step = training.step()?;
                ensure!(step.loss.is_finite(), "the training diverged at step {}", training.state().step());
                each_step(training.state().step(), step.loss);
            }
            state = training.state().clone();
            if let Some(path) = path {
                Progress { identity: identity.clone(), state: state.clone() }.write(path)?;
            }
        }
        Ok(state)
    }

    /// Every picture, mirrored by a coin and moved a little, in the scale of its channels.
    fn varied(&self, pass: u64, scale: &ChannelScale) -> Result<Examples> {
        let width = self.pictures.width();
        let side = (width / CHANNELS).isqrt();
        let mut inputs = vec![0.0; width * self.pictures.len()];
        inputs.par_chunks_mut(width).enumerate().for_each(|(i, out)| {
            let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
            rng.set_stream(pass << 32 | i as u64);
            let mut below = |most: u32| rng.next_u32() % most;
            let mirrored = below(2) == 1;
            let [right, down] = [(); 2].map(|()| below(2 * MOVED + 1) as isize - MOVED as isize);
            let mut scaled = vec![0.0; width];
            scale.fill(self.pictures.input(i), &mut scaled);
            vary(&scaled, side, mirrored, right, down, out);
        });
        let labels = (0..self.pictures.len()).map(|i| self.pictures.label(i)).collect();
        Ok(Examples::new(inputs, width, labels, self.pictures.classes())?)
    }
}

fn steps_each_pass(pictures: usize, batch: usize) -> u64 {
    (pictures / batch).max(1) as u64
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
const RATE: f64 = 0.02;
const MOMENTUM: f64 = 0.9;
/// How far pictures are moved at most, in pixels, each way.
pub(super) const MOVED: u32 = 4;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::drawn::drawn;
    use super::*;
    use throng_simulate::dataset::PictureSet;

    /// A small network on drawn pictures learns something, and a training that was stopped gives the same to the bit.
    #[test]
    fn a_stopped_training_goes_on_as_if_it_had_not_been() {
        let folder = tempfile::tempdir().unwrap();
        let public = drawn(PictureSet::Cifar10).unwrap().0;
        let network = Network::cifar(32, [2, 3, 4], 12, 10);
        let passes = |passes| AugmentedTraining {
            network: &network,
            pictures: &public,
            settings: settings(public.len(), 40, passes),
            seed: 3,
        };
        let (path, other) = (folder.path().join("one.bin"), folder.path().join("other.bin"));
        let mut losses = Vec::new();
        let whole = passes(4).run(Some(&path), |_, loss| losses.push(loss)).unwrap();
        assert_eq!((losses.len(), whole.step()), (24, 24));
        assert_eq!(passes(4).run(None, |_, _| ()).unwrap(), whole, "a file changes nothing");

        // Stop it in the third pass by a panic, as a kill would.
        let stopped = std::panic::catch_unwind(|| {
            passes(4).run(Some(&other), |step, _| assert!(step < 15, "stop here")).map(|_| ()).unwrap();
        });
        assert!(stopped.is_err());
        assert_eq!(Progress::read(&other).unwrap().unwrap().state.step(), 12);
        let mut steps = Vec::new();
        let again = passes(4).run(Some(&other), |step, _| steps.push(step)).unwrap();
        assert_eq!(steps, (13..=24).collect::<Vec<_>>());
        assert_eq!(again, whole);

        // Another training does not go on from it, and is told what differs.
        let fewer = public.split(200).0;
        for (another, differs) in [
            (passes(5), "steps was 24, is 30"),
            (AugmentedTraining { seed: 4, ..passes(4) }, "seed was 3, is 4"),
            (AugmentedTraining { pictures: &fewer, ..passes(4) }, "pictures_digest was "),
        ] {
            let error = format!("{:#}", another.run(Some(&other), |_, _| ()).unwrap_err());
            let file = other.display().to_string();
            assert!(
                [&file, "remove it to begin again", differs].iter().all(|part| error.contains(*part)),
                "{error}"
            );
        }
    }

    /// A flipped byte or a cut, anywhere in the file, is an error with the file and the place.
    #[test]
    fn a_damaged_training_is_not_gone_on_from() {
        let folder = tempfile::tempdir().unwrap();
        let public = drawn(PictureSet::Cifar10).unwrap().0;
        let network = Network::cifar(32, [1, 1, 1], 2, 10);
        let settings = settings(public.len(), 120, 1);
        let training = AugmentedTraining { network: &network, pictures: &public, settings, seed: 3 };
        let path = folder.path().join("one.bin");
        training.run(Some(&path), |_, _| ()).unwrap();
        let good = fs::read(&path).unwrap();
        let places = (0..good.len()).step_by(good.len() / 40).chain([good.len() - 1]);
        for place in places {
            let mut flipped = good.clone();
            flipped[place] ^= 4;
            for bytes in [&flipped[..], &good[..place]] {
                fs::write(&path, bytes).unwrap();
                let error = format!("{:#}", training.run(Some(&path), |_, _| ()).unwrap_err());
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
