//! What a respondent sends in one epoch: one body for every instance.

use rand_core::CryptoRng;
use throng_dp::{Fragments, Mechanism, Value};
use throng_wire::{Digest, Fragment, KeyList, Path, Route, SignedSurvey};
use zeroize::Zeroizing;

use crate::Error;
use crate::routing::Routing;
use crate::schedule::Schedule;

/// One answer to a survey: K bodies. With chaff their number and lengths are the same for everyone, whatever
/// the value, and for those who have nothing to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Instance 1 first.
    pub bodies: Vec<SealedBody>,
}

/// One body, sealed for hop 1 of its instance.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedBody {
    /// What it is bound to.
    pub route: Route,
    /// When it is sent: milliseconds since 1970-01-01T00:00:00Z.
    pub send_at_ms: u64,
    /// SHA-256 of its bytes, which the receipt has to name.
    pub digest: Digest,
    /// Its bytes. The same ones are sent again when a try fails.
    pub bytes: Vec<u8>,
}

/// The answer on a value, or of somebody who has nothing to say: value -> report -> fragments -> bodies. `mechanism` is the
/// survey's. Behind a backstop it draws one and forgets it, which is right for a single epoch only: over several, the
/// fragments come from a [`crate::StoredBackstop`] and are [`Answer::seal`]ed.
pub fn answer(
    survey: &SignedSurvey,
    lists: &[KeyList],
    mechanism: &Mechanism,
    label: u32,
    schedule: &Schedule,
    value: Option<&Value>,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Answer, Error> {
    let fragments = mechanism.randomize(value, rng)?;
    Answer::seal(survey, lists, label, schedule, &fragments, rng)
}

impl Answer {
    /// Routes the fragments of one epoch to the instances and seals them to the keys of these lists. An instance that gets
    /// none, by chance or because it is not in the label's trust profile, gets a body of chaff like any other.
    pub fn seal(
        survey: &SignedSurvey,
        lists: &[KeyList],
        label: u32,
        schedule: &Schedule,
        fragments: &Fragments,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self, Error> {
        let routed = Routing::of(survey.survey(), label, fragments.tau())?.route(fragments.attributes(), rng);
        let routed = Zeroizing::new(routed);
        let mut bodies = Vec::with_capacity(routed.len());
        for (instance, attributes) in (1..).zip(routed.iter()) {
            let path = Path::new(survey, label, schedule.epoch(), instance, lists)?;
            let fragments: Vec<Fragment> =
                attributes.iter().map(|&attribute| Fragment::new(attribute)).collect();
            let bytes = path.body(&fragments, rng)?;
            let send_at_ms = schedule.draw_ms(rng);
            bodies.push(SealedBody { route: *path.route(), send_at_ms, digest: Digest::of(&bytes), bytes });
        }
        Ok(Self { bodies })
    }
}

/// Bytes that are sealed say nothing, and are many.
impl std::fmt::Debug for SealedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealedBody")
            .field("route", &self.route)
            .field("send_at_ms", &self.send_at_ms)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::When;
    use crate::testing::{FRAGMENTED, PROFILES, RECORD, SURVEY, World, world};
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_wire::{Opened, Peeled, Place, Route, Stop, peel};

    fn answer_to(survey: &str, value: Option<impl Into<Value>>, seed: u8) -> Answer {
        answer_under(survey, 0, value, seed)
    }

    fn answer_under(survey: &str, label: u32, value: Option<impl Into<Value>>, seed: u8) -> Answer {
        let world = world(survey);
        let mechanism = world.survey.survey().mechanism().unwrap();
        let rng = &mut ChaCha20Rng::from_seed([seed; 32]);
        let schedule = Schedule::new(world.survey.survey(), When::NextEpoch, 0).unwrap();
        let value = value.map(Into::into);
        answer(&world.survey, &world.lists, &mechanism, label, &schedule, value.as_ref(), rng).unwrap()
    }

    /// Promise 4: with chaff neither number nor lengths depend on the value, or on there being one.
    #[test]
    fn bodies_are_alike_for_any_value_and_for_none() {
        let shape = |answer: &Answer| -> Vec<(Route, usize)> {
            answer.bodies.iter().map(|body| (body.route, body.bytes.len())).collect()
        };
        let reference = answer_to(RECORD, None::<Value>, 1);
        for (seed, record) in [(2, [None; 3]), (3, [Some(0), None, None]), (4, [Some(8), Some(1), Some(772)])]
        {
            assert_eq!(shape(&answer_to(RECORD, Some(record.to_vec()), seed)), shape(&reference));
        }
        for survey in [SURVEY, FRAGMENTED] {
            let reference = answer_to(survey, None::<u64>, 1);
            assert_eq!(reference.bodies.len(), 3);
            for (seed, value) in [(2, None), (3, Some(0)), (4, Some(783)), (5, Some(7)), (6, Some(7))] {
                let other = answer_to(survey, value, seed);
                assert_eq!(shape(&other), shape(&reference));
                assert!(
                    other.bodies.iter().zip(&reference.bodies).all(|(one, two)| one.digest != two.digest)
                );
            }
            let times: Vec<u64> = reference.bodies.iter().map(|body| body.send_at_ms).collect();
            assert!(times[0] != times[1] && times[1] != times[2], "{times:?}");
        }
    }

    /// What the analyzer opens of each body, with all hops' keys.
    fn arrived(world: &World, answer: &Answer) -> Vec<Vec<u32>> {
        let layout = throng_wire::Layout::of(world.survey.survey());
        let open = |body: &SealedBody| {
            assert_eq!(body.digest, Digest::of(&body.bytes));
            let hop = |hop| &world.layers[&Place::hop(body.route.instance, hop)];
            let envelopes = peel::open_body(&body.route, &layout, hop(1), &body.bytes).unwrap();
            let mut arrived = Vec::new();
            for envelope in envelopes.chunks_exact(layout.envelope_len(Stop::Hop(2))) {
                if let Peeled::Envelope(inner) =
                    peel::peel(&body.route, &layout, 2, hop(2), envelope).unwrap()
                {
                    let (attributes, keys) =
                        (world.survey.survey().attributes(), &world.layers[&Place::Analyzer]);
                    if let Ok(Opened::Fragment(fragment)) =
                        peel::open_fragment(&body.route, &layout, attributes, keys, &inner)
                    {
                        arrived.push(fragment.attribute());
                    }
                }
            }
            arrived
        };
        answer.bodies.iter().map(open).collect()
    }

    /// Number and lengths of what is sent to each instance are the same under every trust profile, whatever the value, and
    /// without one: what a hop or the network sees is the label.
    #[test]
    fn bodies_are_alike_under_every_trust_profile() {
        for survey in [PROFILES.to_owned(), PROFILES.replace("hops = 2", "hops = 1")] {
            let shape = |answer: &Answer| -> Vec<(u32, usize)> {
                answer.bodies.iter().map(|body| (body.route.instance, body.bytes.len())).collect()
            };
            let reference = shape(&answer_under(&survey, 1, None::<u64>, 1));
            assert_eq!(reference.iter().map(|body| body.0).collect::<Vec<_>>(), [1, 2, 3]);
            assert!(reference.iter().all(|body| body.1 == reference[0].1));
            for label in 1..=3 {
                for (seed, value) in [(2, None), (3, Some(0)), (4, Some(783))] {
                    let answer = answer_under(&survey, label, value, seed);
                    assert_eq!(shape(&answer), reference, "{label}: {value:?}");
                    assert!(answer.bodies.iter().all(|body| body.route.label == label));
                }
            }
        }
    }

    /// Nine fragments under each label: all arrive, and none where the label does not send any.
    #[test]
    fn instances_outside_the_trust_profile_get_chaff_alone() {
        let world = world(PROFILES);
        let schedule = Schedule::new(world.survey.survey(), When::NextEpoch, 0).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([8; 32]);
        let fragments: Vec<u32> = (0..9).map(|number| 80 * number).collect();
        for (label, outside) in [(1, &[][..]), (2, &[1]), (3, &[0, 2])] {
            let sent = Fragments::new(fragments.clone(), 1);
            let answer = Answer::seal(&world.survey, &world.lists, label, &schedule, &sent, rng).unwrap();
            let arrived = arrived(&world, &answer);
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
        let schedule = Schedule::new(world.survey.survey(), When::NextEpoch, 0).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([7; 32]);
        let fragments: Vec<u32> = (0..9).map(|number| 80 * number).collect();
        let sent = Fragments::new(fragments.clone(), 1);
        let answer = Answer::seal(&world.survey, &world.lists, 0, &schedule, &sent, rng).unwrap();
        let mut arrived = arrived(&world, &answer).concat();
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
        let schedule = Schedule::new(survey, When::NextEpoch, 0).unwrap();
        let (first_ms, length_ms) = (survey.epoch_s * 1000 + 60_000, survey.epoch_s * 1000 - 120_000);
        let rng = &mut ChaCha20Rng::from_seed([6; 32]);
        let mut tenths = [[[0_u32; 10]; 3]; 3];
        let mut thirds = [[[0_u32; 3]; 3]; 3];
        for number in 0..ANSWERS {
            let kind = number % 3;
            let fragments = Fragments::new([&[][..], &[300], &[300, 301]][kind].to_vec(), 1);
            let answer = Answer::seal(&world.survey, &world.lists, 0, &schedule, &fragments, rng).unwrap();
            let part = |body: usize, parts: u64| {
                (parts * (answer.bodies[body].send_at_ms - first_ms) / length_ms) as usize
            };
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
        let shown = format!("{:?}", answer_to(SURVEY, Some(7), 1));
        assert!(shown.contains("digest") && !shown.contains("bytes"), "{shown}");
    }
}
