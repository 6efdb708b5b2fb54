//! Acknowledgements: bodies that were taken, and the receipts that their senders get.

use std::sync::{Arc, OnceLock};

use throng_wire::{ReceiptTree, SignedReceipt, SignedReceiptTree, SigningKey};

/// The acknowledgement of one body: it cannot be lost any more, and here is its receipt.
#[derive(Clone)]
pub struct Acknowledgement {
    tree: Arc<Tree>,
    index: usize,
    time_bucket: u64,
}

/// A Merkle tree of receipts that share one signature. It is signed when the first receipt is asked for, by the thread that
/// asks: the one that writes has no time for it.
struct Tree {
    tree: ReceiptTree,
    key: Arc<SigningKey>,
    signed: OnceLock<SignedReceiptTree>,
}

impl Acknowledgement {
    /// All whose receipts are in a tree, with the time bucket of each.
    pub(crate) fn all_of(
        tree: ReceiptTree,
        time_buckets: Vec<u64>,
        key: &Arc<SigningKey>,
    ) -> impl Iterator<Item = Self> + use<> {
        let tree = Arc::new(Tree { tree, key: Arc::clone(key), signed: OnceLock::new() });
        let numbered = time_buckets.into_iter().enumerate();
        numbered.map(move |(index, time_bucket)| Self { tree: Arc::clone(&tree), index, time_bucket })
    }

    /// When it came, as finely as its receipt says: identical bytes have the bucket of the first time.
    pub fn time_bucket(&self) -> u64 {
        self.time_bucket
    }

    /// Its receipt, signed.
    pub fn receipt(&self) -> SignedReceipt {
        self.tree.signed.get_or_init(|| self.tree.tree.sign(&self.tree.key)).receipt(self.index)
    }
}

/// Says what it is, not whose.
impl std::fmt::Debug for Acknowledgement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Acknowledgement(time bucket {})", self.time_bucket)
    }
}
