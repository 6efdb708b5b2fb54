//! What a respondent sends in one epoch: one sealed body for every instance. Cover traffic (chaff) makes the number and
//! lengths of bodies the same for everyone, whatever the value, also for those who have nothing to say.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use throng_dp::{Fragments, Mechanism, Value};
use throng_wire::{Channel, Digest, Fragment, KeyList, Path, Route, SignedSurvey, SurveyHash};
use zeroize::Zeroizing;

use crate::Error;
use crate::routing::Routing;
use crate::schedule::Schedule;

/// One body of an answer, sealed for hop 1 of its instance: as it is made, stored and sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The instance.
    pub instance: u32,
    /// When it is sent: milliseconds since 1970-01-01T00:00:00Z.
    pub send_at_ms: u64,
    /// SHA-256 of its bytes, which the receipt has to name.
    pub digest: Digest,
    /// How many bytes it has.
    pub length: u64,
    /// Whether the bytes are still there.
    kept: bool,
    /// In a file they stand behind the description of all bodies.
    #[serde(skip)]
    bytes: Vec<u8>,
}

/// The bodies of an answer on a value, or of somebody who has nothing to say: value -> report -> fragments -> bodies, instance
/// 1 first. `mechanism` is the survey's. Behind a backstop it draws one and forgets it, which is right for a single epoch only:
/// over several, the fragments come from a [`crate::StoredBackstop`] and are [`seal`]ed.
pub fn answer(
    survey: &SignedSurvey,
    lists: &[KeyList],
    mechanism: &Mechanism,
    label: u32,
    schedule: &Schedule,
    value: Option<&Value>,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<Body>, Error> {
    let fragments = mechanism.randomize(value, rng)?;
    seal(survey, lists, label, schedule, &fragments, rng)
}

/// Routes the fragments of one epoch to the instances and seals them to the keys of these lists. An instance that gets
/// none, by chance or because it is not in the label's trust profile, gets a body of chaff like any other.
pub fn seal(
    survey: &SignedSurvey,
    lists: &[KeyList],
    label: u32,
    schedule: &Schedule,
    fragments: &Fragments,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<Body>, Error> {
    let routed = Routing::of(survey.survey(), label, fragments.tau())?.route(fragments.attributes(), rng);
    let routed = Zeroizing::new(routed);
    let mut bodies = Vec::with_capacity(routed.len());
    for (instance, attributes) in (1..).zip(routed.iter()) {
        let path = Path::new(survey, label, schedule.epoch(), instance, lists)?;
        let fragments: Vec<Fragment> = attributes.iter().map(|&attribute| Fragment::new(attribute)).collect();
        let bytes = path.body(&fragments, rng)?;
        bodies.push(Body {
            instance,
            send_at_ms: schedule.draw_ms(rng),
            digest: Digest::of(&bytes),
            length: bytes.len() as u64,
            kept: true,
            bytes,
        });
    }
    Ok(bodies)
}

impl Body {
    /// What it is bound to, in an epoch of a survey under a label.
    pub fn route(&self, survey: SurveyHash, channel: Channel) -> Route {
        Route { survey, label: channel.label, epoch: channel.epoch, instance: self.instance }
    }

    /// Its bytes, the same for every try; none once they were dropped.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Drops the bytes, which are sent no more. Their hash stays.
    pub fn drop_bytes(&mut self) {
        (self.kept, self.bytes) = (false, Vec::new());
    }

    /// Takes its bytes from the front of `stored`, and returns what follows them; `None` if their hash is another.
    pub fn read_bytes<'a>(&mut self, stored: &'a [u8]) -> Option<&'a [u8]> {
        if !self.kept {
            return Some(stored);
        }
        let (bytes, rest) = stored.split_at_checked(usize::try_from(self.length).ok()?)?;
        if Digest::of(bytes) != self.digest {
            return None;
        }
        self.bytes = bytes.to_vec();
        Some(rest)
    }
}

/// Bytes that are sealed say nothing, and are many.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body(instance {}, {} bytes, {})", self.instance, self.length, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EpochChoice;
    use crate::testing::{FRAGMENTED, PROFILES, RECORD, SURVEY, World, world};
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_wire::{AnalyzerContent, HopContent, Layout, Place, Stop, peel};

    fn answer_to(survey: &str, value: Option<impl Into<Value>>, seed: u8) -> Vec<Body> {
        answer_under(survey, 0, value, seed)
    }

    fn answer_under(survey: &str, label: u32, value: Option<impl Into<Value>>, seed: u8) -> Vec<Body> {
        let world = world(survey);
        let mechanism = world.survey.survey().mechanism().unwrap();
        let rng = &mut ChaCha20Rng::from_seed([seed; 32]);
        let schedule = Schedule::new(world.survey.survey(), EpochChoice::NextEpoch, 0).unwrap();
        let value = value.map(Into::into);
        answer(&world.survey, &world.lists, &mechanism, label, &schedule, value.as_ref(), rng).unwrap()
    }

    /// Promise 4: with chaff neither number nor lengths depend on the value, or on there being one.
    #[test]
    fn bodies_are_alike_for_any_value_and_for_none() {
        let reference = answer_to(RECORD, None::<Value>, 1);
        for (seed, record) in [(2, [None; 3]), (3, [Some(0), None, None]), (4, [Some(8), Some(1), Some(772)])]
        {
            assert_eq!(shape(&answer_to(RECORD, Some(record.to_vec()), seed)), shape(&reference));
        }
        for survey in [SURVEY, FRAGMENTED] {
            let reference = answer_to(survey, None::<u64>, 1);
            assert_eq!(shape(&reference).iter().map(|body| body.0).collect::<Vec<_>>(), [1, 2, 3]);
            for (seed, value) in [(2, None), (3, Some(0)), (4, Some(783)), (5, Some(7)), (6, Some(7))] {
                let other = answer_to(survey, value, seed);
                assert_eq!(shape(&other), shape(&reference));
                assert!(other.iter().zip(&reference).all(|(one, two)| one.digest != two.digest));
            }
            let times: Vec<u64> = reference.iter().map(|body| body.send_at_ms).collect();
            assert!(times[0] != times[1] && times[1] != times[2], "{times:?}");
        }
    }

    /// What shows of bodies: their instances and lengths.
    fn shape(bodies: &[Body]) -> Vec<(u32, usize)> {
        assert!(bodies.iter().all(|body| body.length == body.bytes().len() as u64));
        bodies.iter().map(|body| (body.instance, body.bytes().len())).collect()
    }

    /// What a body is bound to that was made in epoch 0, for epoch 1.
    fn route(world: &World, label: u32, body: &Body) -> Route {
        body.route(world.survey.hash(), Channel { label, epoch: 1 })
    }

    /// The envelopes that hop 1 finds in a body.
    fn envelopes(world: &World, label: u32, body: &Body) -> Option<Vec<u8>> {
        let layout = Layout::of(world.survey.survey());
        let keys = &world.layers[&Place::hop(body.instance, 1)];
        peel::open_body(&route(world, label, body), &layout, keys, body.bytes()).ok()
    }

    /// What the analyzer opens of each body, with all hops' keys.
    fn arrived(world: &World, label: u32, bodies: &[Body]) -> Vec<Vec<u32>> {
        let layout = Layout::of(world.survey.survey());
        let open = |body: &Body| {
            assert_eq!(body.digest, Digest::of(body.bytes()));
            let route = route(world, label, body);
            let hop = &world.layers[&Place::hop(body.instance, 2)];
            let mut arrived = Vec::new();
            for envelope in
                envelopes(world, label, body).unwrap().chunks_exact(layout.envelope_len(Stop::Hop(2)))
            {
                if let HopContent::Envelope(inner) = peel::peel(&route, &layout, 2, hop, envelope).unwrap() {
                    let (attributes, keys) =
                        (world.survey.survey().attributes(), &world.layers[&Place::Analyzer]);
                    if let Ok(AnalyzerContent::Fragment(fragment)) =
                        peel::open_fragment(&route, &layout, attributes, keys, &inner)
                    {
                        arrived.push(fragment.attribute());
                    }
                }
            }
            arrived
        };
        bodies.iter().map(open).collect()
    }

    /// Number and lengths of what is sent to each instance are the same under every trust profile, whatever the value, and
    /// without one: what a hop or the network sees is the label.
    #[test]
    fn bodies_are_alike_under_every_trust_profile() {
        for survey in [PROFILES.to_owned(), PROFILES.replace("hops = 2", "hops = 1")] {
            let signed = world(&survey);
            let reference = shape(&answer_under(&survey, 1, None::<u64>, 1));
            assert_eq!(reference.iter().map(|body| body.0).collect::<Vec<_>>(), [1, 2, 3]);
            assert!(reference.iter().all(|body| body.1 == reference[0].1));
            for label in 1..=3 {
                for (seed, value) in [(2, None), (3, Some(0)), (4, Some(783))] {
                    let answer = answer_under(&survey, label, value, seed);
                    assert_eq!(shape(&answer), reference, "{label}: {value:?}");
                    let opens = |body| envelopes(&signed, label, body).is_some();
                    assert!(answer.iter().all(opens), "each is bound to its label");
                }
            }
        }
    }

    /// Nine fragments under each label: all arrive, and none where the label does not send any.
    #[test]
    fn instances_outside_the_trust_profile_get_chaff_alone() {
        let world = world(PROFILES);
        let schedule = Schedule::new(world.survey.survey(), EpochChoice::NextEpoch, 0).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([8; 32]);
        let fragments: Vec<u32> = (0..9).map(|number| 80 * number).collect();
        for (label, outside) in [(1, &[][..]), (2, &[1]), (3, &[0, 2])] {
            let sent = Fragments::new(fragments.clone(), 1);
            let answer = seal(&world.survey, &world.lists, label, &schedule, &sent, rng).unwrap();
            let arrived = arrived(&world, label, &answer);
            assert!(outside.iter().all(|&place: &usize| arrived[place].is_empty()), "{label}: {arrived:?}");
            let mut all = arrived.concat();
            all.sort_unstable();
            assert_eq!(all, fragments, "{label}");
        }
    }

    /// What the analyzer opens is what was encoded.
    #[test]
    fn fragments_arrive_through_the_hops() {
        let world = world(SURVEY);
        let schedule = Schedule::new(world.survey.survey(), EpochChoice::NextEpoch, 0).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([7; 32]);
        let fragments: Vec<u32> = (0..9).map(|number| 80 * number).collect();
        let sent = Fragments::new(fragments.clone(), 1);
        let answer = seal(&world.survey, &world.lists, 0, &schedule, &sent, rng).unwrap();
        let mut arrived = arrived(&world, 0, &answer).concat();
        arrived.sort_unstable();
        assert_eq!(arrived, fragments);
    }

    /// Promise 4 in time: when a body is sent depends neither on what is in it, nor on what the others hold, nor on when they are
    /// sent. A third of the answers is empty, a third has one fragment (for instance 1), a third two (for instances 1 and 2), so
    /// that bodies with and without fragments have company of both kinds.
    ///
    /// 3,600 answers. A time is counted in tenths of the window for each of nine groups (instance and kind of answer, 1,200 times
    /// each), and in pairs of thirds for each pair of instances (3,600 each): 90 + 27 counts, each of a binomial law with share
    /// p = 1/10 or 1/9. Each is within z standard deviations: ALPHA = 1e-6 over 117 counts on two sides is 4.3e-9 for a tail,
    /// z = 5.76 by the normal approximation; z = 6.5 leaves room for the binomial's heavier one (mean 120: Chernoff's bound at
    /// 120 + 6.5 x 10.4 is 2e-9). A body that is sent in the first half because it is empty puts 240 where 120 belong.
    #[test]
    fn times_are_independent_of_one_another_and_of_what_is_sent() {
        const ANSWERS: usize = 3600;
        let text = SURVEY.replace("hops = 2", "hops = 1").replace("envelopes = 40", "envelopes = 1");
        let world = world(&text);
        let survey = world.survey.survey();
        assert_eq!((survey.delivery.hops, survey.delivery.envelopes, survey.delivery.instances), (1, 1, 3));
        let schedule = Schedule::new(survey, EpochChoice::NextEpoch, 0).unwrap();
        let (first_ms, length_ms) = (survey.epoch_s * 1000 + 60_000, survey.epoch_s * 1000 - 120_000);
        let rng = &mut ChaCha20Rng::from_seed([6; 32]);
        let mut tenths = [[[0_u32; 10]; 3]; 3];
        let mut thirds = [[[0_u32; 3]; 3]; 3];
        for number in 0..ANSWERS {
            let kind = number % 3;
            let fragments = Fragments::new([&[][..], &[300], &[300, 301]][kind].to_vec(), 1);
            let answer = seal(&world.survey, &world.lists, 0, &schedule, &fragments, rng).unwrap();
            let part =
                |body: usize, parts: u64| (parts * (answer[body].send_at_ms - first_ms) / length_ms) as usize;
            for instance in 0..3 {
                tenths[instance][kind][part(instance, 10)] += 1;
                let other = (instance + 1) % 3;
                thirds[instance][part(instance, 3)][part(other, 3)] += 1;
            }
        }
        let near = |count: u32, of: usize, share: f64| {
            let mean = of as f64 * share;
            (f64::from(count) - mean).abs() < 6.5 * (mean * (1.0 - share)).sqrt()
        };
        for (instance, kinds) in tenths.iter().enumerate() {
            for (kind, counts) in kinds.iter().enumerate() {
                let even = counts.iter().all(|&count| near(count, ANSWERS / 3, 0.1));
                assert!(even, "instance {}, {kind} fragments in all: {counts:?}", instance + 1);
            }
        }
        let even = thirds.iter().flatten().flatten().all(|&count| near(count, ANSWERS, 1.0 / 9.0));
        assert!(even, "pairs of times: {thirds:?}");
    }

    #[test]
    fn what_is_shown_has_no_bytes() {
        let body = &answer_to(SURVEY, Some(7), 1)[0];
        assert_eq!(format!("{body:?}"), format!("Body(instance 1, {} bytes, {})", body.length, body.digest));
    }
}
