//! Releases: what is published of one epoch, estimates with their errors, under a guarantee, from a crowd that was large
//! enough.

use std::collections::BTreeSet;

use throng_account::label::Label;
use throng_account::ledger::Booking;
use throng_account::liar::OneLiar;
use throng_account::terms::EpochGuarantee;
use throng_dp::estimate::InstanceSums;
use throng_dp::fragmenting::Assignment;
use throng_dp::{CentralGuarantee, Epsilon, Estimates, LocalGuarantee, Mechanism, Removal};
use throng_wire::{Route, Survey, SurveyHash};

use crate::plausible::{InstanceCounts, Plausibility};
use crate::{BatchHead, Error, InstanceTally, Rejected};

/// The crowd of a release, as the tallies of its instances have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Which epoch of which channel. The instance in it is the first of those that are present.
    pub route: Route,
    /// The smallest crowd of its instances, those outside a trust profile included: what the guarantee counts on. Each count is
    /// held by one instance and hides its respondents in the crowd of that one alone, so the smallest is enough whoever was
    /// counted by which instance; they need not have counted the same people.
    pub respondents: u64,
    /// The instances whose fragments are in it, in rising order.
    pub present: Vec<u32>,
    /// How many respondents each of them counted.
    pub counted: Vec<u64>,
    /// The instances outside the label's trust profile that released the same crowd: nobody sends them fragments.
    pub outside: Vec<u32>,
    /// The instances that destroyed the epoch.
    pub destroyed: Vec<u32>,
    /// What was not counted, over all instances.
    pub rejected: Rejected,
}

/// An epoch at one instance as its hops signed it, which is known before anything is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Which epoch of which channel and instance.
    pub route: Route,
    /// The crowd that they agree on; `None` if they destroyed the epoch.
    pub respondents: Option<u64>,
}

impl From<&BatchHead> for Announcement {
    fn from(head: &BatchHead) -> Self {
        Self { route: head.route(), respondents: head.respondents() }
    }
}

impl From<&InstanceTally> for Announcement {
    fn from(tally: &InstanceTally) -> Self {
        let respondents = tally.counted.as_ref().map(|counted| counted.tally.respondents());
        Self { route: tally.route, respondents }
    }
}

/// A release. It cannot be made without its guarantee, nor without its entry in a ledger.
#[derive(Clone, Debug)]
pub struct Release {
    crowd: Crowd,
    kept: EpochGuarantee,
    floor: LocalGuarantee<Removal>,
    spent: CentralGuarantee<Removal>,
    estimates: Estimates,
    plausibility: Plausibility,
    one_liar: OneLiar,
}

impl Crowd {
    /// The crowd of some tallies. They have to be of one epoch of one channel, each of another instance, and at least one was
    /// released by an instance that fragments go to. A sketch whose cells are not all there is refused: no value of it could
    /// be estimated.
    pub fn of(survey: &Survey, parts: &[InstanceTally]) -> Result<Self, Error> {
        let announced: Vec<Announcement> = parts.iter().map(Announcement::from).collect();
        let rejected = parts.iter().filter_map(|part| part.counted.as_ref()).map(|counted| counted.rejected);
        let rejected = rejected.fold(Rejected::default(), Rejected::and);
        Ok(Self { rejected, ..Self::announced(survey, &announced)? })
    }

    /// The same from what hops have signed alone, when nothing is opened yet.
    pub fn announced(survey: &Survey, parts: &[Announcement]) -> Result<Self, Error> {
        let route = parts.first().ok_or(Error::Nothing)?.route;
        let channel = |route: Route| (route.survey, route.label, route.epoch);
        if parts.iter().any(|part| channel(part.route) != channel(route)) {
            return Err(Error::Parts("they are of different surveys, labels or epochs"));
        }
        let all: BTreeSet<u32> = parts.iter().map(|part| part.route.instance).collect();
        if all.len() < parts.len() {
            return Err(Error::Parts("two are of one instance"));
        }
        let counted = || parts.iter().filter_map(|part| Some((part.route, part.respondents?)));
        let respondents = counted().map(|(_, respondents)| respondents).min();
        let respondents = respondents.ok_or(Error::Nothing)?;
        let released: BTreeSet<u32> = counted().map(|(route, _)| route.instance).collect();
        let receiving = survey.receiving(route.label);
        let (present, outside): (Vec<u32>, Vec<u32>) =
            released.iter().copied().partition(|instance| receiving.contains(instance));
        let first = present.first().copied().ok_or(Error::Nothing)?;
        let positions: Vec<u32> = (0..)
            .zip(&receiving)
            .filter(|(_, instance)| present.contains(instance))
            .map(|(position, _)| position)
            .collect();
        if !survey.mechanism()?.estimable(&positions, receiving.len() as u32)? {
            let absent = receiving.iter().filter(|instance| !present.contains(instance));
            let absent: Vec<String> = absent.map(u32::to_string).collect();
            return Err(Error::Waiting(absent.join(" and ")));
        }
        let counted_by = |instance: &u32| {
            counted().find(|(route, _)| route.instance == *instance).map(|(_, respondents)| respondents)
        };
        Ok(Self {
            route: Route { instance: first, ..route },
            respondents,
            destroyed: all.difference(&released).copied().collect(),
            counted: present.iter().filter_map(counted_by).collect(),
            present,
            outside,
            rejected: Rejected::default(),
        })
    }
}

impl Release {
    /// Makes a release of what some instances counted.
    ///
    /// Each of a value's fragments is at one instance, which may have counted a few respondents more or fewer than others: its
    /// estimate is about the crowds of those that hold it. Values whose fragments are all at instances that are not here are
    /// missing; where some are here, errors are wider.
    ///
    /// Under a label with a trust profile that is said of the instances in it. Honest respondents send the others no fragment,
    /// so nothing is missing of them; whatever they have, nobody who keeps to the profile has sent it, and it is not counted.
    pub fn new(
        survey: &Survey,
        parts: &[InstanceTally],
        kept: EpochGuarantee,
        recorded: &Booking,
    ) -> Result<Self, Error> {
        let crowd = Crowd::of(survey, parts)?;
        if (recorded.survey(), recorded.epoch())
            != (crowd.route.survey.to_string().as_str(), crowd.route.epoch)
        {
            return Err(Error::Parts("the entry of the ledger is of another survey or epoch"));
        }
        let mechanism = survey.mechanism()?;
        let receiving = survey.receiving(crowd.route.label);
        let position = |part: &InstanceTally| receiving.iter().position(|&at| at == part.route.instance);
        let sums: Vec<InstanceSums<'_>> = parts
            .iter()
            .filter_map(|part| {
                let tally = &part.counted.as_ref()?.tally;
                Some(InstanceSums { position: u32::try_from(position(part)?).ok()?, tally })
            })
            .collect();
        let estimates = mechanism.estimate_from(&sums, receiving.len() as u32)?;
        let (plausibility, one_liar) = lies(survey, &mechanism, &crowd, parts, &estimates)?;
        let label = survey.labels.as_ref().and_then(|labels| labels.epsilon_label);
        let label = label.map(Epsilon::new).transpose()?.map_or(Label::Public, Label::Randomized);
        let floor = LocalGuarantee::pure(label.local(mechanism.floor().epsilon()));
        Ok(Self { crowd, kept, floor, spent: recorded.spent(), estimates, plausibility, one_liar })
    }

    /// The same release with these counts, as somebody read them in its table: NaN where one is missing or withheld.
    #[must_use]
    pub fn with_counts(self, counts: Vec<f64>) -> Self {
        let (respondents, spread) = (self.estimates.respondents(), self.estimates.spread());
        // What cannot come from the crowd is seen in the counts of each instance, which a table does not have.
        let plausibility = Plausibility::default();
        Self { estimates: Estimates::new(respondents, counts, spread), plausibility, ..self }
    }

    /// Which survey.
    pub fn survey(&self) -> SurveyHash {
        self.crowd.route.survey
    }

    /// Who took part, as the hops counted them.
    pub fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    /// What it guarantees.
    pub fn central(&self) -> CentralGuarantee<Removal> {
        self.kept.central
    }

    /// How many honest respondents that rests on.
    pub fn honest(&self) -> u64 {
        self.kept.honest
    }

    /// What is left of each respondent's privacy whatever fails: never left out where the central guarantee is shown.
    pub fn floor(&self) -> LocalGuarantee<Removal> {
        self.floor
    }

    /// What the population has spent with it, over all releases.
    pub fn spent(&self) -> CentralGuarantee<Removal> {
        self.spent
    }

    /// The estimates. Some of them are not to be given: see [`Release::plausibility`].
    pub fn estimates(&self) -> &Estimates {
        &self.estimates
    }

    /// What in it cannot come from its crowd.
    pub fn plausibility(&self) -> &Plausibility {
        &self.plausibility
    }

    /// The estimate of a value; `None` where it is missing, or withheld.
    pub fn given(&self, value: usize) -> Option<f64> {
        let withheld = self.plausibility.withheld.contains_key(&value);
        self.estimates.count(value).filter(|_| !withheld)
    }

    /// What one respondent who lies can have done to one estimate.
    pub fn one_liar(&self) -> OneLiar {
        self.one_liar
    }
}

/// What cannot come from the crowd, and what one liar can have done.
fn lies(
    survey: &Survey,
    mechanism: &Mechanism,
    crowd: &Crowd,
    parts: &[InstanceTally],
    estimates: &Estimates,
) -> Result<(Plausibility, OneLiar), Error> {
    fn counted<'a>(receiving: &[u32], part: &'a InstanceTally) -> Option<InstanceCounts<'a>> {
        let (instance, counted) = (part.route.instance, part.counted.as_ref()?);
        let position = receiving.iter().position(|&one| one == instance)? as u32;
        Some(InstanceCounts { instance, position, tally: &counted.tally })
    }
    let receiving = survey.receiving(crowd.route.label);
    let counts: Vec<InstanceCounts<'_>> = parts.iter().filter_map(|part| counted(&receiving, part)).collect();
    let assignment = Assignment::new(mechanism.coins().draws(), receiving.len() as u32)?;
    let envelopes = survey.delivery.envelopes;
    let positions: Vec<u32> = counts.iter().map(|part| part.position).collect();
    Ok((
        Plausibility::of(mechanism, assignment, envelopes, &counts, (estimates, survey.labels.is_none())),
        OneLiar::in_part(mechanism, envelopes, assignment, &positions),
    ))
}
