//! What a respondent runs: value -> report -> attribute fragments.

use rand_core::CryptoRng;
use throng_dp::{Error, Mechanism};
use throng_wire::Survey;

/// The respondent's half of a survey. It reads a value and remembers nothing of it.
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_dp::{Epsilon, Mechanism, OneHot};
/// use throng_encode::Encoder;
///
/// let encoder = Encoder::new(Mechanism::OneHot(OneHot::new(1000, Epsilon::new(20.0)?)?));
/// let mut rng = ChaCha20Rng::from_seed([7; 32]); // a respondent uses the operating system's
/// let mut fragments = Vec::new();
/// encoder.encode(Some(42), &mut fragments, &mut rng)?;
/// assert_eq!(fragments, [42]); // at epsilon 20 hardly any bit is flipped
/// # Ok::<(), throng_dp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    mechanism: Mechanism,
}

impl Encoder {
    /// An encoder for a mechanism.
    pub fn new(mechanism: Mechanism) -> Self {
        Self { mechanism }
    }

    /// An encoder for a survey.
    pub fn of_survey(survey: &Survey) -> Result<Self, Error> {
        Ok(Self::new(survey.mechanism()?))
    }

    /// The fragments of one epoch into a buffer that is cleared first. A respondent who has nothing to say encodes
    /// `None`, which gives the empty report R_0.
    pub fn encode(
        &self,
        value: Option<u64>,
        fragments: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        self.mechanism.randomize_into(value, fragments, rng)
    }
}
