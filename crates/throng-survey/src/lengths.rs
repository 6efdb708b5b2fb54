//! The lengths of what travels: they follow from the survey, so they are public and known before anything is sent.

/// What one layer of sealing adds: key id, encapsulated key, tag (RFC 9180, X25519, AES-128-GCM).
pub const LAYER_OVERHEAD: u64 = 1 + 32 + 16;

/// What the analyzer finds in an envelope: one attribute index and four bytes that are zero.
pub const FRAGMENT_LEN: u64 = 8;

/// An envelope as it leaves a respondent, inside the body: one layer for the analyzer and one for each hop from the
/// second on. The innermost hop layer also holds the byte that marks chaff.
pub fn envelope_len(hops: u32) -> u64 {
    let inner = FRAGMENT_LEN + LAYER_OVERHEAD;
    1 + inner + u64::from(hops.saturating_sub(1)) * LAYER_OVERHEAD
}

/// What a respondent sends to one instance in one epoch: all envelopes, sealed once for the first hop.
pub fn body_len(hops: u32, envelopes: u32) -> u64 {
    LAYER_OVERHEAD + u64::from(envelopes) * envelope_len(hops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_by_a_layer_for_each_hop() {
        assert_eq!(envelope_len(1), 1 + 8 + 49);
        assert_eq!(envelope_len(3) - envelope_len(2), LAYER_OVERHEAD);
        assert_eq!(body_len(2, 20), 49 + 20 * envelope_len(2));
        assert_eq!(body_len(2, 0), 49);
    }
}
