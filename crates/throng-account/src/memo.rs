//! Memoization: answers of the accountant that are asked for again and again, for two more instances, for one more fragment,
//! for another delta, or when somebody moves a slider that they do not depend on.

use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::patience::{CancelToken, still_wanted};

/// A cache of the last answers to one kind of question, the newest first, for all threads.
pub(crate) struct Memo<Key, Answer> {
    answers: Mutex<Vec<(Key, Answer)>>,
    most: usize,
}

impl<Key: PartialEq, Answer: Clone> Memo<Key, Answer> {
    /// At most `most` answers.
    pub(crate) const fn new(most: usize) -> Self {
        Self { answers: Mutex::new(Vec::new()), most }
    }

    /// The cached answer, or else that of `work`. `asked` is all that the answer depends on. Errors are not cached.
    pub(crate) fn once(
        &self,
        asked: Key,
        go_on: CancelToken<'_>,
        work: impl FnOnce() -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        if let Some(known) = self.known(&asked) {
            return Ok(known);
        }
        still_wanted(go_on)?;
        // Nobody waits for this at the lock: two who ask at once both work it out.
        let answer = work()?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.truncate(self.most - 1);
        answers.insert(0, (asked, answer.clone()));
        Ok(answer)
    }

    fn known(&self, asked: &Key) -> Option<Answer> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().find(|(key, _)| key == asked).map(|(_, answer)| answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TO_THE_END;

    #[test]
    fn nothing_is_worked_out_that_nobody_wants() {
        let answers = Memo::new(4);
        let worked = |asked: u32, go_on| answers.once(asked, go_on, || Ok(1.5));
        assert_eq!(worked(1, TO_THE_END), Ok(1.5));
        // What is known is told all the same.
        assert_eq!((worked(1, &|| false), worked(2, &|| false)), (Ok(1.5), Err(Error::Cancelled)));
        // Whoever asks next is not concerned.
        assert_eq!(worked(2, TO_THE_END), Ok(1.5));
    }

    #[test]
    fn an_answer_is_worked_out_once_for_all_that_it_depends_on() {
        let answers = Memo::new(4);
        assert_eq!(answers.once((9, 1), TO_THE_END, || Ok(1.5)).unwrap(), 1.5);
        let never = || -> Result<f64, Error> { panic!("it is known") };
        assert_eq!(answers.once((9, 1), TO_THE_END, never).unwrap(), 1.5);
        for other in [(8, 1), (9, 2)] {
            assert_eq!(answers.once(other, TO_THE_END, || Ok(2.5)).unwrap(), 2.5, "{other:?}");
        }
        assert!(answers.once((1, 0), TO_THE_END, || Err(Error::NotApplicable(String::new()))).is_err());
        assert_eq!(answers.once((1, 0), TO_THE_END, || Ok(3.5)).unwrap(), 3.5);
        // Old answers make room.
        for number in 100..200 {
            answers.once((number, 0), TO_THE_END, || Ok(4.5)).unwrap();
        }
        assert_eq!(answers.answers.lock().unwrap().len(), 4);
        assert_eq!(answers.once((9, 1), TO_THE_END, || Ok(5.5)).unwrap(), 5.5);
    }
}
