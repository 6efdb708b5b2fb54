//! Our side of the accountant's comparison with public Python code: `account_peers CASE ROUNDS` prints one line of JSON with the
//! thread CPU seconds per answer of each round. `bench/peers/run` runs it beside the peers.

use std::error::Error;
use std::hint::black_box;

use cpu_time::ThreadTime;
use throng_account::amplification::clones::Clones;
use throng_account::composition::gaussian_epsilon;
use throng_account::gaussian::Gaussian;
use throng_dp::{Delta, Epsilon};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        return Err("give a case and a number of rounds, for example: account_peers pld-gaussian 7".into());
    };
    let rounds: usize = rounds.parse()?;
    let seconds = match case.as_str() {
        // 10,000 Gaussian releases of sigma 100, at delta 1e-6.
        "pld-gaussian" => {
            let (one, delta) = (Gaussian::new(100.0, 1.0)?, Delta::new(1e-6)?);
            time(rounds, || gaussian_epsilon(one, 10_000, delta).map(|epsilon| epsilon.value()))?
        }
        // Clones of 2021 for 100,000 respondents of epsilon_local 4, at delta 1e-6.
        "clones21-epsilon" => {
            let (local, delta) = (Epsilon::new(4.0)?, Delta::new(1e-6)?);
            time(rounds, || Clones::Standard.epsilon(100_000, local, delta).map(|g| g.epsilon().value()))?
        }
        other => return Err(format!("there is no case {other}").into()),
    };
    println!("{{\"case\": \"{case}\", \"unit\": \"answer\", \"seconds_per_unit\": {seconds:?}}}");
    Ok(())
}

/// Answers once to warm up, and then `rounds` times.
fn time<T, E: Error + 'static>(
    rounds: usize,
    answer: impl Fn() -> Result<T, E>,
) -> Result<Vec<f64>, Box<dyn Error>> {
    black_box(answer()?);
    let mut seconds = Vec::new();
    for _ in 0..rounds {
        let start = ThreadTime::now();
        black_box(answer()?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
