//! Learning rates: how far each step goes.

/// The learning rate, step by step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// The same throughout.
    Constant(f64),
    /// From the first to the last step in a straight line.
    Linear {
        /// In the first step.
        start: f64,
        /// In the last one.
        end: f64,
    },
    /// c/√t in step t = 1, 2, ...: what the proof of the paper's Theorem learning uses.
    InverseRoot(f64),
}

impl Rate {
    /// In step `step` of `steps`, counted from 0.
    pub fn at(self, step: u64, steps: u64) -> f64 {
        match self {
            Self::Constant(rate) => rate,
            Self::Linear { start, end } => {
                start + (end - start) * step as f64 / steps.saturating_sub(1).max(1) as f64
            }
            Self::InverseRoot(c) => c / (step as f64 + 1.0).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_what_they_say_at_both_ends() {
        let linear = Rate::Linear { start: 6.0, end: 0.3 };
        assert_eq!((linear.at(0, 101), linear.at(50, 101)), (6.0, 3.15));
        assert!((linear.at(100, 101) - 0.3).abs() < 1e-12);
        assert_eq!(Rate::Linear { start: 6.0, end: 0.3 }.at(0, 1), 6.0);
        assert_eq!((Rate::InverseRoot(2.0).at(0, 9), Rate::InverseRoot(2.0).at(3, 9)), (2.0, 1.0));
        assert_eq!(Rate::Constant(2.0).at(7, 9), 2.0);
    }
}
