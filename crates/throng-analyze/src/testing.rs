//! What the tests of this crate share.

use throng_testing::wire::{SHAPE, Shape, draft};
use throng_wire::Survey;

/// A survey without parties.
pub(crate) fn survey() -> Survey {
    draft(Shape { envelopes: 24, ..SHAPE })
}
