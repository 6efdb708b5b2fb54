//! All parties of a survey at once, on one machine: for demonstrations and tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use getrandom::rand_core::CryptoRng;
use throng_wire::survey::{Instance, Parties, Party as SurveyParty};
use throng_wire::{Place, Survey};

use super::files::{KeyDir, NewFile};
use super::{Party, Schedule, Signer, bundle};
use crate::bundle::Bundle;
use crate::error::Result;

/// A survey with all its parties, on disk.
#[derive(Debug)]
pub struct Deployment {
    /// The survey file; the public files of the parties are beside it.
    pub survey: PathBuf,
    /// What is in them.
    pub bundle: Bundle,
    /// The directory of each party, with its private keys.
    pub dirs: BTreeMap<Place, PathBuf>,
}

/// Makes the keys of every party that a survey takes, each in a directory named after its place, names them in the survey,
/// has all of them sign, and writes `survey.toml` with the files beside it. Parties that the draft names are replaced.
pub fn deployment(
    draft: &Survey,
    dir: &Path,
    urls: impl Fn(Place) -> String,
    first_epoch: u64,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Deployment> {
    let dirs: BTreeMap<Place, PathBuf> =
        draft.places().map(|place| (place, dir.join(place.to_string()))).collect();
    let mut parties = BTreeMap::new();
    for (&place, dir) in &dirs {
        parties.insert(place, Party::create(dir, rng)?);
    }
    let survey = Survey { parties: Some(named(draft, &parties)), ..draft.clone() };
    let path = dir.join("survey.toml");
    KeyDir::open(dir)?.create(&[NewFile::public("survey.toml", survey.to_toml()?)])?;
    let schedule = Schedule::of(&survey);
    for (&place, party) in &parties {
        Signer::new(party, &survey, place)?.sign(&dirs[&place], &urls(place), first_epoch, schedule, rng)?;
    }
    let all: Vec<&PathBuf> = dirs.values().collect();
    let bundle = bundle(&path, &all, first_epoch)?;
    Ok(Deployment { survey: path, bundle, dirs })
}

fn named(draft: &Survey, parties: &BTreeMap<Place, Party>) -> Parties {
    let at = |place: Place| SurveyParty {
        operator: place.to_string(),
        jurisdiction: "this machine".into(),
        signing_key: parties[&place].signing_key().public(),
    };
    let cascade = |instance| (1..=draft.delivery.hops).map(|hop| at(Place::hop(instance, hop))).collect();
    let instances =
        (1..=draft.delivery.instances).map(|instance| Instance { hops: cascade(instance) }).collect();
    Parties { analyzer: Some(at(Place::Analyzer)), instances }
}
