//! Model cards: what a model is, how good it is, and what it says about those it was trained on.

use std::fmt::Write;

use super::{Checkpoint, Mode, ModelName, Plan, Point, Statement};

/// A page of Markdown about a training that is done.
pub fn card(plan: &Plan, done: &Checkpoint) -> String {
    let (data, curves) = (&plan.data, &done.done);
    let mut text = format!("# {}, {}\n\n", data.name, plan.model.name());
    let mut say = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}\n");
    };
    say(format!(
        "A model of {} parameters that tells {} classes apart ({}), trained on {} examples, each of which is taken for one \
         respondent's. `model.safetensors` has its parameters: those of the first run, whichever was best.",
        plan.network.dimension(),
        data.classes.len(),
        classes(&data.classes),
        data.training.len()
    ));
    if plan.model == ModelName::Pretrained {
        say("`model.safetensors` is the last layer alone. What it reads is what the network before it makes of a picture, in the scale of \
             the public pictures' channels, divided by its norm: keep the file that was given with --pretrained. The public pictures \
             have no guarantee; whatever follows is about the respondents' own."
            .into());
    }
    say("## Accuracy".into());
    let (mean, deviation) = mean_and_deviation(&accuracies(curves));
    say(format!(
        "{:.2} %{} of {} examples that it was not trained on; always to say the most frequent class would be right about \
         {:.2} %.",
        100.0 * mean,
        match curves.len() {
            1 => ", in one run,".into(),
            runs => format!(
                " (mean of {runs} runs with other randomness; standard deviation {:.2})",
                100.0 * deviation
            ),
        },
        data.test.len(),
        100.0 * plan.majority()
    ));
    say(if plan.held_out {
        "These examples are a sixth of the training examples, held out. The test examples were not touched, so settings may \
         be chosen by this number."
            .into()
    } else {
        "These are the test examples. The number means what it says if they were used once: if settings were chosen by \
         it, it is too high. Choose them with --held-out."
            .into()
    });
    say("## What it says about people".into());
    plan.statement.sentences().into_iter().for_each(&mut say);
    match (&plan.statement, done.seed()) {
        (Statement::Local(local), _) => match local.mode {
            Mode::SimulateBatch => say(
                "**This is a simulation on data that the program could read.** epsilon_central belongs to the deployment \
                 that was simulated, with as many distinct respondents in a step as there are reports. The model in this \
                 directory is as private as its data are: the server, the shufflers and all respondents were one process."
                    .into(),
            ),
            Mode::Deploy => say(
                "Every report was made by the letter, with randomness of the operating system, whose seed was removed at the end. \
                 The respondents were simulated on one machine: in a deployment the guarantee also rests on shufflers \
                 that do not collude."
                    .into(),
            ),
        },
        (Statement::Central(_), None) => say(
            "The noise came from randomness of the operating system, whose seed was removed at the end. The guarantee rests on a \
             server that does as much."
                .into(),
        ),
        (Statement::Central(_), Some(_)) => say(
            "**The noise came from the seed below, and whoever knows it can take the noise out again.** The guarantee is that \
             of a training whose seed nobody knows: leave out --seed for a model that is to be given away."
                .into(),
        ),
        (Statement::Plain, _) => {}
    }
    if curves.len() > 1 {
        say(
            "The guarantee is that of one run. Whoever publishes numbers of several runs on the same people, as the mean \
             above, has to add them up."
                .into(),
        );
    }
    say("Accuracy is measured on examples of others, and is not randomized: on private ones it would cost something too."
        .into());
    say("## Settings".into());
    let mut table = String::from("| setting | value |\n|---|---|");
    for (name, value) in plan.shown() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = write!(table, "\n| {name} | {} |", value.replace('|', "\\|"));
    }
    let seed = done.seed().map_or_else(|| "secret".into(), |seed| seed.to_string());
    let _ = write!(table, "\n| seed | {seed} |");
    say(table);
    say("`curve.csv` and `curve.png` have accuracy and cost on the way.".into());
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The last accuracy of each run.
pub fn accuracies(curves: &[Vec<Point>]) -> Vec<f64> {
    curves.iter().filter_map(|curve| Some(curve.last()?.accuracy)).collect()
}

/// The mean, and the standard deviation of single ones (0 for one).
pub fn mean_and_deviation(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (mean, if numbers.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 })
}

fn classes(names: &[String]) -> String {
    if names.len() <= 12 { names.join(", ") } else { format!("{}, ...", names[..12].join(", ")) }
}
