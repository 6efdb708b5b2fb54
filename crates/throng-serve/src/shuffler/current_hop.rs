//! The hop that a server answers with: another one once a replica takes over, or has lost its lease.

use std::sync::{Arc, PoisonError, RwLock};

use throng_shuffle::Hop;

/// A hop that may be exchanged. Clones share it.
#[derive(Clone)]
pub struct CurrentHop(Arc<RwLock<Arc<Hop>>>);

impl CurrentHop {
    /// The one that is there now. Whoever goes on with it after it was exchanged is refused by its store.
    pub fn now(&self) -> Arc<Hop> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Exchanges it.
    pub(super) fn replace(&self, hop: Arc<Hop>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = hop;
    }
}

impl From<Arc<Hop>> for CurrentHop {
    fn from(hop: Arc<Hop>) -> Self {
        Self(Arc::new(RwLock::new(hop)))
    }
}
