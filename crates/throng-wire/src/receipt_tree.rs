//! Merkle trees of receipts: hop 1 signs the root, one signature for several receipts (Merkle 1979).
//!
//! A signature takes longer than the rest of a receipt, and uploads are made durable in groups anyway. All trees have
//! one depth, so all receipts have one length, and what has a place in a tree is a leaf: a node cannot pass for one, nor
//! for a shorter path. Leaves, nodes and roots are hashed and signed under names of their own.
//!
//! # Privacy
//! A receipt shows four hashes of a tree to whoever holds it. They tell nothing about the other receipts: each covers
//! the hash of a sealed body, which only its sender and hop 1 know. Nor about their number: leaves that are not needed are
//! random, and every receipt is at a place that is drawn. Two who compare theirs can see that they were taken in
//! one group, by the root.

use rand_core::CryptoRng;
use throng_dp::sampling::below;

use crate::Error;
use crate::codec::Reader;
use crate::digest::{Digest, Hasher};
use crate::receipt::{RECEIPT_LEN, Receipt};
use crate::signature::{Signature, SigningKey};
use crate::signed_survey::SignedSurvey;

/// A Merkle tree with some receipts at random leaves.
#[derive(Debug)]
pub struct ReceiptTree {
    receipts: Vec<Receipt>,
    /// The place of each, and then those that are left.
    places: [u8; LEAVES],
    /// Random leaves at the places that are left.
    padding: Vec<Digest>,
}

impl ReceiptTree {
    /// A tree of these. Panics if they are more than [`LEAVES`].
    pub fn new(receipts: Vec<Receipt>, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        assert!(receipts.len() <= LEAVES, "a tree has {LEAVES} leaves");
        let mut places = std::array::from_fn(|place| place as u8);
        for last in (1..LEAVES).rev() {
            places.swap(last, below(last as u64 + 1, rng) as usize);
        }
        let padding = (receipts.len()..LEAVES).map(|_| {
            let mut leaf = [0; 32];
            rng.fill_bytes(&mut leaf);
            Digest::new(leaf)
        });
        Self { padding: padding.collect(), receipts, places }
    }

    /// Signs all of them at once.
    pub fn sign(&self, key: &SigningKey) -> SignedReceiptTree {
        // Node n is over nodes 2n and 2n + 1; node 1 is the root, and the leaves are the last.
        let mut nodes = [Digest::NONE; 2 * LEAVES];
        let leaves = self.receipts.iter().map(leaf).chain(self.padding.iter().copied());
        for (&place, leaf) in self.places.iter().zip(leaves) {
            nodes[LEAVES + usize::from(place)] = leaf;
        }
        for number in (1..LEAVES).rev() {
            nodes[number] = node(&nodes[2 * number], &nodes[2 * number + 1]);
        }
        let signature = key.sign(TREE, nodes[1].as_bytes());
        SignedReceiptTree { receipts: self.receipts.clone(), places: self.places, nodes, signature }
    }
}

/// A tree whose root is signed.
#[derive(Debug)]
pub struct SignedReceiptTree {
    receipts: Vec<Receipt>,
    places: [u8; LEAVES],
    nodes: [Digest; 2 * LEAVES],
    signature: Signature,
}

impl SignedReceiptTree {
    /// One of its receipts, with its Merkle proof. Panics if there is no receipt with this index.
    pub fn receipt(&self, index: usize) -> SignedReceipt {
        let (receipt, place) = (self.receipts[index], self.places[index]);
        let number = LEAVES + usize::from(place);
        let path = std::array::from_fn(|level| self.nodes[(number >> level) ^ 1]);
        SignedReceipt { receipt, place, path, signature: self.signature }
    }
}

/// A receipt with its Merkle proof and the signature of the root, as it is sent. It is not checked yet.
///
/// Bytes: the receipt (88), its place in the tree (1), the hashes beside its way to the root, from the leaf up (4 of 32),
/// the signature of the root (64).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedReceipt {
    receipt: Receipt,
    place: u8,
    path: [Digest; DEPTH],
    signature: Signature,
}

impl SignedReceipt {
    /// What it says, if it belongs to this survey and hop 1 of its instance, whose key the survey pins, has signed it.
    pub fn verify(&self, survey: &SignedSurvey) -> Result<&Receipt, Error> {
        let party = self.receipt.party();
        if self.receipt.route.survey != survey.hash() {
            return Err(Error::OtherSurvey { kind: KIND, party });
        }
        let pinned = survey.survey().party(party).ok_or(Error::UnknownParty(party))?;
        if self.signature.verify(&pinned.signing_key, TREE, self.root().as_bytes()) {
            Ok(&self.receipt)
        } else {
            Err(Error::Signature { kind: KIND, party })
        }
    }

    /// The root of the tree that it is in, if it is in one.
    fn root(&self) -> Digest {
        let beside = self.path.iter().enumerate();
        beside.fold(leaf(&self.receipt), |own, (level, other)| match self.place >> level & 1 {
            0 => node(&own, other),
            _ => node(other, &own),
        })
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIGNED_RECEIPT_LEN);
        bytes.extend(self.receipt.to_bytes());
        bytes.push(self.place);
        self.path.iter().for_each(|hash| bytes.extend(hash.as_bytes()));
        bytes.extend(self.signature.as_bytes());
        bytes
    }

    /// Reads its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let read = (|| {
            let receipt = Receipt::read(&mut reader)?;
            let [place] = reader.take()?;
            let mut path = [Digest::NONE; DEPTH];
            for hash in &mut path {
                *hash = Digest::new(reader.take()?);
            }
            let signature = Signature::new(reader.take()?);
            // A place has one spelling.
            (reader.end() && usize::from(place) < LEAVES).then_some(Self { receipt, place, path, signature })
        })();
        read.ok_or_else(|| Error::Document {
            kind: KIND,
            reason: format!("it has {SIGNED_RECEIPT_LEN} bytes, and a place below {LEAVES}"),
        })
    }
}

fn leaf(receipt: &Receipt) -> Digest {
    hash(LEAF, &[&receipt.to_bytes()])
}

fn node(left: &Digest, right: &Digest) -> Digest {
    hash(NODE, &[left.as_bytes(), right.as_bytes()])
}

fn hash(name: &[u8], parts: &[&[u8]]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(name);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finish()
}

/// How many receipts share a signature at most. With more, receipts would be longer, and little would be saved.
pub const LEAVES: usize = 1 << DEPTH;

/// The length of every receipt as it is sent.
pub const SIGNED_RECEIPT_LEN: usize = RECEIPT_LEN + 1 + 32 * DEPTH + 64;

const DEPTH: usize = 4;

const KIND: &str = "receipt";
const TREE: &str = "receipt tree";
const LEAF: &[u8] = b"throng-v1 receipt leaf\0";
const NODE: &[u8] = b"throng-v1 receipt node\0";

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    use super::*;
    use crate::digest::SurveyHash;
    use crate::route::Route;

    fn receipt(number: u64) -> Receipt {
        let route = Route { survey: SurveyHash::new([0; 32]), label: 0, epoch: 7, instance: 1 };
        Receipt { route, body: Digest::of(&number.to_be_bytes()), time_bucket: 3600 }
    }

    fn tree(count: u64, seed: u64) -> SignedReceiptTree {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        ReceiptTree::new((0..count).map(receipt).collect(), &mut rng).sign(&key())
    }

    fn key() -> SigningKey {
        SigningKey::from_seed(&[1; 32]).unwrap()
    }

    fn holds(receipt: &SignedReceipt) -> bool {
        receipt.signature.verify(&key().public(), TREE, receipt.root().as_bytes())
    }

    #[test]
    fn every_receipt_of_a_tree_holds_by_itself_and_all_have_one_length() {
        for count in 1..=LEAVES as u64 {
            let tree = tree(count, count);
            for index in 0..count {
                let signed = tree.receipt(index as usize);
                assert!(holds(&signed) && signed.receipt == receipt(index));
                let bytes = signed.to_bytes();
                assert_eq!(bytes.len(), SIGNED_RECEIPT_LEN);
                assert_eq!(SignedReceipt::from_bytes(&bytes), Ok(signed));
            }
        }
    }

    /// What stands in a tree is a leaf there, and nothing else can be made of it.
    #[test]
    fn no_proof_fits_another_receipt_place_or_level() {
        let tree = tree(16, 1);
        let [one, other] = [tree.receipt(3), tree.receipt(4)];
        assert!(!holds(&SignedReceipt { receipt: other.receipt, ..one.clone() }), "another's receipt");
        assert!(!holds(&SignedReceipt { receipt: receipt(99), ..one.clone() }), "one that is not there");
        for place in (0..LEAVES as u8).filter(|&place| place != one.place) {
            assert!(!holds(&SignedReceipt { place, ..one.clone() }));
        }
        for level in 0..DEPTH {
            for hash in tree.nodes {
                let mut path = one.path;
                path[level] = hash;
                assert_eq!(holds(&SignedReceipt { path, ..one.clone() }), hash == one.path[level]);
            }
        }
        // A root is signed as one: no leaf, and no receipt by itself, can have been signed.
        for said in [&one.receipt.to_bytes()[..], leaf(&one.receipt).as_bytes()] {
            assert!(!one.signature.verify(&key().public(), TREE, said));
        }
        assert!(!one.signature.verify(&key().public(), KIND, one.root().as_bytes()));
        // Nodes and leaves are hashed apart: the bytes of a node are no leaf's hash, whatever they are read as.
        let two = [&one.path[0].as_bytes()[..], one.path[1].as_bytes()].concat();
        assert_ne!(hash(LEAF, &[&two]), hash(NODE, &[&two]));
    }

    #[test]
    fn places_that_a_tree_does_not_have_are_refused() {
        let mut bytes = tree(2, 1).receipt(0).to_bytes();
        bytes[RECEIPT_LEN] |= LEAVES as u8;
        assert!(SignedReceipt::from_bytes(&bytes).is_err(), "the same place in another spelling");
    }

    /// The first of one, and the last of sixteen: 16,000 trees each, 1000 expected at every place. Chi-square with 15
    /// degrees of freedom is above 62 with a probability below 1e-6.
    #[test]
    fn a_place_does_not_show_how_many_there_are() {
        for (count, index) in [(1, 0), (16, 15)] {
            let mut seen = [0u32; LEAVES];
            let mut rng = ChaCha20Rng::seed_from_u64(count);
            for _ in 0..16_000 {
                let tree = ReceiptTree::new((0..count).map(receipt).collect(), &mut rng);
                seen[usize::from(tree.places[index])] += 1;
            }
            let chi: f64 = seen.iter().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi < 62.0, "{chi} {seen:?}");
        }
    }

    #[test]
    fn a_receipt_that_is_alone_has_fresh_hashes_beside_it() {
        let (one, other) = (tree(1, 1).receipt(0), tree(1, 2).receipt(0));
        assert_eq!(one.receipt, other.receipt);
        let mut hashes: Vec<Digest> = one.path.into_iter().chain(other.path).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 2 * DEPTH);
    }
}
