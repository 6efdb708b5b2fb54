//! What one respondent costs, here and with Prio3Histogram (crate `prio`): `cargo bench -p throng --bench prio`.
//!
//! The two give different things. Prio3 sums exact counts under secret sharing: nothing is noisy before the sum, so that
//! what is published needs noise of its own, and a report is in the open if both aggregators work together. Here every
//! report has its local floor, whoever works together; the noise comes with the reports; and what is published is the
//! sum of randomized reports. Prio3 proves each report to be one value among k; here a respondent's influence is bounded by
//! the envelopes. So a ratio says what is paid, not which one is better.
//!
//! Both are measured from a value to bytes that can be sent, and from these bytes to sums: with Prio3, each of two input
//! shares is sealed to its aggregator by HPKE, as DAP (draft-ietf-ppm-dap) has it, with the same library as ours. Left out
//! on both sides: HTTP, TLS, disks, and what the two aggregators say to one another for each report (about as long as
//! the verifier, which is printed).
//!
//! Ours has K = 3 instances of M = 2 hops and b from the planner for 1,000,000 honest respondents, one fragment per bit,
//! epsilon_central 1 and delta 1e-6, with all its chaff. Times are processor time, medians over turns that alternate.

use std::hint::black_box;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use cpu_time::ThreadTime;
use prio::codec::{Encode, ParameterizedDecode};
use prio::vdaf::prio3::{Prio3Histogram, Prio3InputShare, Prio3PublicShare, optimal_chunk_length};
use prio::vdaf::{Aggregatable, Aggregator, Client, VerifyTransition};
use throng_account::planner::{self, Choice, Distribution, Encoding, Plan, Question, cost};
use throng_dp::sampling::below;
use throng_dp::{Delta, Epsilon, Mechanism, Value};
use throng_testing::survey::{SURVEY, with};
use throng_testing::wire::World;
use throng_wire::peel::{HopContent, open_body, open_fragment, peel};
use throng_wire::seal::{open, seal};
use throng_wire::{
    Fragment, LayerKeys, LayerSecretKey, Layout, Lifetime, Path, Place, Route, Stop, Survey, SurveyHash,
};

fn main() {
    println!(
        "Per respondent. Ours: n = {RESPONDENTS}, all honest, epsilon_central 1, delta 1e-6, K = {INSTANCES}, M = {HOPS}, \
         one fragment per bit."
    );
    for values in [100, 10_000, 87_680] {
        let ours = ThrongSurvey::new(values);
        let prio = Prio::new(values);
        let (mut our_turns, mut prio_turns) = (Vec::new(), Vec::new());
        for turn in 0..TURNS {
            our_turns.push(ours.turn(turn));
            prio_turns.push(prio.turn(turn));
        }
        print(values, &ours, &prio, &median(&our_turns), &median(&prio_turns));
    }
}

fn print(values: u64, ours: &ThrongSurvey, prio: &Prio, our: &[f64; STEPS], their: &[f64; STEPS]) {
    let Plan { envelopes, fragments, ref exposure, .. } = ours.plan;
    println!(
        "\nk = {values}: b = {envelopes}, epsilon_local {}, {fragments:.2} fragments; Prio3 with chunks of {}",
        exposure.epsilon_floor.value(),
        prio.chunk
    );
    let [respondent, hop_1, hop_2, analyzer] = *our;
    let [shard, client, leader, helper] = *their;
    let servers = f64::from(INSTANCES) * (hop_1 + hop_2) + analyzer;
    let row = |name: &str, ours: f64, theirs: f64| {
        println!("{name:<34}{ours:>14.1}{theirs:>14.1}{:>12.3}", ours / theirs);
    };
    println!("{:<34}{:>14}{:>14}{:>12}", "", "throng", "Prio3", "ratio");
    row("respondent, us", respondent, client);
    row("bytes sent", ours.bytes() as f64, prio.bytes() as f64);
    row("all servers, us", servers, leader + helper);
    println!("  of Prio3's respondent, sharding without encoding and seals: {shard:.1} us");
    println!("  hop 1, hop 2 (one instance), analyzer: {hop_1:.1}, {hop_2:.1}, {analyzer:.1} us");
    println!(
        "  leader, helper: {leader:.1}, {helper:.1} us; a verifier share has {} bytes",
        prio.verifier_len()
    );
    let (model, prio_model) =
        (cost::throng(&ours.plan, INSTANCES, HOPS, ours.bytes() as u64), cost::prio3(values));
    println!("  the planner's model: throng {model:.0?}");
    println!("                       Prio3 {prio_model:.0?}");
}

/// What each step takes in microseconds: a respondent and three others, or parts of them.
const STEPS: usize = 4;

fn median(turns: &[[f64; STEPS]]) -> [f64; STEPS] {
    std::array::from_fn(|step| {
        let mut values: Vec<f64> = turns.iter().map(|turn| turn[step]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

/// Microseconds of processor time for each of some repetitions.
fn time_us(repetitions: usize, mut work: impl FnMut(usize)) -> f64 {
    let start = ThreadTime::now();
    (0..repetitions).for_each(&mut work);
    1e6 * start.elapsed().as_secs_f64() / repetitions as f64
}

/// A survey as planned, with all its keys.
struct ThrongSurvey {
    plan: Plan,
    world: World,
    layout: Layout,
    paths: Vec<Path>,
}

impl ThrongSurvey {
    fn new(values: u64) -> Self {
        let question = Question {
            epsilon_central: Epsilon::new(1.0).expect("a constant"),
            delta: Delta::new(1e-6).expect("a constant"),
            respondents: RESPONDENTS,
            honest_fraction: 1.0,
            domain: values,
            report_fragments: 1,
            instances: INSTANCES,
            encoding: Choice::Recommend,
            distribution: Distribution::Uniform,
            labels: None,
        };
        let plan = planner::plan(&question).expect("a crowd that is large enough");
        assert_eq!(plan.encoding, Encoding::OneHot);
        let survey = Survey::from_toml(&survey_text(values, &plan)).expect("the survey is valid");
        let world = World::with_keys(survey, LIFETIME);
        let paths = (1..=INSTANCES).map(|instance| world.path(0, 0, instance)).collect();
        Self { plan, layout: Layout::of(world.survey.survey()), world, paths }
    }

    fn bytes(&self) -> usize {
        INSTANCES as usize * self.layout.body_len(self.plan.envelopes)
    }

    /// The fragments of a value, each for an instance that is drawn.
    fn bodies(&self, value: u64, mechanism: &Mechanism, rng: &mut ChaCha20Rng) -> Vec<Vec<u8>> {
        let fragments = mechanism.randomize(Some(&Value::from(value)), rng).expect("a value of the domain");
        let mut routed = vec![Vec::new(); INSTANCES as usize];
        for &attribute in fragments.attributes() {
            routed[below(u64::from(INSTANCES), rng) as usize].push(Fragment::new(attribute));
        }
        let bodies = self.paths.iter().zip(routed).map(|(path, fragments)| path.body(&fragments, rng));
        bodies.collect::<Result<_, _>>().expect("room for all but once in a million surveys")
    }

    fn turn(&self, turn: u64) -> [f64; STEPS] {
        let mut rng = ChaCha20Rng::seed_from_u64(turn);
        let mechanism = self.world.survey.survey().mechanism().expect("a valid survey");
        let domain = self.world.survey.survey().domain();
        let mut bodies = Vec::new();
        let respondent = time_us(RESPONDENTS_PER_TURN, |index| {
            bodies.push(self.bodies(index as u64 % domain, &mechanism, &mut rng));
        });
        let route = self.paths[0].route();
        let mut opened = Vec::new();
        let hop_1 = time_us(bodies.len(), |index| {
            opened.push(
                open_body(route, &self.layout, self.world.keys(1, 1), &bodies[index][0]).expect("ours"),
            );
        });
        let mut inner = Vec::new();
        let hop_2 = time_us(opened.len(), |index| {
            for envelope in opened[index].chunks_exact(self.layout.envelope_len(Stop::Hop(2))) {
                match peel(route, &self.layout, 2, self.world.keys(1, 2), envelope).expect("ours") {
                    HopContent::Envelope(envelope) => inner.push(envelope),
                    HopContent::Chaff => {}
                }
            }
        });
        // One fragment after another, as many as there are on average.
        let analyzer = &self.world.layers[&Place::Analyzer];
        let each = time_us(inner.len(), |index| {
            let opened = open_fragment(route, &self.layout, domain, analyzer, &inner[index]);
            let _ = black_box(opened.expect("ours"));
        });
        [respondent, hop_1, hop_2, each * self.plan.fragments]
    }
}

/// Prio3Histogram with two aggregators.
struct Prio {
    vdaf: Prio3Histogram,
    values: u64,
    chunk: usize,
    /// What the seals of its shares are bound to: as many bytes as ours are.
    route: Route,
    keys: LayerKeys,
}

/// What a client sends: the public share, and the two sealed input shares.
struct Report {
    nonce: [u8; 16],
    public: Vec<u8>,
    shares: [Vec<u8>; 2],
}

impl Prio {
    fn new(values: u64) -> Self {
        let length = values as usize;
        let chunk = optimal_chunk_length(length);
        let vdaf = Prio3Histogram::new_histogram(2, length, chunk).expect("a valid length");
        let route = Route { survey: SurveyHash::new([1; 32]), label: 0, epoch: 0, instance: 1 };
        Self { vdaf, values, chunk, route, keys: layer_keys() }
    }

    fn bytes(&self) -> usize {
        let report = self.report(0, [0; 16]);
        report.nonce.len() + report.public.len() + report.shares.iter().map(Vec::len).sum::<usize>()
    }

    fn verifier_len(&self) -> usize {
        let report = self.report(0, [0; 16]);
        let (_, share) = self.verify(&report, 0);
        share.get_encoded().expect("it has a form").len()
    }

    fn report(&self, value: usize, nonce: [u8; 16]) -> Report {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(&nonce);
        let mut rng = ChaCha20Rng::from_seed(seed);
        let (public, shares) = self.vdaf.shard(CONTEXT, &value, &nonce).expect("a value of the domain");
        let mut sealed = |index: usize| {
            let bytes = shares[index].get_encoded().expect("it has a form");
            seal(&self.route, Stop::Hop(index as u32 + 1), &self.keys.public()[0], &bytes, &mut rng)
                .expect("a valid key")
        };
        Report { nonce, public: public.get_encoded().expect("it has a form"), shares: [sealed(0), sealed(1)] }
    }

    /// What an aggregator does before it hears from the other one.
    fn verify(&self, report: &Report, aggregator: usize) -> (State, Share) {
        let stop = Stop::Hop(aggregator as u32 + 1);
        let bytes = open(&self.route, stop, &self.keys, &report.shares[aggregator]).expect("ours");
        let share = Prio3InputShare::get_decoded_with_param(&(&self.vdaf, aggregator), &bytes).expect("ours");
        let public = Prio3PublicShare::get_decoded_with_param(&self.vdaf, &report.public).expect("ours");
        let verified = self.vdaf.verify_init(KEY, CONTEXT, aggregator, &(), &report.nonce, &public, &share);
        verified.expect("ours")
    }

    fn turn(&self, turn: u64) -> [f64; STEPS] {
        let mut rng = ChaCha20Rng::seed_from_u64(turn);
        // About a second for a turn, whatever the domain.
        let reports_per_turn = (2_000_000 / self.values).clamp(8, 400) as usize;
        let nonces: Vec<[u8; 16]> = (0..reports_per_turn)
            .map(|_| {
                let mut nonce = [0; 16];
                rng.fill_bytes(&mut nonce);
                nonce
            })
            .collect();
        let value = |index: usize| index % self.values as usize;
        let shard = time_us(reports_per_turn, |index| {
            let _ = black_box(self.vdaf.shard(CONTEXT, &value(index), &nonces[index]).expect("a value"));
        });
        let mut reports = Vec::new();
        let client =
            time_us(reports_per_turn, |index| reports.push(self.report(value(index), nonces[index])));
        let mut begun: [Vec<(State, Share)>; 2] = [Vec::new(), Vec::new()];
        let mut spent = [0.0; 2];
        for aggregator in [0, 1] {
            spent[aggregator] = time_us(reports_per_turn, |index| {
                begun[aggregator].push(self.verify(&reports[index], aggregator));
            });
        }
        // Each of them puts both verifiers together, checks the proof, and adds its share to its sums.
        let messages: Vec<[Share; 2]> =
            (0..reports_per_turn).map(|index| [0, 1].map(|one: usize| begun[one][index].1.clone())).collect();
        for (aggregator, states) in begun.into_iter().enumerate() {
            let mut sums = self.vdaf.aggregate_init(&());
            let mut states = states.into_iter();
            spent[aggregator] += time_us(reports_per_turn, |index| {
                let (state, _) = states.next().expect("one for each report");
                let message = self.vdaf.verifier_shares_to_message(CONTEXT, &(), messages[index].clone());
                match self.vdaf.verify_next(CONTEXT, state, message.expect("a valid proof")).expect("ours") {
                    VerifyTransition::Finish(share) => sums.accumulate(&share).expect("of one length"),
                    VerifyTransition::Continue(..) => unreachable!("Prio3 has one round"),
                }
            });
            let _ = black_box(sums);
        }
        [shard, client, spent[0], spent[1]]
    }
}

type State = <Prio3Histogram as Aggregator<32, 16>>::VerifyState;
type Share = <Prio3Histogram as Aggregator<32, 16>>::VerifierShare;

fn layer_keys() -> LayerKeys {
    let mut keys = LayerKeys::new();
    let key = LayerSecretKey::from_bytes(1, LIFETIME, &[10; 32]).expect("any bytes are a key");
    keys.add(key).expect("the only key");
    keys
}

fn survey_text(values: u64, plan: &Plan) -> String {
    let epsilon = plan.exposure.epsilon_floor.value();
    let envelopes = plan.envelopes;
    let fields = [
        ("name", r#""bench""#.to_owned()),
        ("question", r#""Which value?""#.to_owned()),
        ("encoding", format!("{{ kind = \"one-hot\", domain = {values} }}")),
        ("randomizer", format!("{{ kind = \"attribute-fragments\", epsilon_local = {epsilon} }}")),
        (
            "crowd",
            format!(
                "{{ respondents_min = {RESPONDENTS}, honest_fraction = 1.0, enrolment = \"credential\" }}"
            ),
        ),
        (
            "delivery",
            format!(
                "{{ instances = {INSTANCES}, hops = {HOPS}, envelopes = {envelopes}, cover = \"chaff\" }}"
            ),
        ),
    ];
    with(SURVEY, &fields.each_ref().map(|(name, value)| (*name, value.as_str())))
}

const TURNS: u64 = 7;
const RESPONDENTS_PER_TURN: usize = 50;
const RESPONDENTS: u64 = 1_000_000;
const INSTANCES: u32 = 3;
const HOPS: u32 = 2;
const LIFETIME: Lifetime = Lifetime { first_epoch: 0, last_epoch: 9 };

const CONTEXT: &[u8] = b"throng bench";
const KEY: &[u8; 32] = &[3; 32];
