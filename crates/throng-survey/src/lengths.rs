//! The lengths of what travels: they follow from the survey, so they are public and known before anything is sent.

/// What one layer of sealing adds: key id, encapsulated key, tag (RFC 9180, X25519, AES-128-GCM).
pub const LAYER_OVERHEAD: u64 = 1 + 32 + 16;

/// A payload that is one attribute's index: four bytes, and four that are zero. Which payload a survey has says
/// [`Survey::payload_len`](crate::Survey::payload_len).
pub const INDEX_LEN: u64 = 8;

/// The length of an envelope with a payload of this length, as it leaves a respondent inside the body: one layer for the
/// analyzer and one for each hop from the second on. The innermost hop layer also holds the byte that marks chaff.
pub fn envelope_len(payload_len: u64, hops: u32) -> u64 {
    let inner = payload_len + LAYER_OVERHEAD;
    1 + inner + u64::from(hops.saturating_sub(1)) * LAYER_OVERHEAD
}

/// The length of a body, which a respondent sends to one instance in one epoch: all envelopes, sealed once for the first hop.
pub fn body_len(payload_len: u64, hops: u32, envelopes: u32) -> u64 {
    LAYER_OVERHEAD + u64::from(envelopes) * envelope_len(payload_len, hops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_by_a_layer_for_each_hop() {
        assert_eq!(envelope_len(INDEX_LEN, 1), 1 + 8 + 49);
        assert_eq!(envelope_len(8, 3) - envelope_len(8, 2), LAYER_OVERHEAD);
        assert_eq!(body_len(8, 2, 20), 49 + 20 * envelope_len(8, 2));
        assert_eq!(body_len(8, 2, 0), 49);
    }

    #[test]
    fn sizes_grow_by_a_byte_of_payload_for_each_envelope() {
        for hops in 1..4 {
            assert_eq!(envelope_len(30, hops) - envelope_len(8, hops), 22);
            assert_eq!(body_len(30, hops, 7) - body_len(8, hops, 7), 7 * 22);
        }
    }
}
