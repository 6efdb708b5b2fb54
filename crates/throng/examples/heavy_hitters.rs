//! The speed of a simulation at full size, against its goals: the paper's heavy-hitter survey (203,950,512 respondents,
//! 1,778,120 values, epsilon_local 12.99, about 10^9 fragments), every respondent by one thread and by two, and the
//! aggregate.
//!
//! ```sh
//! cargo run --release -p throng --example heavy_hitters
//! ```
//!
//! Goals: at most 60 s of CPU on one thread and under 1 GiB, two threads at least 1.8 times as fast as one, and at most
//! 2 s for the aggregate. Run it when nothing else does: wall time is what two threads are compared by.

use std::time::Instant;

use anyhow::Result;
use cpu_time::ProcessTime;
use indicatif::{HumanBytes, HumanCount};
use throng_simulate::dataset::{Dataset, Generator};
use throng::memory::peak_rss_bytes;
use throng_simulate::simulation::{Mode, Simulation};
use throng_analyze::Accuracy;
use throng_dp::{Epsilon, Mechanism, OneHot};

fn main() -> Result<()> {
    let data = Dataset::generate(&Generator::default())?;
    let mechanism = Mechanism::plain(OneHot::new(data.domain(), Epsilon::new(12.99)?)?);
    println!(
        "{} respondents, {} values, {:.3e} fragments expected",
        HumanCount(data.respondents()),
        HumanCount(data.domain()),
        data.respondents() as f64 * mechanism.fragments_expected()
    );
    run(&mechanism, &data, Mode::Aggregate, 1)?;
    run(&mechanism, &data, Mode::Aggregate, 2)?;
    let one = run(&mechanism, &data, Mode::Respondent, 1)?;
    let two = run(&mechanism, &data, Mode::Respondent, 2)?;
    println!("two threads are {:.2} times as fast as one", one / two);
    Ok(())
}

/// Runs once, prints what it cost, and gives the wall seconds.
fn run(mechanism: &Mechanism, data: &Dataset, mode: Mode, threads: usize) -> Result<f64> {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let simulated = Simulation { mechanism, counts: data.counts(), mode, seed: 1, threads }.run(|_| ())?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    let accuracy = Accuracy::of(&simulated.estimates, data.counts(), &mechanism.spread_of(data.counts()));
    let memory = peak_rss_bytes().map_or("unknown".to_owned(), |bytes| HumanBytes(bytes).to_string());
    println!(
        "{mode:?}, {threads} threads: {wall:.2} s wall, {cpu:.2} s CPU, {} fragments, peak {memory} so far, RMSE {:.2} \
         ({:.2} expected)",
        HumanCount(simulated.fragments),
        accuracy.rmse,
        accuracy.rmse_expected
    );
    Ok(wall)
}
