//! Held-out examples, which a model is tested on and never sees.

use rand_core::CryptoRng;
use siphasher::sip::SipHasher24;
use throng_dp::sampling::below;

use super::Examples;
use crate::Error;

impl Examples {
    /// Training and test examples: about one in `one_in` is held out, chosen by a fixed hash of its position, so that the
    /// choice is the same everywhere and has nothing to do with what an example is. Each part has to have examples of
    /// every class.
    pub fn held_out(&self, one_in: u64) -> Result<(Self, Self), Error> {
        if one_in < 2 {
            return Err(Error::Setting { what: "one_in", got: one_in as f64, expected: "give 2 or more" });
        }
        let hasher = SipHasher24::new_with_key(KEY);
        let (test, training): (Vec<_>, Vec<_>) =
            (0..self.len()).partition(|&i| hasher.hash(&(i as u64).to_le_bytes()).is_multiple_of(one_in));
        let part = |positions: &[usize], what: &str| {
            let part = self.at(positions);
            match part.class_sizes().iter().position(|&size| size == 0) {
                None => Ok(part),
                Some(class) => Err(Error::Examples(format!(
                    "class {class} has no example among the {} for {what}; give more examples of it, or leave it out",
                    part.len()
                ))),
            }
        };
        Ok((part(&training, "training")?, part(&test, "testing")?))
    }

    /// Two random halves of the same pool; the first is the smaller one. A class may be missing in one of them.
    pub fn halves(&self, rng: &mut (impl CryptoRng + ?Sized)) -> (Self, Self) {
        let mut positions: Vec<usize> = (0..self.len()).collect();
        let half = self.len() / 2;
        for i in 0..half {
            let other = i + below((self.len() - i) as u64, rng) as usize;
            positions.swap(i, other);
        }
        let (first, second) = positions.split_at(half);
        (self.at(first), self.at(second))
    }
}

/// Fixed and public: everybody has to hold out the same examples.
const KEY: &[u8; 16] = b"throng-learn/out";

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    /// Examples that know their position.
    fn numbered(count: usize, classes: usize) -> Examples {
        let labels = (0..count).map(|i| (i % classes) as u8).collect();
        Examples::new((0..count).map(|i| i as f32).collect(), 1, labels, classes).unwrap()
    }

    #[test]
    fn halves_are_random_and_have_everyone_once() {
        let mut rng = chacha20::ChaCha12Rng::from_seed([1; 32]);
        let (first, second) = numbered(1001, 2).halves(&mut rng);
        assert_eq!((first.len(), second.len()), (500, 501));
        let positions =
            |part: &Examples| (0..part.len()).map(|i| part.input(i)[0] as usize).collect::<Vec<_>>();
        let mut all = [positions(&first), positions(&second)].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1001).collect::<Vec<_>>());
        // Of the first 500 places, 250 give or take 11: 6 of these off has a chance below 1e-8.
        let early = positions(&first).iter().filter(|&&position| position < 500).count();
        assert!(early.abs_diff(250) < 67, "{early}");
    }

    #[test]
    fn every_example_is_in_one_part() {
        let (training, test) = numbered(10_000, 2).held_out(5).unwrap();
        // A fifth, give or take 5 standard deviations: the hash is fixed, so this cannot change.
        assert!(test.len().abs_diff(2_000) < 200, "{}", test.len());
        let mut all: Vec<_> =
            [&training, &test].iter().flat_map(|part| (0..part.len()).map(|i| part.input(i)[0])).collect();
        all.sort_unstable_by(f32::total_cmp);
        assert!(all.iter().enumerate().all(|(i, &x)| x == i as f32) && all.len() == 10_000);
        // More examples do not move those that were there.
        let (_, more) = numbered(20_000, 2).held_out(5).unwrap();
        assert!((0..test.len()).all(|i| more.input(i) == test.input(i)));
    }

    #[test]
    fn a_part_without_a_class_is_refused() {
        let error = numbered(3, 3).held_out(2).unwrap_err().to_string();
        assert!(error.contains("has no example among the"), "{error}");
        assert!(numbered(100, 2).held_out(1).is_err());
    }
}
