//! Attack models: which parties collude, and which guarantee is left.
//!
//! Paper: Section II.C (anonymity and attack models) and Theorem record_frag.

use throng_dp::fragmenting::exposed_epsilon;
use throng_dp::{CentralGuarantee, Epsilon, LocalGuarantee, Removal};

use crate::Error;

/// The attack surface of a survey: all that an attacker's gain depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposure {
    /// The loss of everything that a respondent sends in one epoch: epsilon_local, or epsilon_backstop with report fragments,
    /// which is then that of all epochs while the answer stays the same.
    pub epsilon_floor: Epsilon,
    /// What each report fragment is randomized with, and how many there are; `None` without report fragments.
    pub fragments: Option<(Epsilon, u32)>,
    /// The number of shuffler instances that fragments go to. Others, outside a trust profile, see participation only.
    pub instances: u32,
    /// Whether every body has the same number of envelopes, so that a first hop does not see how many fragments are in it.
    pub cover: bool,
    /// What a release guarantees while the shufflers do their work.
    pub central: CentralGuarantee<Removal>,
}

/// The parties that collude. An instance is one of them when all its hops are; with one honest hop it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalition {
    /// Only the release is seen.
    Nobody,
    /// The analyzer, which sees the shuffled fragments of all instances.
    Analyzer,
    /// Some instances, without the analyzer: they see who took part, and sealed envelopes.
    Instances(u32),
    /// Some instances and the analyzer, which together can tie the fragments that passed there to respondents.
    AnalyzerAndInstances(u32),
}

/// What is left of a respondent's privacy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RemainingPrivacy {
    /// The central guarantee, untouched.
    Central(CentralGuarantee<Removal>),
    /// Nothing about the value is seen at all; that the respondent took part is.
    ParticipationOnly,
    /// Some of the respondent's fragments are known to be theirs.
    Local {
        /// At most this many fragments of any bit.
        fragments: u32,
        /// What these fragments say: epsilon_t of the paper's tables.
        exposed: LocalGuarantee<Removal>,
        /// What they say together with the release: the floor, which nothing exceeds.
        with_release: LocalGuarantee<Removal>,
    },
}

/// A collusion of some instances with the analyzer, and what it leaves under removal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collusion {
    /// How many instances.
    pub bad: u32,
    /// At most this many fragments of any bit are known to be the respondent's.
    pub fragments: u32,
    /// What these say by themselves.
    pub exposed: Epsilon,
    /// What they say together with the release: what is left, as the analyzer has both.
    pub with_release: Epsilon,
}

impl Exposure {
    /// What an attacker leaves.
    ///
    /// # Privacy
    /// Routing spreads the fragments of one bit evenly, so `t` bad instances of K' see at most t·ceil(tau/K') of them.
    /// Without report fragments each bit has a single fragment, which passes the instance of its value: for whoever holds a
    /// value of a bad instance epsilon_local is left, and that is what is stated.
    pub fn left(&self, coalition: Coalition) -> Result<RemainingPrivacy, Error> {
        let bad = match coalition {
            Coalition::Nobody | Coalition::Analyzer => return Ok(RemainingPrivacy::Central(self.central)),
            Coalition::Instances(bad) => {
                self.check(bad)?;
                // Without cover the number of fragments at an instance may be a bit of the report, which hop 1 ties to a person.
                let floor = LocalGuarantee::pure(self.epsilon_floor);
                return Ok(match (bad, self.cover) {
                    (0, _) => RemainingPrivacy::Central(self.central),
                    (_, true) => RemainingPrivacy::ParticipationOnly,
                    (_, false) => {
                        RemainingPrivacy::Local { fragments: 1, exposed: floor, with_release: floor }
                    }
                });
            }
            Coalition::AnalyzerAndInstances(bad) => self.check(bad)?,
        };
        if bad == 0 {
            return Ok(RemainingPrivacy::Central(self.central));
        }
        let floor = LocalGuarantee::pure(self.epsilon_floor);
        let (fragments, exposed) = match self.fragments {
            None => (1, self.epsilon_floor),
            Some((epsilon_fragment, tau)) => {
                let seen =
                    (u64::from(bad) * u64::from(tau.div_ceil(self.instances))).min(u64::from(tau)) as u32;
                (seen, exposed_epsilon(self.epsilon_floor, epsilon_fragment, seen))
            }
        };
        Ok(RemainingPrivacy::Local { fragments, exposed: LocalGuarantee::pure(exposed), with_release: floor })
    }

    /// What one, two, ... bad instances leave together with the analyzer: what the fragments say that they tie to a
    /// respondent, and what is left when the release is seen too, as that attacker does.
    pub fn collusions(&self) -> Result<Vec<Collusion>, Error> {
        let mut all = Vec::new();
        for bad in 1..=self.instances {
            if let RemainingPrivacy::Local { fragments, exposed, with_release } =
                self.left(Coalition::AnalyzerAndInstances(bad))?
            {
                let [exposed, with_release] = [exposed, with_release].map(|guarantee| guarantee.epsilon());
                all.push(Collusion { bad, fragments, exposed, with_release });
            }
        }
        Ok(all)
    }

    /// What is exposed over time, of a respondent whose answer stays the same, if compromised instances are found and reset to
    /// a known good state. `bad` has one number for each epoch in which instances colluded with the analyzer: how many did.
    ///
    /// # Privacy
    /// Pure, for the fragments that these instances tie to the respondent (beside the release: the floor). Behind a
    /// backstop all of them are fragments of one permanent report, so Theorem record_frag holds with their total. Without
    /// report fragments every epoch is randomized afresh, and adds epsilon_local.
    /// # Paper
    /// Section II.C: instances "that regularly reset to a known good state", and epsilon_1 for the capture of a single report.
    pub fn exposed_over_time(&self, bad: &[u32]) -> Result<LocalGuarantee<Removal>, Error> {
        let mut total = 0u32;
        for &bad in bad {
            if let RemainingPrivacy::Local { fragments, .. } =
                self.left(Coalition::AnalyzerAndInstances(bad))?
            {
                total = total.saturating_add(fragments);
            }
        }
        Ok(LocalGuarantee::pure(match self.fragments {
            None => self.epsilon_floor.times(total),
            Some((epsilon_fragment, _)) => exposed_epsilon(self.epsilon_floor, epsilon_fragment, total),
        }))
    }

    fn check(&self, bad: u32) -> Result<u32, Error> {
        if bad > self.instances {
            return Err(Error::Parameter {
                what: "the number of compromised instances",
                got: f64::from(bad),
                expected: "give at most the number of instances",
            });
        }
        Ok(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::epsilon;
    use throng_dp::Delta;

    fn exposure(fragments: Option<(Epsilon, u32)>) -> Exposure {
        let central = CentralGuarantee::new(epsilon(1.0), Delta::new(1e-6).unwrap());
        Exposure { epsilon_floor: epsilon(8.55), fragments, instances: 3, cover: true, central }
    }

    /// Three values over three instances: the body for an instance has a fragment exactly if its bit is set.
    #[test]
    fn without_cover_a_first_hop_sees_bits() {
        let open = Exposure { cover: false, ..exposure(None) };
        assert_eq!(local(open.left(Coalition::Instances(1)).unwrap()), (1, 8.55));
        assert_eq!(
            exposure(None).left(Coalition::Instances(1)).unwrap(),
            RemainingPrivacy::ParticipationOnly
        );
    }

    fn local(left: RemainingPrivacy) -> (u32, f64) {
        match left {
            RemainingPrivacy::Local { fragments, exposed, with_release } => {
                assert_eq!(with_release.epsilon().value(), 8.55);
                (fragments, exposed.epsilon().value())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_analyzer_alone_sees_what_is_released() {
        let exposure = exposure(None);
        for nobody in [Coalition::Nobody, Coalition::Analyzer, Coalition::AnalyzerAndInstances(0)] {
            assert_eq!(exposure.left(nobody).unwrap(), RemainingPrivacy::Central(exposure.central));
        }
        assert_eq!(exposure.left(Coalition::Instances(3)).unwrap(), RemainingPrivacy::ParticipationOnly);
    }

    #[test]
    fn bad_instances_see_an_even_share() {
        // tau = 16 over 3 instances: 6, 12 and 16 fragments.
        let exposure = exposure(Some((epsilon(5.775), 16)));
        let left: Vec<_> =
            (1..=3).map(|bad| local(exposure.left(Coalition::AnalyzerAndInstances(bad)).unwrap())).collect();
        assert_eq!(left.iter().map(|l| l.0).collect::<Vec<_>>(), [6, 12, 16]);
        assert!(left.windows(2).all(|w| w[0].1 <= w[1].1) && left[2].1 <= 8.55);
        // tau = 4: an instance sees 2, and the paper's epsilon_1 is what a single one would see.
        let two = local(
            super::Exposure { fragments: Some((epsilon(1.0), 4)), ..exposure }
                .left(Coalition::AnalyzerAndInstances(1))
                .unwrap(),
        );
        assert_eq!(two, (2, exposed_epsilon(epsilon(8.55), epsilon(1.0), 2).value()));
    }

    #[test]
    fn collusions_are_of_one_two_and_more_instances() {
        let exposure = exposure(Some((epsilon(5.775), 16)));
        let collusions = exposure.collusions().unwrap();
        assert_eq!(collusions.len(), 3);
        for (bad, collusion) in (1..).zip(collusions) {
            let alone = local(exposure.left(Coalition::AnalyzerAndInstances(bad)).unwrap());
            assert_eq!((collusion.fragments, collusion.exposed.value()), alone);
            assert_eq!((collusion.bad, collusion.with_release), (bad, exposure.epsilon_floor));
        }
    }

    #[test]
    fn without_report_fragments_the_floor_is_left() {
        assert_eq!(local(exposure(None).left(Coalition::AnalyzerAndInstances(1)).unwrap()), (1, 8.55));
        assert!(exposure(None).left(Coalition::AnalyzerAndInstances(4)).is_err());
        assert!(exposure(None).left(Coalition::Instances(4)).is_err());
    }

    /// One backstop, and the fragments of three epochs that bad instances saw: every pattern of them, from the coins.
    #[test]
    fn captures_add_up_over_epochs_until_the_backstop() {
        let (backstop, fragment) = (2.0, 0.7);
        let chance = |epsilon: f64, same: bool| 1.0 / (1.0 + if same { -epsilon } else { epsilon }.exp());
        let of = |tau, instances| Exposure {
            epsilon_floor: epsilon(backstop),
            fragments: Some((epsilon(fragment), tau)),
            instances,
            ..exposure(None)
        };
        // tau = 3 over two instances: 2 and 1 fragments. One bad instance, then none, then both: 2 + 3 of them.
        for (tau, instances, bad, seen) in
            [(3, 2, vec![1, 0, 2], 5), (4, 4, vec![1, 1], 2), (4, 4, vec![1, 1, 1, 1], 4), (2, 2, vec![0], 0)]
        {
            let law = |bit: bool, pattern: u32| -> f64 {
                [false, true]
                    .map(|kept| {
                        let ones = (0..seen).map(|i| chance(fragment, (pattern >> i & 1 == 1) == kept));
                        chance(backstop, kept == bit) * ones.product::<f64>()
                    })
                    .iter()
                    .sum()
            };
            let worst =
                (0..1u32 << seen).map(|s| (law(true, s) / law(false, s)).ln().abs()).fold(0.0, f64::max);
            let ours = of(tau, instances).exposed_over_time(&bad).unwrap().epsilon().value();
            assert!((ours - worst).abs() < 1e-9, "{tau} {instances} {bad:?}: {ours} {worst}");
        }
        // Without report fragments an epoch with a bad instance is another report.
        assert!(
            (exposure(None).exposed_over_time(&[1, 0, 3]).unwrap().epsilon().value() - 17.1).abs() < 1e-9
        );
        assert!(exposure(None).exposed_over_time(&[4]).is_err());
    }
}
