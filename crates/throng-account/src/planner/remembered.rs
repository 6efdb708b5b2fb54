//! Answers of the accountant that a plan asks for again and again: for two more instances, for one more fragment, or when
//! somebody moves a slider that they do not depend on.

use std::cell::RefCell;

use throng_dp::Epsilon;

use crate::Error;
use crate::patience::still_wanted;

/// All that an answer depends on: the honest crowd; epsilon_central, delta and what is asked about; tau; rows.
pub(super) type Asked = (u64, [u64; 3], u32, Option<u32>);

/// Works something out, unless it is one of the last answers of this thread. What failed is tried again.
pub(super) fn once(asked: Asked, work: impl FnOnce() -> Result<Epsilon, Error>) -> Result<Epsilon, Error> {
    let known = ANSWERS.with_borrow(|all| all.iter().find(|(key, _)| *key == asked).map(|known| known.1));
    if let Some(known) = known {
        return Ok(known);
    }
    still_wanted()?;
    let answer = work()?;
    ANSWERS.with_borrow_mut(|all| {
        all.truncate(ANSWERS_MAX - 1);
        all.insert(0, (asked, answer));
    });
    Ok(answer)
}

thread_local! {
    /// The newest first.
    static ANSWERS: RefCell<Vec<(Asked, Epsilon)>> = const { RefCell::new(Vec::new()) };
}

const ANSWERS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::while_wanted;

    #[test]
    fn nothing_is_worked_out_that_nobody_wants() {
        let worked = |honest| once((honest, [7; 3], 0, None), || Ok(Epsilon::new(1.5)?)).is_ok();
        assert!(worked(1));
        // What is known is told all the same.
        let mut done = [false; 2];
        assert_eq!(while_wanted(|| false, || done = [worked(1), worked(2)]), None);
        assert_eq!(done, [true, false]);
    }

    #[test]
    fn an_answer_is_worked_out_once_for_all_that_it_depends_on() {
        let asked = (9, [1, 2, 3], 4, Some(5));
        let one = || once(asked, || Ok(Epsilon::new(1.5)?));
        assert_eq!(one().unwrap().value(), 1.5);
        let never = || -> Result<Epsilon, Error> { panic!("it is known") };
        assert_eq!(once(asked, never).unwrap().value(), 1.5);
        for other in [
            (8, [1, 2, 3], 4, Some(5)),
            (9, [1, 0, 3], 4, Some(5)),
            (9, [1, 2, 3], 0, Some(5)),
            (9, [1, 2, 3], 4, None),
        ] {
            assert_eq!(once(other, || Ok(Epsilon::new(2.5)?)).unwrap().value(), 2.5, "{other:?}");
        }
        let refused = (1, [0; 3], 0, None);
        assert!(once(refused, || Err(Error::NotApplicable(String::new()))).is_err());
        assert_eq!(once(refused, || Ok(Epsilon::new(3.5)?)).unwrap().value(), 3.5);
        // Old answers make room.
        for honest in 100..200 {
            once((honest, [0; 3], 0, None), || Ok(Epsilon::new(4.5)?)).unwrap();
        }
        assert_eq!(ANSWERS.with_borrow(Vec::len), ANSWERS_MAX);
        assert_eq!(once(asked, || Ok(Epsilon::new(5.5)?)).unwrap().value(), 5.5);
    }
}
