//! Pretraining on public pictures without privacy, before the respondents are asked.

use anyhow::{Context, Result, ensure};
use indicatif::ProgressStyle;
use rayon::ThreadPoolBuilder;
use throng_learn::{Evaluation, Examples};

use super::augmented_training::{AugmentedTraining, MOVED, settings};
use super::source::Place;
use crate::experiments::lab::people;
use crate::experiments::{Lab, Row, Section};
use crate::learning::{PublicPictures, paper_network};
use throng_simulate::dataset::{LabelledExamples, PictureSet};

/// Trains, or goes on, until the network is complete.
pub(super) fn section(lab: &Lab, place: &Place) -> Result<Section> {
    let mut section = Section::new("learning-pretrain", "A network that was trained on public pictures");
    ensure!(!place.quick, "a smoke run has no public pictures; leave --quick or the part pretrain out");
    let data = place.data.as_deref().context("name the folder with data (--data or THRONG_DATASETS)")?;
    let out = place.out.as_deref().context("name the directory to keep the network in (--out)")?;
    let public = PublicPictures::in_directory(data);
    lab.say("reading public pictures");
    let pictures = public.open(data)?;
    let network = paper_network(public.classes());
    let settings = settings(pictures.len(), BATCH, PASSES);
    let training = AugmentedTraining { network: &network, pictures: &pictures, settings, seed: lab.seed };
    let threads = ThreadPoolBuilder::new().num_threads(lab.threads).build()?;
    let steps = settings.steps;
    lab.progress.set_length(steps);
    lab.progress.set_style(ProgressStyle::with_template(
        "{spinner} {percent:>3} % in {elapsed}, about {eta} left  {wide_msg}",
    )?);
    let trained = threads.install(|| {
        training.run(Some(&public.path(out)), |step, loss| {
            lab.progress.set_position(step);
            lab.say(format!("step {step} of {steps}, loss {loss:.3}"));
        })
    })?;
    let right = |examples: &Examples| -> Result<f64> {
        Ok(100.0 * Evaluation::accuracy(&threads.install(|| training.judge(&trained, examples))?))
    };
    section.text.push(format!(
        "The paper's network for CIFAR-10, {} parameters, trained without privacy on {}: {PASSES} passes in batches of {BATCH}, \
         momentum {}, each picture mirrored and moved by up to {MOVED} pixels at random. The other pictures of CIFAR-10 \
         were not touched, and the part cifar trains a new last layer on them privately.",
        people(network.dimension() as f64),
        public.title(),
        settings.momentum
    ));
    let row =
        |cell: &str, accuracy: f64| Row::order("pretrain", cell, true, "for the reader").throng(accuracy);
    section.rows.push(row("accuracy on the public pictures in %", right(&pictures)?));
    if public == PublicPictures::StandIn {
        let test = LabelledExamples::open_pictures(data, PictureSet::Cifar10)?.test;
        section
            .rows
            .push(row("accuracy on the test pictures of CIFAR-10, without privacy, in %", right(&test)?));
    }
    Ok(section)
}

const BATCH: usize = 100;
const PASSES: u64 = 40;
