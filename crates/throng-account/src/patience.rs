//! Work that may take long, for as long as somebody waits for it.

use std::cell::{Cell, RefCell};

use crate::Error;

/// Works for as long as `go_on` says yes. It is asked before every question to the accountant, of which a plan has many and a
/// survey's terms a few; once it has said no, no further one is worked out, and there is no answer.
pub fn while_wanted<T>(go_on: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> Option<T> {
    let before = PATIENCE.replace(Some(Box::new(go_on)));
    let gave_up = GAVE_UP.replace(false);
    let done = work();
    PATIENCE.set(before);
    (!GAVE_UP.replace(gave_up)).then_some(done)
}

/// Fails once nobody wants any more what this thread works on.
pub(crate) fn still_wanted() -> Result<(), Error> {
    let wanted = PATIENCE.with_borrow(|go_on| go_on.as_ref().is_none_or(|go_on| go_on()));
    if !wanted || GAVE_UP.get() {
        GAVE_UP.set(true);
        return Err(Error::NotApplicable("nobody waits for this any more".into()));
    }
    Ok(())
}

thread_local! {
    /// Whether to go on, while [`while_wanted`] runs.
    static PATIENCE: RefCell<Option<Box<dyn Fn() -> bool>>> = const { RefCell::new(None) };
    /// Whether it was said not to.
    static GAVE_UP: Cell<bool> = const { Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question that fails takes further questions with it, and what comes of them is not told.
    #[test]
    fn nothing_is_worked_out_that_nobody_wants() {
        let asked = || still_wanted().is_ok();
        let left = std::rc::Rc::new(Cell::new(2));
        let go_on = {
            let left = left.clone();
            move || left.replace(left.get() - 1) > 0
        };
        let mut done = [false; 4];
        let worked = while_wanted(go_on, || done = [asked(), asked(), asked(), asked()]);
        assert_eq!((worked, done), (None, [true, true, false, false]));
        // Whoever asks next is not concerned.
        assert!(asked());
        assert_eq!(while_wanted(|| true, asked), Some(true));
    }
}
