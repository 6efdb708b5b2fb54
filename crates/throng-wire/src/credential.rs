//! Credentials: bearer tokens by which the first hops know that respondents are distinct. Each respondent has one secret, from
//! which every hop gets a token of its own.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::digest::{Digest, HashedSet, SurveyHash};
use crate::place::Place;
use crate::{Error, Mac, hex};

/// A respondent's secret. It never leaves them: every first hop gets a token that is made from it for this hop alone,
/// so that none can answer in their name at another. It is erased from memory when dropped, and never shown.
pub struct Credential(Zeroizing<[u8; 32]>);

impl Credential {
    /// A fresh one.
    pub fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut());
        Self(secret)
    }

    /// What it shows to a party of a survey: HMAC-SHA256 of `throng-v1 credential`, a zero byte, the survey's hash and
    /// the party's place as text.
    pub fn token(&self, survey: &SurveyHash, party: Place) -> Token {
        let place = party.to_string();
        let message = [&b"throng-v1 credential\0"[..], survey.as_bytes(), place.as_bytes()];
        Token(Zeroizing::new(Mac::new(&self.0).tag(&message)))
    }

    /// The text of a credential file: a line that says what it is, and the secret.
    pub fn to_file(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(CREDENTIAL_HEADER.len() + 65));
        text.push_str(CREDENTIAL_HEADER);
        hex::encode_into(self.0.as_ref(), &mut text);
        text.push('\n');
        text
    }

    /// Reads a credential file: exactly what `to_file` writes.
    pub fn from_file(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix(CREDENTIAL_HEADER).and_then(|rest| rest.strip_suffix('\n'));
        let secret = digits.and_then(hex::decode::<32>).ok_or_else(|| Error::Document {
            kind: "credential file",
            reason: "it is not as keygen wrote it".into(),
        })?;
        Ok(Self(Zeroizing::new(secret)))
    }
}

/// A bearer token, which a respondent shows to one hop. Erased when dropped, and never shown.
pub struct Token(Zeroizing<[u8; 32]>);

impl Token {
    /// As 64 hexadecimal digits, for the header `Authorization: Bearer`.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(64));
        hex::encode_into(self.0.as_ref(), &mut text);
        text
    }

    /// Reads what `to_text` writes.
    pub fn from_text(text: &str) -> Option<Self> {
        hex::decode::<32>(text).map(|token| Self(Zeroizing::new(token)))
    }

    /// The respondent's name at this hop: the token's hash, which the hop's list has.
    pub fn id(&self) -> Digest {
        Digest::of(self.0.as_ref())
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential(not shown)")
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(not shown)")
    }
}

/// The access list of one hop: the hashes of the tokens of all who may answer there. Knowing it lets nobody answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialList {
    ids: HashedSet<Digest>,
}

impl CredentialList {
    /// The list of a hop for these respondents.
    pub fn new<'a>(
        credentials: impl IntoIterator<Item = &'a Credential>,
        survey: &SurveyHash,
        party: Place,
    ) -> Self {
        let ids = credentials.into_iter().map(|one| one.token(survey, party).id()).collect();
        Self { ids }
    }

    /// The list of respondents who are known by these names. `None` if two of them are the same.
    pub fn of_names(ids: impl IntoIterator<Item = Digest>) -> Option<Self> {
        let mut list = Self::default();
        ids.into_iter().all(|id| list.ids.insert(id)).then_some(list)
    }

    /// Whether this respondent is on it.
    pub fn contains(&self, id: &Digest) -> bool {
        self.ids.contains(id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The text of a list file: a line that says what it is, then the sorted hashes, so that their order says nothing, and a
    /// checksum. Without it a flipped bit would silently lock somebody out. It finds bit rot, not attacks: whoever can change
    /// the file can change its checksum, too.
    pub fn to_file(&self) -> String {
        let mut ids: Vec<&Digest> = self.ids.iter().collect();
        ids.sort_unstable();
        let text = ids.iter().fold(LIST_HEADER.to_owned(), |text, id| text + &id.to_string() + "\n");
        let checksum = Digest::of(text.as_bytes());
        text + LIST_CHECKSUM + &checksum.to_string() + "\n"
    }

    /// Reads a list file: exactly what `to_file` writes.
    pub fn from_file(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::Document { kind: "credential list", reason: "it is not as keygen wrote it".into() };
        let lines = text.strip_prefix(LIST_HEADER).ok_or_else(wrong)?;
        let (lines, _) = lines.rsplit_once(LIST_CHECKSUM).ok_or_else(wrong)?;
        let ids = lines.lines().map(str::parse).collect::<Result<_, _>>()?;
        let list = Self { ids };
        if list.to_file() == text { Ok(list) } else { Err(wrong()) }
    }
}

const CREDENTIAL_HEADER: &str = "throng-v1 credential (private)\n";
const LIST_HEADER: &str = "throng-v1 credential list\n";
const LIST_CHECKSUM: &str = "sha256 ";

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(byte: u8) -> Credential {
        Credential(Zeroizing::new([byte; 32]))
    }

    /// Computed with Python's hmac module.
    #[test]
    fn a_token_is_for_one_hop_of_one_survey() {
        let survey = SurveyHash::new([7; 32]);
        let token = credential(1).token(&survey, Place::hop(1, 1));
        assert_eq!(*token.to_text(), TOKEN);
        assert_eq!(Token::from_text(TOKEN).unwrap().id(), token.id());
        let mut ids = vec![token.id()];
        ids.push(credential(2).token(&survey, Place::hop(1, 1)).id());
        ids.push(credential(1).token(&survey, Place::hop(2, 1)).id());
        ids.push(credential(1).token(&SurveyHash::new([8; 32]), Place::hop(1, 1)).id());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }

    #[test]
    fn files_are_read_exactly_and_secrets_are_not_shown() {
        let (one, two) = (credential(1), credential(2));
        assert_eq!(*Credential::from_file(&one.to_file()).unwrap().0, *one.0);
        assert!(Credential::from_file(one.to_file().trim_end()).is_err());
        assert!(!format!("{one:?}").contains("01"));
        let list = CredentialList::new([&one, &two], &SurveyHash::new([0; 32]), Place::hop(1, 1));
        assert_eq!(CredentialList::from_file(&list.to_file()).unwrap(), list);
        assert!(list.contains(&one.token(&SurveyHash::new([0; 32]), Place::hop(1, 1)).id()));
        assert!(!list.contains(&one.token(&SurveyHash::new([0; 32]), Place::hop(2, 1)).id()));
        let lines: Vec<String> = list.to_file().lines().map(str::to_owned).collect();
        let of = |lines: &[&str]| {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let checksum = Digest::of(text.as_bytes());
            format!("{text}sha256 {checksum}\n")
        };
        let [header, first, second, _] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(of(&[header, first, second]), list.to_file());
        for other in [
            of(&[header, second, first]),
            of(&[header, first, first]),
            format!("{header}\n{first}\n{second}\n"),
            format!("{}{}\n", list.to_file(), lines[3]),
            list.to_file().to_uppercase(),
            list.to_file().trim_end().to_owned(),
        ] {
            assert!(CredentialList::from_file(&other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_list_in_which_any_bit_is_another_is_refused() {
        let (survey, place) = (SurveyHash::new([0; 32]), Place::hop(1, 1));
        let whole = CredentialList::new([&credential(1), &credential(2)], &survey, place).to_file();
        for at in 0..8 * whole.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            // What is no text is not even read.
            let Ok(text) = String::from_utf8(bytes) else { continue };
            assert!(CredentialList::from_file(&text).is_err(), "bit {at}: {text}");
        }
        for len in 0..whole.len() {
            assert!(CredentialList::from_file(&whole[..len]).is_err(), "{len} bytes");
        }
    }

    const TOKEN: &str = "74d8c6489e6b032b2c8ca189ba0a890ed902eaf8e84176aecc6ca3e9de6814bb";
}
