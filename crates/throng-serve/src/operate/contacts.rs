//! When the hops of an analyzer's surveys were heard of last, for its operator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use throng_wire::{Place, SurveyHash};

use super::reasons::Reason;

/// What an analyzer knows of the hops that it asks. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Contacts(Arc<Mutex<BTreeMap<(SurveyHash, Place), Contact>>>);

/// One hop of a survey, as the analyzer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// When it last answered, and a last hop had handed over all that waited there; in seconds since 1970.
    pub heard_s: Option<u64>,
    /// Why it did not since then.
    pub failing: Option<Reason>,
}

impl Contacts {
    /// What is known of a hop.
    pub fn of(&self, survey: SurveyHash, place: Place) -> Contact {
        self.change(|all| all.get(&(survey, place)).cloned().unwrap_or_default())
    }

    /// It was asked, and has answered or not.
    pub(crate) fn note(&self, survey: SurveyHash, place: Place, now_s: u64, failing: Option<Reason>) {
        self.change(|all| {
            let contact = all.entry((survey, place)).or_default();
            if failing.is_none() {
                contact.heard_s = Some(now_s);
            }
            contact.failing = failing;
        });
    }

    fn change<T>(&self, work: impl FnOnce(&mut BTreeMap<(SurveyHash, Place), Contact>) -> T) -> T {
        // What is in it is never half-written.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_that_fails_was_heard_before() {
        let (contacts, survey) = (Contacts::default(), SurveyHash::new([1; 32]));
        let (one, other) = (Place::hop(1, 1), Place::hop(1, 2));
        assert_eq!(contacts.of(survey, one), Contact::default());
        contacts.note(survey, one, 70, None);
        contacts.note(survey, one, 80, Some(Reason::Unreachable(one)));
        let contact = contacts.clone().of(survey, one);
        assert_eq!((contact.heard_s, contact.failing), (Some(70), Some(Reason::Unreachable(one))));
        contacts.note(survey, one, 90, None);
        assert_eq!(contacts.of(survey, one), Contact { heard_s: Some(90), failing: None });
        assert_eq!(contacts.of(survey, other), Contact::default());
    }
}
