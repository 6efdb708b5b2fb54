use throng_dp::Epsilon;

use super::*;
use crate::{Evaluation, MechanismName, Rate, Simulation};

/// Two classes that a line tells apart, most of the time.
fn examples() -> Examples {
    let mut inputs = Vec::new();
    let mut labels = Vec::new();
    for i in 0..400u32 {
        let (x, y) = ((i * 37 % 101) as f32 / 50.0 - 1.0, (i * 53 % 97) as f32 / 48.0 - 1.0);
        inputs.extend([x, y, 1.0]);
        labels.push(u8::from(x + 0.5 * y + 0.1 * ((i % 7) as f32 - 3.0) > 0.0));
    }
    Examples::new(inputs, 3, labels, 2).unwrap()
}

fn settings(protocol: Protocol) -> Settings {
    Settings {
        protocol,
        examples_each_step: 200,
        steps: 60,
        rate: Rate::Linear { start: 2.0, end: 0.2 },
        momentum: 0.0,
        average: Average::Last,
        radius: None,
    }
}

fn local(mechanism: MechanismName, simulation: Simulation) -> Protocol {
    Protocol::Local { mechanism, epsilon: Epsilon::new(3.0).unwrap(), clip: 1.0, reports_each: 2, simulation }
}

fn protocols() -> Vec<Protocol> {
    let mut protocols = vec![Protocol::Plain, Protocol::Central { clip: 1.0, noise: 4.0 }];
    for mechanism in [MechanismName::Sign, MechanismName::PrivUnit] {
        for simulation in [Simulation::Literal, Simulation::ChunkExact, Simulation::Fast] {
            protocols.push(local(mechanism, simulation));
        }
    }
    protocols
}

fn trained(settings: Settings, seed: u64) -> State {
    let (network, examples) = (Network::linear(3, 2), examples());
    let mut training = Training::new(&network, &examples, settings, Randomness::numbered(seed)).unwrap();
    for _ in 0..settings.steps {
        training.step().unwrap();
    }
    training.state().clone()
}

/// The classes are 88 % apart at best here: every protocol finds most of that, and a step tells how it went.
#[test]
fn every_protocol_learns() {
    let (network, examples) = (Network::linear(3, 2), examples());
    for protocol in protocols() {
        let state = trained(settings(protocol), 1);
        let accuracy = Evaluation::accuracy(&network.judge(state.model(), &examples));
        assert!(accuracy > 0.8, "{protocol:?}: {accuracy}");
        assert_eq!(state.step(), 60);
    }
}

/// A training that stops after any step and goes on from its state ends in the same bits, and so does one on another
/// number of threads; another seed ends elsewhere.
#[test]
fn a_training_goes_on_as_if_it_had_never_stopped() {
    let (network, examples) = (Network::linear(3, 2), examples());
    for protocol in protocols() {
        let settings = Settings { momentum: 0.5, average: Average::SecondHalf, ..settings(protocol) };
        let whole = trained(settings, 7);
        assert_ne!(whole, trained(settings, 8));

        let mut state = None;
        for stop in [1, 17, 60] {
            let randomness = Randomness::numbered(7);
            let mut training = match state.take() {
                None => Training::new(&network, &examples, settings, randomness).unwrap(),
                Some(state) => Training::resume(&network, &examples, settings, randomness, state).unwrap(),
            };
            while training.state().step() < stop {
                training.step().unwrap();
            }
            let (step, parameters, velocity, average) = training.state().parts();
            state = Some(State::from_parts(step, parameters.to_vec(), velocity.to_vec(), average.to_vec()));
        }
        assert_eq!(state, Some(whole.clone()), "{protocol:?}");

        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| trained(settings, 7)), whole, "{protocol:?}");
    }
}

/// Everybody is chosen as often as anybody, and nobody twice in a step.
///
/// 400 counts of Bin(2,000, 1/4), each within 5.5 standard deviations: a correct choice fails with a fresh seed less
/// than once in 5·10^4.
#[test]
fn choices_are_uniform_without_replacement() {
    let mut counts = [0u32; 400];
    let randomness = Randomness::numbered(3);
    for step in 0..2000 {
        let mut chosen = choose(400, 100, &mut randomness.of(step, Piece::Choice));
        chosen.iter().for_each(|&i| counts[i] += 1);
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 100);
    }
    let deviation = (2000.0f64 * 0.25 * 0.75).sqrt();
    assert!(counts.iter().all(|&count| (f64::from(count) - 500.0).abs() < 5.5 * deviation), "{counts:?}");
    let mut all = choose(50, 50, &mut randomness.of(0, Piece::Choice));
    all.sort_unstable();
    assert!(all.into_iter().eq(0..50));
}

/// Noise of the size that was asked for, on every coordinate of the sum: with a rate of 1 and gradients clipped to
/// nearly nothing, a step is the noise alone.
#[test]
fn central_noise_has_the_size_that_was_asked_for() {
    let examples = examples();
    let network = Network::linear(3, 2);
    let protocol = Protocol::Central { clip: 1e-3, noise: 1e3 };
    let settings = Settings { rate: Rate::Constant(1.0), steps: 500, ..settings(protocol) };
    let mut training = Training::new(&network, &examples, settings, Randomness::numbered(4)).unwrap();
    let mut squares = 0.0;
    let mut before = training.state().model().to_vec();
    for _ in 0..500 {
        let step = training.step().unwrap();
        assert_eq!(step.clipped, 1.0);
        let now = training.state().model().to_vec();
        squares += now.iter().zip(&before).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
        before = now;
    }
    // 4,000 squares of N(0, 1/200): their mean is within 11 % (5 standard deviations), but for a chance of 10^-6.
    let variance = squares / 4000.0 * 200.0 * 200.0;
    assert!((variance - 1.0).abs() < 0.11, "{variance}");
}

#[test]
fn parameters_stay_in_the_ball() {
    let settings = Settings { radius: Some(0.5), ..settings(Protocol::Plain) };
    let norm = trained(settings, 1).model().iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!(norm <= 0.5 + 1e-6 && norm > 0.49, "{norm}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let (network, examples) = (Network::linear(3, 2), examples());
    let good = settings(local(MechanismName::Sign, Simulation::Fast));
    let refusal = |settings: Settings| {
        Training::new(&network, &examples, settings, Randomness::numbered(1)).unwrap_err().to_string()
    };
    assert!(refusal(Settings { examples_each_step: 0, ..good }).contains("examples in a step is 0"));
    assert!(refusal(Settings { examples_each_step: 401, ..good }).contains("at most all examples"));
    assert!(refusal(Settings { steps: 0, ..good }).contains("the number of steps is 0"));
    assert!(refusal(Settings { rate: Rate::Constant(f64::NAN), ..good }).contains("learning rate"));
    assert!(refusal(Settings { momentum: 1.0, ..good }).contains("momentum"));
    assert!(refusal(Settings { average: Average::Exponential(1.0), ..good }).contains("average"));
    assert!(refusal(Settings { radius: Some(0.0), ..good }).contains("radius"));
    assert!(refusal(settings(Protocol::Central { clip: 1.0, noise: 0.0 })).contains("noise"));
    assert!(refusal(settings(Protocol::Central { clip: -1.0, noise: 1.0 })).contains("clipping norm"));
    let faint = Protocol::Central { clip: 1.0, noise: 1e-6 };
    assert!(refusal(settings(faint)).contains("divided by 2^24"));
    let Protocol::Local { epsilon, .. } = good.protocol else { unreachable!() };
    let nobody = Protocol::Local {
        mechanism: MechanismName::Sign,
        epsilon,
        clip: 1.0,
        reports_each: 0,
        simulation: Simulation::Fast,
    };
    assert!(refusal(settings(nobody)).contains("reports of one respondent"));

    let other = Network::linear(4, 2);
    let error = Training::new(&other, &examples, good, Randomness::numbered(1)).unwrap_err().to_string();
    assert!(error.contains("4 numbers and 2 classes, the examples have 3 and 2"), "{error}");
    let state = State::from_parts(1, vec![0.0; 7], Vec::new(), vec![0.0; 8]);
    assert!(Training::resume(&network, &examples, good, Randomness::numbered(1), state).is_err());
}

/// Fifty examples, each with an input of its own, one in each of forty steps: as many weights move as examples were drawn. If
/// every step drew the same ones, only one would; fewer than 15 different ones of 40 uniform draws have a chance below 1e-9.
#[test]
fn every_step_draws_anew() {
    let inputs = (0..50 * 50).map(|i| f32::from(u8::from(i / 50 == i % 50))).collect();
    let examples = Examples::new(inputs, 50, (0..50).map(|i| i % 2).collect(), 2).unwrap();
    let network = Network::linear(50, 2);
    let settings = Settings { examples_each_step: 1, steps: 40, ..settings(Protocol::Plain) };
    let mut training = Training::new(&network, &examples, settings, Randomness::numbered(3)).unwrap();
    for _ in 0..40 {
        training.step().unwrap();
    }
    // Of the first class: one weight for each input, then the next class, then the constants.
    let moved = training.state().parts().1[..50].iter().filter(|&&x| x != 0.0).count();
    assert!((15..=40).contains(&moved), "{moved}");
}

/// v ← μv + g, θ ← θ − ηv.
#[test]
fn momentum_adds_up_gradients() {
    let settings = Settings { momentum: 0.5, ..settings(Protocol::Plain) };
    let mut state = State::new(vec![0.0], &settings);
    let places = [1.0, 2.0, 0.0].map(|gradient| {
        state.go(&[gradient], 0.5, &settings);
        state.parameters[0]
    });
    assert_eq!(places, [-0.5, -1.75, -2.375]);
}
