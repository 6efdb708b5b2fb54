//! What a respondent runs: value -> report -> attribute fragments.

use rand_core::CryptoRng;
use throng_dp::{Error, Mechanism, Value};
use throng_wire::Survey;

use crate::backstop::{StoredBackstop, StoredCoins};

/// The respondent's half of a survey. It reads a value and remembers nothing of it.
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_dp::{Epsilon, Mechanism, OneHot, Value};
/// use throng_encode::Encoder;
///
/// let encoder = Encoder::new(Mechanism::plain(OneHot::new(1000, Epsilon::new(20.0)?)?));
/// let mut rng = ChaCha20Rng::from_seed([7; 32]); // a respondent uses the operating system's
/// let mut fragments = Vec::new();
/// encoder.encode(Some(&Value::from(42)), &mut fragments, &mut rng)?;
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

    /// What it encodes with.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// Whether its reports are drawn from backstops: `draw_coins` once for a survey, and store them; in every epoch
    /// `encode_from` the `backstop` that they give its answer.
    pub fn has_backstop(&self) -> bool {
        matches!(self.mechanism, Mechanism::Fragments(_))
    }

    /// Permanent coins, which depend on no answer. `None` where there are no backstops in this mechanism.
    pub fn draw_coins(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Option<StoredCoins>, Error> {
        StoredCoins::draw(&self.mechanism, rng)
    }

    /// The backstop that permanent coins give an answer, or having nothing to say: always the same one.
    pub fn backstop(&self, coins: &StoredCoins, value: Option<&Value>) -> Result<StoredBackstop, Error> {
        coins.backstop(&self.mechanism, value)
    }

    /// The fragments of one epoch, fresh ones from a backstop, into a buffer that is cleared first.
    pub fn encode_from(
        &self,
        backstop: &StoredBackstop,
        fragments: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        backstop.fragment(&self.mechanism, fragments, rng)
    }

    /// The fragments of one epoch into a buffer that is cleared first. A respondent who has nothing to say
    /// encodes `None`, which gives the empty report R_0. Behind a backstop this draws coins and forgets them:
    /// right for a survey of a single epoch, and for no other.
    pub fn encode(
        &self,
        value: Option<&Value>,
        fragments: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        self.mechanism.randomize_into(value, fragments, rng)
    }
}
