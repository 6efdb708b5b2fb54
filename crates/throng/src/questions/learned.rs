//! What the paper prints about learning where it errs, beside what is true: the questions of `docs/errata.jsonl`.

use throng_learn::{Convergence, membership};

use super::Question;

/// Formulas as they are printed (`paper_…`), and the ones that hold.
pub(super) const QUESTIONS: &[Question] = &[
    // Membership inference.
    Question {
        name: "membership_eps",
        params: &["advantage", "delta"],
        about: "the largest epsilon that an advantage TPR - FPR refutes at delta",
        answer: |p| Ok(membership::epsilon_tight(p.number("advantage")?, p.delta("delta")?)?.value()),
    },
    Question {
        name: "paper_membership_eps",
        params: &["advantage"],
        about: "the same as Table membership_inference has it: -ln(1 - a)",
        answer: |p| Ok(membership::epsilon_as_paper(p.number("advantage")?)?.value()),
    },
    // The utility of LDP-SGD.
    Question {
        name: "sgd_gradient_norm",
        params: &["n", "d", "eps", "L"],
        about: "G in the proof of Theorem learning: the root of a step's mean square",
        answer: |p| {
            let (n, dimension) = (p.n()?, p.whole("d")? as usize);
            Ok(Convergence::new(n, dimension, p.number("L")?, 1.0, p.epsilon("eps")?)?.gradient_norm())
        },
    },
];
