//! What the paper prints where it errs, beside what is true: the questions of `docs/errata.jsonl`.

use anyhow::ensure;
use throng_account::amplification;
use throng_dp::Delta;

use super::Question;

/// Formulas as they are printed (`paper_…`), and the ones that hold.
pub(super) const QUESTIONS: &[Question] = &[
    // One randomized bit.
    Question {
        name: "keep_probability",
        params: &["eps"],
        about: "how often a bit is sent as it is: e^eps/(1 + e^eps)",
        answer: |p| Ok(1.0 / (1.0 + (-p.epsilon("eps")?.value()).exp())),
    },
    Question {
        name: "bit_variance",
        params: &["eps_l"],
        about: "the variance of one bit's estimate",
        answer: |p| Ok(amplification::noise_std(1, p.epsilon("eps_l")?)?.powi(2)),
    },
    Question {
        name: "paper_bit_variance",
        params: &["eps_l"],
        about: "the same as the proof of Theorem att-frag-accuracy prints it: 2/(e^eps - 1)",
        answer: |p| Ok(2.0 / p.epsilon("eps_l")?.value().exp_m1()),
    },
    Question {
        name: "count_scale",
        params: &["n", "eps_l"],
        about: "what a sum of bits less its noise is multiplied by: n/(n - lambda), lambda = 2n/(1 + e^eps)",
        answer: |p| {
            p.n()?;
            Ok(1.0 / (0.5 * p.epsilon("eps_l")?.value()).tanh())
        },
    },
    Question {
        name: "paper_count_scale",
        params: &["n", "eps_l"],
        about: "the same as Lemma abcfd prints it: 1/(n - lambda)",
        answer: |p| Ok(1.0 / (0.5 * p.epsilon("eps_l")?.value()).tanh() / p.n()? as f64),
    },
    Question {
        name: "expected_bits",
        params: &["d", "eps_l"],
        about: "how many bits of a one-hot report over d values are set on average",
        answer: |p| {
            let (flip, values) = (1.0 / (1.0 + p.epsilon("eps_l")?.value().exp()), p.whole("d")?);
            ensure!(values > 0, "d is 0; give at least 1");
            Ok(flip * (values - 1) as f64 + (1.0 - flip))
        },
    },
    // Several reports without a backstop.
    Question {
        name: "reports_of_equal_variance",
        params: &["eps_l", "eps_f"],
        about: "how many reports at eps_f are worth one at eps_l",
        answer: equal_variance,
    },
    Question {
        name: "paper_reports_of_equal_variance",
        params: &["eps_l", "eps_f"],
        about: "the same as Section IV prints it: exp(eps_l/eps_f)",
        answer: |p| {
            let (local, fragment) = (p.epsilon("eps_l")?.value(), p.epsilon("eps_f")?.value());
            Ok((local / fragment).exp())
        },
    },
    Question {
        name: "without_backstop_error_factor",
        params: &["eps_l", "eps_f"],
        about: "by how much the error grows if eps_l is spent on eps_l/eps_f reports without a backstop",
        answer: |p| {
            let reports = p.epsilon("eps_l")?.value() / p.epsilon("eps_f")?.value();
            Ok((equal_variance(p)? / reports).sqrt())
        },
    },
    Question {
        name: "paper_without_backstop_error_factor",
        params: &["eps_l"],
        about: "the same as Section IV prints it: sqrt(exp(eps_l/2)/eps_l)",
        answer: |p| {
            let local = p.epsilon("eps_l")?.value();
            Ok(((0.5 * local).exp() / local).sqrt())
        },
    },
    Question {
        name: "paper_recfrag_first_term",
        params: &["n", "eps_f", "tau", "delta"],
        about: "the first term of Theorem cor:recFrag, which is false (no guarantee)",
        answer: |p| {
            let spent = p.epsilon("eps_f")?.value() * f64::from(p.small("tau")?);
            Ok((8.0 * spent * (spent / p.delta("delta")?.value()).ln().powi(2) / p.n()? as f64).sqrt())
        },
    },
    // Randomized report deletion as printed.
    Question {
        name: "paper_deletion_delta",
        params: &["eps_cr", "delta_cr"],
        about: "the delta that Algorithm CrowdThresh really has at eps_cr",
        answer: |p| Ok(0.25 * p.delta("delta_cr")?.value() * (0.5 * p.epsilon("eps_cr")?.value()).exp_m1()),
    },
    Question {
        name: "paper_deletion_abort",
        params: &["delta_cr", "crowds"],
        about: "the chance that Algorithm CrowdThresh aborts on one of some crowds",
        answer: |p| Ok(-((-0.25 * p.delta("delta_cr")?.value()).ln_1p() * p.whole("crowds")? as f64).exp_m1()),
    },
    Question {
        name: "paper_text_membership_eps",
        params: &["advantage"],
        about: "the same as the text prints it: -ln(a)",
        answer: |p| {
            let advantage = Delta::new(p.number("advantage")?)?.value();
            Ok(-advantage.ln())
        },
    },
    Question {
        name: "membership_by_chance",
        params: &["members", "others"],
        about: "the mean of the best threshold's advantage where nothing leaks (many of both)",
        // The largest value of a Brownian bridge has the mean sqrt(pi/8).
        answer: |p| {
            let (members, others) = (p.whole("members")?, p.whole("others")?);
            ensure!(members > 0 && others > 0, "give at least one member and one other");
            let scale = 1.0 / members as f64 + 1.0 / others as f64;
            Ok((std::f64::consts::PI / 8.0 * scale).sqrt())
        },
    },
    Question {
        name: "paper_sgd_gradient_norm",
        params: &["n", "d", "eps", "L"],
        about: "the same as the proof has it: L sqrt(d/n) coth(eps/2)",
        answer: |p| {
            let coth = 1.0 / (0.5 * p.epsilon("eps")?.value()).tanh();
            Ok(p.number("L")? * (p.whole("d")? as f64 / p.n()? as f64).sqrt() * coth)
        },
    },
];

/// The variance of one report at eps_f over that of one at eps_l.
fn equal_variance(p: &super::Params) -> anyhow::Result<f64> {
    let (local, fragment) = (p.epsilon("eps_l")?, p.epsilon("eps_f")?);
    Ok((amplification::noise_std(1, fragment)? / amplification::noise_std(1, local)?).powi(2))
}
