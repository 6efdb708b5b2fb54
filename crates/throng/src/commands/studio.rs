//! What this program draws with: all of it, or nothing in the operator's binary.

use std::sync::Arc;

use throng_analyze::Picture;
use throng_serve::Studio;

/// Who draws and simulates for the analyzer, if anybody does.
pub(super) fn studio() -> Option<Arc<dyn Studio>> {
    #[cfg(feature = "lab")]
    return Some(Arc::new(throng_lab::studio::LabStudio));
    #[cfg(not(feature = "lab"))]
    None
}

/// A picture for the terminal.
pub(super) fn drawn(_picture: &Picture) -> String {
    #[cfg(feature = "lab")]
    return throng_plot::terminal::Canvas::of_stdout().draw(&[("estimate", _picture)]) + "\n";
    #[cfg(not(feature = "lab"))]
    String::new()
}
