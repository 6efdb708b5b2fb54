//! Enrolment files, which a respondent who draws their own secret hands in: for one first hop, the hash of the token that it
//! will be shown.

use crate::Error;
use crate::credential::Credential;
use crate::digest::{Digest, SurveyHash};
use crate::place::Place;

/// A respondent's enrolment at one first hop. There is no secret in it, and whoever has it can answer in nobody's name; but
/// two files of one person, for two hops, tell that the two names are one person's. So each hop has a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrolmentFile {
    survey: SurveyHash,
    party: Place,
    id: Digest,
}

impl EnrolmentFile {
    /// That of a respondent at the first hop of an instance.
    pub fn new(credential: &Credential, survey: &SurveyHash, instance: u32) -> Self {
        let party = Place::hop(instance, 1);
        Self { survey: *survey, party, id: credential.token(survey, party).id() }
    }

    /// The survey.
    pub fn survey(&self) -> &SurveyHash {
        &self.survey
    }

    /// The first hop that it is for.
    pub fn party(&self) -> Place {
        self.party
    }

    /// The respondent's name there.
    pub fn id(&self) -> &Digest {
        &self.id
    }

    /// A name for the file, which no other respondent's has and which is another one for every hop.
    pub fn file_name(&self) -> String {
        let digits: String = self.id.to_string().chars().take(16).collect();
        format!("{}-{digits}.enrolment", self.party)
    }

    /// Its text: a line that says what it is, then survey, first hop and name there.
    pub fn to_file(&self) -> String {
        format!("{HEADER}survey {}\nparty {}\nid {}\n", self.survey, self.party, self.id)
    }

    /// Reads exactly what `to_file` writes.
    pub fn from_file(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Document {
            kind: "enrolment file",
            reason: "it is not as throng respond --enrol wrote it".into(),
        };
        let mut lines = text.strip_prefix(HEADER).ok_or_else(wrong)?.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let read = (|| {
            let survey = field("survey")?.parse().ok()?;
            let party = field("party")?.parse().ok()?;
            Some(Self { survey, party, id: field("id")?.parse().ok()? })
        })();
        let first_hop = |file: &Self| matches!(file.party, Place::Hop { hop: 1, .. });
        read.filter(|file| file.to_file() == text && first_hop(file)).ok_or_else(wrong)
    }
}

const HEADER: &str = "throng-v1 enrolment\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(digit: char) -> Credential {
        let file = format!("throng-v1 credential (private)\n{}\n", digit.to_string().repeat(64));
        Credential::from_file(&file).unwrap()
    }

    /// It says what the hop's list says of the same respondent, and nothing that is the same at two hops.
    #[test]
    fn an_enrolment_is_for_one_hop_and_has_no_secret() {
        let survey = SurveyHash::new([7; 32]);
        let person = credential('1');
        let [one, two] = [1, 2].map(|instance| EnrolmentFile::new(&person, &survey, instance));
        assert_eq!(EnrolmentFile::from_file(&one.to_file()).unwrap(), one);
        for (file, instance) in [(&one, 1), (&two, 2)] {
            let token = person.token(&survey, Place::hop(instance, 1));
            assert_eq!(file.id(), &token.id());
            for secret in [&person.to_file(), &token.to_text()] {
                assert!(!file.to_file().contains(secret.lines().last().unwrap()));
            }
        }
        assert!(one.id() != two.id() && one.file_name() != two.file_name());
        let [one, two] = [one, two].map(|file| file.to_file().replace(&survey.to_string(), ""));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let common: Vec<String> = words(&one).into_iter().filter(|word| words(&two).contains(word)).collect();
        assert_eq!(common, ["throng-v1", "enrolment", "survey", "party", "id"]);
    }

    #[test]
    fn what_is_no_enrolment_is_refused() {
        let text = EnrolmentFile::new(&credential('1'), &SurveyHash::new([7; 32]), 1).to_file();
        for other in [
            String::new(),
            text.replace("-v1", "-v2"),
            text.replace("hop-1", "hop-2"),
            text.replace("instance-1-hop-1", "analyzer"),
            text.trim_end().to_owned(),
            text.clone() + "id\n",
            text.to_uppercase(),
            credential('1').to_file().to_string(),
        ] {
            assert!(EnrolmentFile::from_file(&other).is_err(), "{other}");
        }
    }
}
