//! The parties beside a hop on its path.

use std::sync::{Arc, PoisonError, RwLock};

use throng_wire::{Address, Place};

use crate::error::Result;
use throng_host::bundle::Bundle;
use throng_host::ensure;

/// Whose requests are answered, by the certificates that their addresses name.
#[derive(Clone, Debug)]
pub(crate) struct Peers {
    /// Who hands batches to this hop.
    pub(crate) before: Option<Address>,
    /// Who gets them from it: the next hop, or the analyzer.
    pub(crate) after: Address,
}

impl Peers {
    /// As the survey's files say it. With TLS here, all of them need it.
    pub(crate) fn of(bundle: &Bundle, (instance, hop): (u32, u32), plain: bool) -> Result<Self> {
        let last = hop == bundle.survey().survey().delivery.hops;
        let after = if last { Place::Analyzer } else { Place::hop(instance, hop + 1) };
        let before = (hop > 1).then(|| bundle.address(Place::hop(instance, hop - 1))).transpose()?;
        let peers = Self { before: before.cloned(), after: bundle.address(after)?.clone() };
        for peer in peers.before.iter().chain([&peers.after]) {
            ensure!(
                peer.certificate.is_some() || plain,
                Invalid,
                "{} has the address {}, without TLS: it could not prove to be {} here",
                peer.party,
                peer.url,
                peer.party
            );
        }
        Ok(peers)
    }
}

/// The same as it is now, for a hop's own thread, which takes over other addresses, and for those who answer requests.
#[derive(Clone, Debug)]
pub(crate) struct SharedPeers(Arc<RwLock<Peers>>);

impl SharedPeers {
    pub(crate) fn new(peers: Peers) -> Self {
        Self(Arc::new(RwLock::new(peers)))
    }

    pub(crate) fn now(&self) -> Peers {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, peers: Peers) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = peers;
    }
}
