//! A party at its place in a survey, and the documents that it signs there.

use std::path::Path;

use getrandom::rand_core::CryptoRng;
use throng_wire::signed::TextDocument;
use throng_wire::{
    Address, Approval, KeyList, LayerKeys, LayerSecretKey, Lifetime, Place, Signed, Survey, SurveyHash,
};

use super::files::{KeyDir, NewFile, read};
use super::{Party, Schedule};
use crate::ensure;
use crate::error::{Context, Error, Result};
use crate::net::endpoint::Endpoint;
use crate::private_file;

/// A party whose key the survey pins for its place.
#[derive(Debug)]
pub struct Signer<'a> {
    party: &'a Party,
    survey: &'a Survey,
    hash: SurveyHash,
    place: Place,
}

impl<'a> Signer<'a> {
    /// Refused where the survey is a draft, or pins another key for this place.
    pub fn new(party: &'a Party, survey: &'a Survey, place: Place) -> Result<Self> {
        survey.ready()?;
        let pinned =
            survey.party(place).ok_or_else(|| Error::invalid(format!("the survey names no {place}")))?;
        let own = party.signing_key().public();
        ensure!(
            pinned.signing_key == own,
            Invalid,
            "the survey pins the signing key {} for {place}, and this identity has {own}: use the directory of \
             {place}, or correct the survey",
            pinned.signing_key
        );
        Ok(Self { party, survey, hash: survey.hash()?, place })
    }

    /// Signs the survey, the address and the first layer key: writes `approval`, `address`, `key-list` and the private
    /// `layer.keys`. Refused where one of them exists.
    pub fn sign(
        &self,
        dir: &Path,
        url: &str,
        first_epoch: u64,
        schedule: Schedule,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(Address, KeyList)> {
        let out = KeyDir::open(dir)?;
        out.refuse_existing(Self::FILES).context("change what was signed with `address` or `rotate`")?;
        ensure!(
            schedule.overlap < schedule.epochs,
            Invalid,
            "the overlap has to be shorter than a key lives"
        );
        let last_epoch = first_epoch
            .checked_add(schedule.epochs - 1)
            .filter(|&last| last <= INTEGER_MAX)
            .ok_or_else(|| Error::invalid("the key would live beyond the last epoch there is"))?;
        let mut keys = LayerKeys::new();
        keys.add(LayerSecretKey::generate(0, Lifetime { first_epoch, last_epoch }, rng)?)?;
        let list = keys.list(self.hash, self.place, 1);
        let address = self.address(url, 1)?;
        let approval = Approval::sign(self.survey, self.place, self.party.signing_key())?;
        out.create(&[
            NewFile::private(LAYER_KEYS, keys.to_file()),
            NewFile::public(KEY_LIST, self.signed(list.clone())?),
            NewFile::public(ADDRESS, self.signed(address.clone())?),
            NewFile::public(APPROVAL, approval.to_text()),
        ])?;
        Ok((address, list))
    }

    /// Signs another address, or the same one with another certificate, under the next serial.
    pub fn readdress(&self, dir: &Path, url: &str) -> Result<Address> {
        let old: Address = self.own(&dir.join(ADDRESS))?;
        let address = self.address(url, old.serial + 1)?;
        KeyDir::open(dir)?.replace(&[NewFile::public(ADDRESS, self.signed(address.clone())?)])?;
        Ok(address)
    }

    /// Makes the next layer key, and signs the list under the next serial. Where rotations were missed, so that nobody has a
    /// key for this epoch, it begins with this epoch. No key is erased: only the party that runs knows which it still needs.
    pub fn rotate(
        &self,
        dir: &Path,
        epoch: u64,
        schedule: Schedule,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<KeyList> {
        let _lock = KeyDir::open(dir)?.lock()?;
        let mut keys = read_layer_keys(dir)?;
        let old: KeyList = self.own(&dir.join(KEY_LIST))?;
        match keys.last_epoch() {
            Some(last) if last >= epoch => drop(keys.rotate(schedule.epochs, schedule.overlap, rng)?),
            _ => add_key(&mut keys, &old, epoch, schedule, rng)?,
        }
        ensure!(
            keys.last_epoch() <= Some(INTEGER_MAX),
            Invalid,
            "the key would live beyond the last epoch there is"
        );
        let list = keys.list(self.hash, self.place, old.serial + 1);
        list.follows(&old, epoch)?;
        self.replace_keys(dir, &keys, &list)?;
        Ok(list)
    }

    /// Forgets all layer keys and makes one that begins with `first_epoch`, under the next serial and a number that none
    /// of them had. What is sealed to the others opens for nobody from now on. The list that was published last counts, too: the one
    /// in the directory may have been restored from a copy, or be lost.
    pub fn renew(
        &self,
        dir: &Path,
        published: Option<&KeyList>,
        first_epoch: u64,
        schedule: Schedule,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<KeyList> {
        let _lock = KeyDir::open(dir)?.lock()?;
        let path = dir.join(KEY_LIST);
        let there = path.try_exists().with_context(|| format!("cannot read {}", path.display()))?;
        let own: Option<KeyList> = there.then(|| self.own(&path)).transpose()?;
        // The serial goes up from the highest that anybody has seen.
        let mut old = own.iter().chain(published).max_by_key(|list| list.serial).cloned().ok_or_else(|| {
            let path = path.display();
            Error::Invalid(format!("neither {path} nor a published key list of {} is there: add the newest that it signed to the .keys file beside the survey", self.place))
        })?;
        old.keys = own.iter().chain(published).flat_map(|list| list.keys.iter().copied()).collect();
        let mut keys = LayerKeys::new();
        add_key(&mut keys, &old, first_epoch, schedule, rng)?;
        let list = keys.list(self.hash, self.place, old.serial + 1);
        self.replace_keys(dir, &keys, &list)?;
        Ok(list)
    }

    /// The private keys come first: a list must not name a key that a crash has lost.
    fn replace_keys(&self, dir: &Path, keys: &LayerKeys, list: &KeyList) -> Result<()> {
        KeyDir::open(dir)?.replace(&[
            NewFile::private(LAYER_KEYS, keys.to_file()),
            NewFile::public(KEY_LIST, self.signed(list.clone())?),
        ])
    }

    fn address(&self, url: &str, serial: u64) -> Result<Address> {
        let certificate = url.starts_with("https://").then(|| self.party.identity().digest());
        let address =
            Address { survey: self.hash, party: self.place, serial, url: url.to_owned(), certificate };
        Endpoint::new(&address).map_err(|error| Error::invalid(error.to_string()))?;
        Ok(address)
    }

    fn signed<T: TextDocument>(&self, document: T) -> Result<String> {
        Ok(Signed::new(document, self.party.signing_key())?.to_text())
    }

    /// Reads a document that this party signed before. Signing draws no randomness, so what it signs again is the same.
    fn own<T: TextDocument + Clone>(&self, path: &Path) -> Result<T> {
        let text = read(path)?;
        let advice = || format!("in {}", path.display());
        let document =
            T::from_canonical(text.lines().next().unwrap_or_default().as_bytes()).damaged(advice)?;
        let ours = document.survey() == self.hash && document.party() == self.place;
        ensure!(
            ours && self.signed(document.clone())? == text,
            Damaged,
            "{} is not what {} signed for this survey",
            path.display(),
            self.place
        );
        Ok(document)
    }

    /// The names of its files.
    pub const FILES: [&'static str; 4] = [APPROVAL, ADDRESS, KEY_LIST, LAYER_KEYS];
}

/// Adds a key that begins with an epoch, under a number that none of an older list had.
fn add_key(
    keys: &mut LayerKeys,
    old: &KeyList,
    first_epoch: u64,
    schedule: Schedule,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<()> {
    let taken: Vec<u8> = old.keys.iter().chain(&keys.public()).map(|key| key.id).collect();
    let id = (0..=u8::MAX).find(|id| !taken.contains(id));
    let id = id.ok_or_else(|| Error::invalid("all 256 numbers of layer keys are taken"))?;
    let last_epoch = first_epoch.saturating_add(schedule.epochs - 1);
    Ok(keys.add(LayerSecretKey::generate(id, Lifetime { first_epoch, last_epoch }, rng)?)?)
}

/// The private layer keys in a directory that `Signer::sign` has written to.
pub fn read_layer_keys(dir: &Path) -> Result<LayerKeys> {
    let path = dir.join(LAYER_KEYS);
    LayerKeys::from_file(&private_file::read(&path)?).damaged(|| format!("in {}", path.display()))
}

/// Erases the private layer keys that are for epochs before `epoch` only.
pub fn erase_layer_keys(dir: &Path, epoch: u64) -> Result<()> {
    let out = KeyDir::open(dir)?;
    let _lock = out.lock()?;
    let mut keys = read_layer_keys(dir)?;
    if keys.erase_before(epoch) > 0 {
        out.replace(&[NewFile::private(LAYER_KEYS, keys.to_file())])?;
    }
    Ok(())
}

pub(super) const APPROVAL: &str = "approval";
pub(super) const ADDRESS: &str = "address";
pub(super) const KEY_LIST: &str = "key-list";
const LAYER_KEYS: &str = "layer.keys";

/// Integers in canonical JSON end here.
const INTEGER_MAX: u64 = (1 << 53) - 1;
