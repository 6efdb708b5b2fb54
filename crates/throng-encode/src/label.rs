//! The crowd label of an answer, by randomized response where labels are not public. Paper: Section V, natural crowd IDs.

use rand_core::CryptoRng;
use throng_dp::Epsilon;
use throng_dp::sampling::{Bernoulli, below};
use throng_wire::Survey;

use crate::Error;

/// The number that an answer travels under: 0 in a survey without labels, else that of the named label,
/// randomized if the survey says that labels are not public.
///
/// # Privacy
/// A label that is not public is reported truly with e^(epsilon_label) times the probability of any other:
/// two labels are within epsilon_label of one another. Drawn anew in every epoch it would spend again, and an
/// average would show the truth: draw it once for a survey and a label, and keep it.
pub fn draw(survey: &Survey, name: Option<&str>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<u32, Error> {
    let number = survey.label_number(name)?;
    match survey.labels.as_ref().and_then(|labels| Some((labels.names.len(), labels.epsilon_label?))) {
        Some((labels, epsilon)) => {
            let coin = Bernoulli::flip(Epsilon::new(epsilon)?)?;
            Ok(randomize(number, labels as u64, coin, rng))
        }
        None => Ok(number),
    }
}

/// Proposals are uniform; the true one is taken where the coin does not flip, any other where it does. So
/// true and other labels are taken as (1 - p) to p, which is e^ε.
fn randomize(label: u32, labels: u64, coin: Bernoulli, rng: &mut (impl CryptoRng + ?Sized)) -> u32 {
    loop {
        let proposed = 1 + below(labels, rng) as u32;
        if coin.draw(rng) == (proposed != label) {
            return proposed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    /// Labels 1 to 4 at ε = ln 3, so that the true one has probability 3/6 and each other 1/6. 60,000 draws,
    /// each count within 6 standard deviations: a correct sampler fails with a chance below 1e-8.
    #[test]
    fn the_true_label_is_likelier_by_e_to_the_epsilon() {
        let coin = Bernoulli::flip(Epsilon::new(3_f64.ln()).unwrap()).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([9; 32]);
        let mut seen = [0_u32; 5];
        for _ in 0..60_000 {
            seen[randomize(2, 4, coin, rng) as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        for (label, p) in [(1, 1.0 / 6.0), (2, 0.5), (3, 1.0 / 6.0), (4, 1.0 / 6.0)] {
            let deviation = (60_000.0_f64 * p * (1.0 - p)).sqrt();
            assert!((f64::from(seen[label]) - 60_000.0 * p).abs() < 6.0 * deviation, "{seen:?}");
        }
    }
}
