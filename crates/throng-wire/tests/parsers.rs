//! Attack 22: every parser of files and texts, with anything and with valid input that was changed.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_testing::parsing::{check_bytes, check_text};
use throng_testing::wire::{EPOCH, SHAPE, World};
use throng_wire::{
    Address, Approval, Credential, CredentialList, Digest, EnrolmentFile, EpochStatement, ForwardedCount,
    KeyList, LayerKeys, Outcome, Place, Receipt, ReceiptTree, Signature, Signed, SignedReceipt, SignedSurvey,
    SigningKey, SurveyHash, Token, VerifyingKey,
};

const HOP: Place = Place::Hop { instance: 1, hop: 1 };

fn credential(seed: u8) -> Credential {
    Credential::generate(&mut ChaCha20Rng::from_seed([seed; 32]))
}

#[test]
fn private_files_are_read_exactly() {
    let world = World::new(SHAPE);
    check_text(&credential(1).to_file(), |text| {
        Credential::from_file(text).ok().map(|read| read.to_file().to_string())
    });
    check_text(&world.signing[&HOP].to_file(), |text| {
        SigningKey::from_file(text).ok().map(|read| read.to_file().to_string())
    });
    check_text(&world.layers[&HOP].to_file(), |text| {
        LayerKeys::from_file(text).ok().map(|read| read.to_file().to_string())
    });
}

#[test]
fn tokens_and_lists_of_them_are_read_exactly() {
    let (survey, all) = (SurveyHash::new([7; 32]), [credential(1), credential(2), credential(3)]);
    check_text(&all[0].token(&survey, HOP).to_text(), |text| {
        Token::from_text(text).map(|read| read.to_text().to_string())
    });
    let list = CredentialList::new(&all, &survey, HOP);
    check_text(&list.to_file(), |text| CredentialList::from_file(text).ok().map(|read| read.to_file()));
    let enrolment = EnrolmentFile::new(&all[0], &survey, 1);
    check_text(&enrolment.to_file(), |text| EnrolmentFile::from_file(text).ok().map(|read| read.to_file()));
}

#[test]
fn hexadecimal_forms_and_places_have_one_spelling() {
    let world = World::new(SHAPE);
    fn check<T: std::str::FromStr + ToString>(valid: &T) {
        check_text(&valid.to_string(), |text| text.parse::<T>().ok().map(|read| read.to_string()));
    }
    check(&world.survey.hash());
    check(&Digest::of(b"some bytes"));
    check::<VerifyingKey>(&world.signing[&HOP].public());
    check(&world.lists[0].keys[0].public);
    check(&Place::Analyzer);
    check(&Place::hop(255, 16));
    let signature = world.approvals[0].to_text().lines().nth(1).unwrap().parse::<Signature>().unwrap();
    check(&signature);
}

#[test]
fn signed_documents_are_read_exactly() {
    let world = World::new(SHAPE);
    let key = &world.signing[&HOP];
    let list = world.lists.iter().find(|list| list.party == HOP).unwrap().clone();
    check_text(&Signed::new(list, key).unwrap().to_text(), |text| {
        Signed::<KeyList>::from_text(text).ok().map(|read| read.to_text())
    });
    let certificate = Some(Digest::of(b"certificate"));
    let url = "https://hop.example:8443".into();
    let address = Address { survey: world.survey.hash(), party: HOP, serial: 1, url, certificate };
    check_text(&Signed::new(address, key).unwrap().to_text(), |text| {
        Signed::<Address>::from_text(text).ok().map(|read| read.to_text())
    });
    let approvals: String = world.approvals.iter().map(Signed::to_text).collect();
    check_text(&approvals, |text| {
        Signed::<Approval>::all_from_text(text).ok().map(|all| all.iter().map(Signed::to_text).collect())
    });
}

#[test]
fn records_are_read_exactly() {
    let world = World::new(SHAPE);
    let (key, route) = (&world.signing[&HOP], world.route());
    let receipt = Receipt { route, body: Digest::of(b"body"), time_bucket: EPOCH * 86400 };
    let tree = ReceiptTree::new(vec![receipt], &mut ChaCha20Rng::from_seed([5; 32]));
    check_bytes(&tree.sign(key).receipt(0).to_bytes(), |bytes| {
        SignedReceipt::from_bytes(bytes).ok().map(|read| read.to_bytes().to_vec())
    });
    let batch = Digest::of(b"batch");
    let released = |received, forwarded| Outcome::Released { respondents: 3000, received, forwarded, batch };
    let committed = ForwardedCount::Committed(Digest::of(b"count"));
    for outcome in [
        released(Some(12000), ForwardedCount::Told(12000)),
        released(Some(12000), committed),
        released(None, committed),
        Outcome::Destroyed,
    ] {
        let said = EpochStatement {
            route,
            hop: 1,
            outcome,
            key_list: Digest::of(b"key list"),
            analyzer_key_list: Digest::of(b"another"),
        };
        check_bytes(&Signed::new(said, key).unwrap().to_bytes(), |bytes| {
            Signed::<EpochStatement>::from_bytes(bytes).ok().map(|read| read.to_bytes())
        });
    }
}

/// A survey with its signatures: whatever is changed in either file, it is refused, or it is the same survey.
#[test]
fn a_signed_survey_is_the_one_that_was_signed() {
    let world = World::new(SHAPE);
    let approvals: String = world.approvals.iter().map(Signed::to_text).collect();
    let toml = world.survey.survey().to_toml().unwrap();
    let same = |survey: &str, signatures: &str| {
        SignedSurvey::from_files(survey, signatures).is_ok_and(|read| {
            assert_eq!(read.hash(), world.survey.hash());
            true
        })
    };
    // Comments, spaces and the order of signatures do not matter, so other texts may be taken.
    check_text(&toml, |text| same(text, &approvals).then(|| text.to_owned()));
    check_text(&approvals, |text| same(&toml, text).then(|| text.to_owned()));
}
