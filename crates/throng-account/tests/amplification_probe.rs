//! probe
use std::time::Instant;
use throng_account::amplification::clones::Clones;
use throng_account::amplification::exact;
use throng_dp::{Delta, Epsilon};
fn e(x: f64) -> Epsilon {
    Epsilon::new(x).unwrap()
}
fn d(x: f64) -> Delta {
    Delta::new(x).unwrap()
}
#[test]
fn probe() {
    for n in [2u64, 30, 1000, 30_000, 1_000_000, 50_000_000, 10_000_000_000] {
        for l in [0.0005, 0.3, 2.0, 8.0, 12.0, 16.0, 25.0] {
            for dl in [1e-3, 1e-7, 1e-15] {
                let t = Instant::now();
                let _ = exact::epsilon_certified(n, e(l), d(dl)).unwrap();
                let t1 = Instant::now();
                let _ = Clones::Standard.epsilon(n, e(l), d(dl)).unwrap();
                let t2 = Instant::now();
                let _ = Clones::Stronger.epsilon(n, e(l), d(dl)).unwrap();
                let t3 = Instant::now();
                let _ = exact::rappor_whole_epsilon(n, e(l), d(dl)).unwrap();
                let t4 = Instant::now();
                let _ = exact::cms_revealed_epsilon(n, e(l), d(dl), 1024).unwrap();
                let t5 = Instant::now();
                let _ = exact::replacement_epsilon_a0(n, e(l), d(dl)).unwrap();
                let t6 = Instant::now();
                let ts: Vec<u128> = [t1 - t, t2 - t1, t3 - t2, t4 - t3, t5 - t4, t6 - t5]
                    .iter()
                    .map(|x| x.as_millis())
                    .collect();
                if ts.iter().any(|&x| x > 60) {
                    println!("{n} {l} {dl} cert/c21/c23/whole/cms/repl {ts:?}");
                }
            }
        }
    }
}
