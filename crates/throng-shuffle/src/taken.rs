//! Bodies that were taken, and what their senders get for it.

use std::sync::{Arc, OnceLock};

use throng_wire::{ReceiptTree, SignedReceipt, SignedReceiptTree, SigningKey};

/// A body that was taken: it cannot be lost any more, and its receipt can be signed.
#[derive(Clone, Debug)]
pub struct Taken {
    tree: Arc<Tree>,
    index: usize,
}

/// Those that share a signature. It is made when the first of them is asked for.
#[derive(Debug)]
struct Tree {
    tree: ReceiptTree,
    signed: OnceLock<SignedReceiptTree>,
}

impl Taken {
    /// All whose receipts are in a tree.
    pub(crate) fn all_of(tree: ReceiptTree, count: usize) -> impl Iterator<Item = Self> {
        let tree = Arc::new(Tree { tree, signed: OnceLock::new() });
        (0..count).map(move |index| Self { tree: Arc::clone(&tree), index })
    }

    /// Its receipt, signed with this key.
    pub(crate) fn receipt(&self, key: &SigningKey) -> SignedReceipt {
        self.tree.signed.get_or_init(|| self.tree.tree.sign(key)).receipt(self.index)
    }
}
