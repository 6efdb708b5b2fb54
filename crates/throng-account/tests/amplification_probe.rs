use throng_account::amplification::{self, blanket, clones::Clones, exact, lemma, theorem};
use throng_dp::{Delta, Epsilon};
use std::time::Instant;
fn e(x: f64) -> Epsilon { Epsilon::new(x).unwrap() }
fn d(x: f64) -> Delta { Delta::new(x).unwrap() }
#[test]
fn probe() {
    for (name, n, delta) in [("map", 236559063u64, 5e-10), ("horse", 1914589, 5e-8), ("child", 50409435, 5e-9), ("heavy", 203950512, 5e-10)] {
        for c in [0.05, 0.25, 0.5, 0.75, 1.0] {
            let t = Instant::now();
            let l = lemma::epsilon_local(n, e(c), d(delta)).unwrap();
            let th = theorem::epsilon_local(n, e(c), d(delta)).unwrap();
            let t1 = Instant::now();
            let c21 = Clones::Standard.epsilon_local(n, e(c), d(delta)).unwrap();
            let c23 = Clones::Stronger.epsilon_local(n, e(c), d(delta)).unwrap();
            let t2 = Instant::now();
            let a0 = exact::epsilon_local_a0(n, e(c), d(delta)).unwrap();
            let t3 = Instant::now();
            let x = exact::epsilon_local_certified(n, e(c), d(delta)).unwrap();
            let t4 = Instant::now();
            println!("{name} {c} {:.3} {:.3} {:.3} {:.3} a0 {:.4} cert {:.4} std {:.2} times lem {:?} clones {:?} a0 {:?} cert {:?}", l.value(), th.value(), c21.value(), c23.value(), a0.value(), x.value(), amplification::noise_std(n, x).unwrap(), t1-t, t2-t1, t3-t2, t4-t3);
        }
        println!("no_attr {:.5}", blanket::central_no_attr(n, e(2.0), d(delta)).unwrap().value());
        for l in [2.0] {
            let t = Instant::now();
            let a = exact::epsilon_a0(n, e(l), d(delta)).unwrap();
            let t1 = Instant::now();
            let c = exact::epsilon_certified(n, e(l), d(delta)).unwrap();
            let t2 = Instant::now();
            let r = exact::rappor_whole_epsilon(n, e(l), d(delta)).unwrap();
            let t3 = Instant::now();
            let rl = exact::rappor_whole_epsilon_local(n, e(1.0), d(delta)).unwrap();
            let t4 = Instant::now();
            let cl = exact::cms_revealed_epsilon_local(n, e(1.0), d(delta), 1024).unwrap();
            let t5 = Instant::now();
            println!("{name} eps at {l}: a0 {:.5} cert {:.5} whole {:.5} wholeinv {:.3} cms {:.3} {:?} {:?} {:?} {:?} {:?}", a.value(), c.epsilon().value(), r.epsilon().value(), rl.value(), cl.value(), t1-t, t2-t1, t3-t2, t4-t3, t5-t4);
        }
    }
    let n = 203950512;
    let t = Instant::now();
    for _ in 0..100 { std::hint::black_box(exact::epsilon_a0(n, e(12.99), d(5e-10)).unwrap()); }
    println!("a0 12.99: {:?}", t.elapsed() / 100);
    let n = 1914589;
    for (b, tau, f) in [(8.55, 4, 7.165), (8.55, 16, 5.775), (8.55, 256, 3.005), (2.94, 4, 1.595), (2.94, 16, 0.56), (2.94, 256, 0.035)] {
        let t = Instant::now();
        println!("merged {b} {tau} {f} {:.4} sep {:.4} {:?}", exact::fragments_merged_epsilon_a0(n, e(b), e(f), tau, d(5e-8)).unwrap().value(), exact::fragments_separate_epsilon(n, e(b), d(5e-8)).unwrap().epsilon().value(), t.elapsed());
    }
    println!("repl {:.4} {:.4}", exact::replacement_epsilon_a0(n, e(8.55), d(5e-8)).unwrap().value(), exact::replacement_epsilon_a0(n, e(10.683), d(5e-8)).unwrap().value());
    for (n, delta, l) in [(236559063u64, 5e-10, 13.14), (1914589, 5e-8, 8.55), (50409435, 5e-9, 11.70), (203950512, 5e-10, 12.99)] {
        println!("hidden {:.3} {:.3} a0 {:.4} cms {:.4}", exact::research_hidden_hash_epsilon(n, e(l), d(delta), 1024, 65536).unwrap().value(), exact::research_hidden_hash_epsilon_local(n, e(1.0), d(delta), 1024, 65536).unwrap().value(), exact::epsilon_a0(n, e(l), d(delta)).unwrap().value(), exact::cms_revealed_epsilon(n, e(l), d(delta), 1024).unwrap().epsilon().value());
    }
    for (n,l,x) in [(2000u64,5.5,0.7),(1000,4.0,0.5)] {
        let ds: Vec<f64> = (0..n).map(|a| exact::delta_a(n,a,e(l),e(x)).unwrap().value()).collect();
        let m = (0..n as usize).max_by(|&i,&j| ds[i].total_cmp(&ds[j])).unwrap();
        println!("max at {m} ratio {}", ds[m]/ds[0]);
    }
}
