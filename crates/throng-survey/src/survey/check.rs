//! Validation: what a survey file may say.

use std::collections::{BTreeMap, BTreeSet};

use throng_dp::Epsilon;

use super::text::shows_as_written;
use super::{Attribute, BOUNDS, Cover, Encoding, Labels, Parties, Party, Randomizer, Survey, sum_of_values};
use crate::Error;
use crate::jcs::INTEGER_MAX;

impl Survey {
    /// Everything that a single field or two can be wrong about. Whether the claim holds is for an accountant.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |field, reason: &str| Err(Error::Field { field, reason: reason.to_owned() });
        if self.version != 1 {
            return wrong("version", "this program reads version 1");
        }
        if !is_name(&self.name) {
            return wrong("name", NAME);
        }
        if !shows_as_written(&self.question) {
            return wrong("question", NOT_AS_WRITTEN);
        }
        if self.epoch_s == 0 || self.epoch_s > INTEGER_MAX {
            return wrong("epoch_s", "an epoch lasts at least a second");
        }
        match &self.encoding {
            &Encoding::OneHot { domain } if domain == 0 || domain > 1 << 32 => {
                return wrong("encoding.domain", "give a size between 1 and 2^32");
            }
            &Encoding::Sketch { domain, rows, cells, seed }
                if domain == 0
                    || rows == 0
                    || rows > ROWS_MAX
                    || cells < 2
                    || u64::from(rows) * u64::from(cells) > 1 << 32
                    || domain > INTEGER_MAX
                    || seed > INTEGER_MAX =>
            {
                return wrong(
                    "encoding",
                    "rows times cells may be at most 2^32, with 1 to 2^20 rows and at least two cells; domain from 1 and seed from 0 to 2^53 - 1",
                );
            }
            Encoding::Record { attributes } => check_attributes(attributes)?,
            Encoding::OneHot { .. } | Encoding::Sketch { .. } => {}
        }
        self.check_values()?;
        match self.randomizer {
            Randomizer::AttributeFragments { epsilon_local } => {
                epsilon("randomizer.epsilon_local", epsilon_local)?;
            }
            Randomizer::ReportFragments { epsilon_backstop, epsilon_fragment, fragments, .. } => {
                epsilon("randomizer.epsilon_backstop", epsilon_backstop)?;
                epsilon("randomizer.epsilon_fragment", epsilon_fragment)?;
                if !(1..=FRAGMENTS_MAX).contains(&fragments) {
                    return wrong("randomizer.fragments", "give 1 to 65536");
                }
            }
        }
        if self.crowd.respondents_min < 2 || self.crowd.respondents_min > INTEGER_MAX {
            return wrong("crowd.respondents_min", "nobody is hidden in a crowd of one");
        }
        if self.crowd.honest_fraction.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return wrong("crowd.honest_fraction", "give a number above 0 and at most 1");
        }
        if self.delivery.instances == 0 || self.delivery.hops == 0 || self.delivery.envelopes == 0 {
            return wrong("delivery", "instances, hops and envelopes are at least 1 each");
        }
        if self.delivery.instances > INSTANCES_MAX || self.delivery.hops > HOPS_MAX {
            return wrong("delivery", "at most 255 instances and 16 hops");
        }
        if self.body_len() > BODY_LEN_MAX {
            return wrong("delivery.envelopes", "a body may have at most 2^30 bytes");
        }
        let waits = [
            ("delivery.keep_sealed_s", self.delivery.keep_sealed_s),
            ("delivery.keep_batches_s", self.delivery.keep_batches_s),
        ];
        for (field, keep) in waits {
            if keep.is_some_and(|keep| !(self.epoch_s..=KEEP_SEALED_S_MAX).contains(&keep)) {
                return wrong(field, "give at least one epoch and at most 100 years");
            }
        }
        epsilon("claim.epsilon_central", self.claim.epsilon_central)?;
        if !(self.claim.delta > 0.0 && self.claim.delta < 1.0) {
            return wrong("claim.delta", "give a number between 0 and 1");
        }
        if self.claim.neighbors != "removal" {
            return wrong("claim.neighbors", "surveys are stated under \"removal\"");
        }
        if !BOUNDS.contains(&self.claim.bound.as_str()) {
            return wrong("claim.bound", "use exact, fmt23, clones21, blanket, lemma or theorem");
        }
        self.labels.as_ref().map_or(Ok(()), |labels| self.check_labels(labels))?;
        self.parties.as_ref().map_or(Ok(()), |parties| self.check_parties(parties))
    }

    fn check_labels(&self, labels: &Labels) -> Result<(), Error> {
        let wrong = |field, reason: &str| Err(Error::Field { field, reason: reason.to_owned() });
        epsilon("labels.epsilon_deletion", labels.epsilon_deletion)?;
        labels.epsilon_label.map_or(Ok(()), |value| epsilon("labels.epsilon_label", value))?;
        if !(labels.delta_deletion > 0.0 && labels.delta_deletion < 1.0) {
            return wrong("labels.delta_deletion", "give a number between 0 and 1");
        }
        let distinct: BTreeSet<&String> = labels.names.iter().collect();
        if labels.names.is_empty() || distinct.len() < labels.names.len() {
            return wrong("labels.names", "list each label once, and at least one");
        }
        if !labels.names.iter().all(|name| is_name(name)) {
            return wrong("labels.names", NAME);
        }
        labels.profiles.as_ref().map_or(Ok(()), |profiles| self.check_profiles(labels, profiles))
    }

    /// Whoever sends under a label with a trust profile has to be sure of two things: that no coin puts them under another
    /// one, and that nobody sees more of their choice than the label, which is public.
    fn check_profiles(&self, labels: &Labels, profiles: &BTreeMap<String, Vec<u32>>) -> Result<(), Error> {
        let wrong = |reason: &str| Err(Error::Field { field: "labels.profiles", reason: reason.to_owned() });
        if profiles.is_empty() {
            return wrong("give a label its instances, or leave the table out");
        }
        if profiles.keys().any(|name| labels.number(name).is_none()) {
            return wrong("a trust profile belongs to a label that labels.names lists");
        }
        for instances in profiles.values() {
            if instances.is_empty() {
                return wrong(
                    "a trust profile has at least one instance, or fragments would have nowhere to go",
                );
            }
            if !instances.iter().all(|&one| (1..=self.delivery.instances).contains(&one)) {
                return wrong("a trust profile lists instances from 1 to delivery.instances");
            }
            if !instances.is_sorted_by(|one, next| one < next) {
                return wrong("a trust profile lists each instance once, in rising order");
            }
        }
        if labels.epsilon_label.is_some() {
            return wrong(
                "with trust profiles labels are public: leave epsilon_label out, as a randomized label would send \
                 somebody's fragments to instances that they do not trust",
            );
        }
        if self.delivery.cover == Cover::None {
            return wrong(
                "trust profiles need cover = \"chaff\": empty bodies would show the network which instances \
                 somebody does not trust",
            );
        }
        Ok(())
    }

    /// A draft may have fewer parties than it takes, never more.
    fn check_parties(&self, parties: &Parties) -> Result<(), Error> {
        let wrong = |field, reason: &str| Err(Error::Field { field, reason: reason.to_owned() });
        if parties.instances.len() > self.delivery.instances as usize
            || parties.instances.iter().any(|instance| instance.hops.len() > self.delivery.hops as usize)
        {
            return wrong("parties.instances", "there are more than delivery.instances or delivery.hops");
        }
        type Text = fn(&Party) -> &str;
        let texts: [(&str, Text); 2] = [
            ("parties: operator", |party| &party.operator),
            ("parties: jurisdiction", |party| &party.jurisdiction),
        ];
        for (field, text) in texts {
            for (_, party) in parties.iter() {
                if text(party).trim().is_empty() {
                    return wrong(field, "every party has an operator and a jurisdiction, and says them");
                }
                if !shows_as_written(text(party)) {
                    return wrong(field, NOT_AS_WRITTEN);
                }
            }
        }
        let operators: BTreeSet<String> =
            parties.iter().map(|(_, party)| party.operator.trim().to_lowercase()).collect();
        if operators.len() > 1 && self.crowd.honest_fraction.is_none() {
            return wrong(
                "crowd.honest_fraction",
                "more than one operator is to sign this survey, so it states which share of its respondents the \
                 guarantee counts on: honest_fraction = 1 if all of them, 0.5 if half (throng plan \
                 --honest-fraction plans for it)",
            );
        }
        Ok(())
    }
}

/// Attributes have names of their own and something to choose from, and every value has an index of four bytes.
fn check_attributes(attributes: &[Attribute]) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::Field { field: "encoding.attributes", reason: reason.to_owned() });
    let distinct: BTreeSet<&String> = attributes.iter().map(|attribute| &attribute.name).collect();
    if attributes.is_empty() || distinct.len() < attributes.len() {
        return wrong("list each attribute once, and at least one");
    }
    if !attributes.iter().all(|attribute| is_name(&attribute.name)) {
        return wrong(NAME);
    }
    if attributes.iter().any(|attribute| attribute.values < 2) || sum_of_values(attributes) > 1 << 32 {
        return wrong("each has at least 2 values, and all together at most 2^32");
    }
    Ok(())
}

/// An epsilon that something can be randomized with.
fn epsilon(field: &'static str, value: f64) -> Result<(), Error> {
    match Epsilon::new(value) {
        Ok(epsilon) if epsilon > Epsilon::ZERO && value.is_finite() => Ok(()),
        _ => Err(Error::Field { field, reason: "give a finite number above 0".to_owned() }),
    }
}

/// A name that can be part of a file name and of an address: no hidden file, and no way up.
pub(super) fn is_name(text: &str) -> bool {
    (1..=NAME_LEN_MAX).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !text.starts_with('.')
}

/// What is wrong with a name.
pub(super) const NAME: &str = "use 1 to 100 letters, digits, '-', '_' and '.', not beginning with '.'";

/// File names have room for 255 bytes on most systems, with what is added to the name.
const NAME_LEN_MAX: usize = 100;

/// What is wrong with a text that does not show as it is written.
pub(super) const NOT_AS_WRITTEN: &str = "write one line, without control characters, characters that turn the direction of text, or \
                              characters that are not seen";

/// More than anyone runs; so that numbers from a file cannot ask for absurd work.
const INSTANCES_MAX: u32 = 255;
const HOPS_MAX: u32 = 16;
const ROWS_MAX: u32 = 1 << 20;
const FRAGMENTS_MAX: u32 = 1 << 16;
const KEEP_SEALED_S_MAX: u64 = 100 * 366 * 86400;
const BODY_LEN_MAX: u64 = 1 << 30;
