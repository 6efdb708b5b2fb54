//! How fast layers are sealed and opened, beside the `hpke` crate: `cargo bench -p throng-wire --bench seal`.
//!
//! Target: seal and open at least 2.3 times as fast as `hpke`, whose arithmetic is Rust and not assembly. Speeds of a
//! shared machine drift, so the ratios that are printed first come from processor time in short turns that alternate.

use std::hint::black_box;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use cpu_time::ThreadTime;
use criterion::Criterion;
use hpke::aead::AesGcm128;
use hpke::kdf::HkdfSha256;
use hpke::kem::{Kem, X25519HkdfSha256};
use hpke::{Deserializable, OpModeR, OpModeS, Serializable};
use throng_testing::wire::{SHAPE, Shape, World, draft};
use throng_wire::peel::{open_body, peel};
use throng_wire::seal::{open, seal};
use throng_wire::{Fragment, Layout, Lifetime, Path, Route, Stop, SurveyHash};

const INFO: &[u8] = b"throng-v1 layer";
const PLAINTEXT: [u8; 32] = [7; 32];
const STOP: Stop = Stop::Hop(2);

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let route = Route { survey: SurveyHash::new([1; 32]), label: 0, epoch: 0, instance: 1 };
    let world = world();
    let keys = world.keys(1, 2);
    let key = keys.public()[0];
    let mut our_rng = ChaCha20Rng::from_seed([6; 32]);
    let layer = seal(&route, STOP, &key, &PLAINTEXT, &mut our_rng).expect("a valid key");

    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let (secret, public) = X25519HkdfSha256::derive_keypair(&[3; 32]);
    // Both are given their public key as bytes, as it comes out of a key list.
    let public = public.to_bytes();
    let aad = [4; 53];
    let mut hpke_seal = || {
        let public = <X25519HkdfSha256 as Kem>::PublicKey::from_bytes(&public).expect("a valid key");
        hpke::single_shot_seal_with_rng::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &public,
            INFO,
            black_box(&PLAINTEXT),
            &aad,
            &mut rng,
        )
        .expect("a valid key")
    };
    let (enc, ciphertext) = hpke_seal();
    let hpke_open = || {
        hpke::single_shot_open::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &secret,
            &enc,
            INFO,
            black_box(&ciphertext),
            &aad,
        )
        .expect("a valid seal")
    };
    let mut our_seal = || seal(&route, STOP, &key, black_box(&PLAINTEXT), &mut our_rng).expect("a valid key");
    let our_open = || open(&route, STOP, keys, black_box(&layer)).expect("a valid layer");

    report("seal", &mut || drop(black_box(our_seal())), &mut || drop(black_box(hpke_seal())));
    report("open", &mut || drop(black_box(our_open())), &mut || drop(black_box(hpke_open())));

    criterion.bench_function("seal/throng", |b| b.iter(&mut our_seal));
    criterion.bench_function("seal/hpke", |b| b.iter(&mut hpke_seal));
    criterion.bench_function("open/throng", |b| b.iter(our_open));
    criterion.bench_function("open/hpke", |b| b.iter(hpke_open));
    bodies(&mut criterion, &world);
    criterion.final_summary();
}

/// The median over alternating turns of both, and of the ratios turn by turn.
fn report(name: &str, ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) {
    let turn = |work: &mut dyn FnMut()| {
        let start = ThreadTime::now();
        (0..SEALS_PER_TURN).for_each(|_| work());
        1e6 * start.elapsed().as_secs_f64() / f64::from(SEALS_PER_TURN)
    };
    let turns: Vec<(f64, f64)> = (0..TURNS).map(|_| (turn(ours), turn(theirs))).collect();
    let median = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = turns.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!(
        "{name}: throng {:.1} us, hpke {:.1} us, ratio {:.2} (target 2.3)",
        median(&|turn| turn.0),
        median(&|turn| turn.1),
        median(&|turn| turn.1 / turn.0)
    );
}

/// What a respondent sends in an epoch, and what each hop does with its part: b = 10 envelopes, K = 3, M = 2.
fn bodies(criterion: &mut Criterion, world: &World) {
    let layout = Layout::of(world.survey.survey());
    let fragments = [Fragment::new(5), Fragment::new(6)];
    let paths: Vec<Path> = (1..=3).map(|instance| world.path(0, 0, instance)).collect();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    criterion.bench_function("bodies/respondent/b=10,K=3,M=2", |b| {
        b.iter(|| {
            let bodies = paths.iter().map(|path| path.body(&fragments, &mut rng).expect("room for two"));
            bodies.map(|body| body.len()).sum::<usize>()
        });
    });
    let body = paths[0].body(&fragments, &mut rng).expect("room for two");
    let keys = |hop| world.keys(1, hop);
    criterion.bench_function("bodies/hop-1/b=10", |b| {
        b.iter(|| open_body(paths[0].route(), &layout, keys(1), black_box(&body)).expect("a valid body"));
    });
    let envelopes = open_body(paths[0].route(), &layout, keys(1), &body).expect("a valid body");
    criterion.bench_function("bodies/hop-2/b=10", |b| {
        b.iter(|| {
            let envelopes = black_box(&envelopes).chunks_exact(layout.envelope_len(Stop::Hop(2)));
            envelopes.filter(|envelope| peel(paths[0].route(), &layout, 2, keys(2), envelope).is_ok()).count()
        });
    });
}

/// A signed survey with the keys of all parties.
fn world() -> World {
    let lifetime = Lifetime { first_epoch: 0, last_epoch: 9 };
    World::with_keys(draft(Shape { envelopes: 10, ..SHAPE }), lifetime)
}

const TURNS: usize = 301;
const SEALS_PER_TURN: u32 = 20;
