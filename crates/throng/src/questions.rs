//! Every question that the accountant answers, by name: what `throng account --rows` asks.

mod as_printed;
#[cfg(feature = "lab")]
mod learned;

use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value};
use throng_account::absence::Presence;
use throng_account::amplification::{self, blanket, clones::Clones, exact, lemma, theorem};
use throng_account::composition::{self, LdpSgd, ShuffledPair};
use throng_account::deletion::Deletion;
use throng_account::gaussian::{self, Gaussian};
use throng_dp::fragmenting::{exposed_epsilon, fragment_epsilon};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Gradient, Removal};

/// A question: its name, its parameters, what it is about, and who answers it.
pub struct Question {
    /// The name, as it is written in a row.
    pub name: &'static str,
    /// The parameters, all of which have to be given.
    pub params: &'static [&'static str],
    /// One line for the help.
    pub about: &'static str,
    answer: fn(&Params) -> Result<f64>,
}

/// All questions, in the order of the help.
pub fn all() -> impl Iterator<Item = &'static Question> {
    #[cfg(feature = "lab")]
    let learned = learned::QUESTIONS;
    #[cfg(not(feature = "lab"))]
    let learned: &[Question] = &[];
    QUESTIONS.iter().chain(as_printed::QUESTIONS).chain(learned)
}

/// The answer to a row's question.
pub fn answer(name: &str, params: &Map<String, Value>) -> Result<f64> {
    let Some(question) = all().find(|question| question.name == name) else {
        bail!("there is no bound named {name:?}; `throng account --help` lists them");
    };
    for given in params.keys() {
        ensure!(
            question.params.contains(&given.as_str()),
            "{name} has no parameter {given:?}; it takes {}",
            question.params.join(", ")
        );
    }
    let value = (question.answer)(&Params { question, params })?;
    ensure!(value.is_finite(), "the answer is not a finite number");
    Ok(value)
}

/// The parameters of one row.
struct Params<'a> {
    question: &'a Question,
    params: &'a Map<String, Value>,
}

impl Params<'_> {
    fn number(&self, name: &str) -> Result<f64> {
        match self.params.get(name).and_then(Value::as_f64) {
            Some(number) => Ok(number),
            None => bail!("{} needs the numbers {}", self.question.name, self.question.params.join(", ")),
        }
    }

    fn whole(&self, name: &str) -> Result<u64> {
        let number = self.number(name)?;
        ensure!(
            (0.0..=1e15).contains(&number) && number.fract() == 0.0,
            "{name} is {number}; give a whole number"
        );
        Ok(number as u64)
    }

    fn small(&self, name: &str) -> Result<u32> {
        let number = self.whole(name)?;
        u32::try_from(number).map_err(|_| anyhow::anyhow!("{name} is {number}; give a number below 2^32"))
    }

    fn epsilon(&self, name: &str) -> Result<Epsilon> {
        Ok(Epsilon::new(self.number(name)?)?)
    }

    fn delta(&self, name: &str) -> Result<Delta> {
        Ok(Delta::new(self.number(name)?)?)
    }

    fn n(&self) -> Result<u64> {
        self.whole("n")
    }

    fn gradient(&self) -> Result<Gradient> {
        Ok(Gradient::new(self.whole("d")? as usize, self.number("L")?, self.epsilon("eps")?)?)
    }
}

/// The accountant's questions, grouped as its modules are.
const QUESTIONS: &[Question] = &[
    // The paper's bounds.
    Question {
        name: "cheu_lemma_eps",
        params: &["n", "eps_l", "delta"],
        about: "Lemma abcfd: epsilon_central of one attribute's bits",
        answer: |p| Ok(lemma::epsilon(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?.epsilon().value()),
    },
    Question {
        name: "cheu_lemma_epsl",
        params: &["n", "eps_c", "delta"],
        about: "its inverse: the largest epsilon_local",
        answer: |p| Ok(lemma::epsilon_local(p.n()?, p.epsilon("eps_c")?, p.delta("delta")?)?.value()),
    },
    Question {
        name: "thm_attfrag_eps",
        params: &["n", "eps_l", "delta"],
        about: "Theorem att-frag-privacy",
        answer: |p| Ok(theorem::epsilon(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?.epsilon().value()),
    },
    Question {
        name: "thm_attfrag_epsl",
        params: &["n", "eps_c", "delta"],
        about: "its inverse",
        answer: |p| Ok(theorem::epsilon_local(p.n()?, p.epsilon("eps_c")?, p.delta("delta")?)?.value()),
    },
    Question {
        name: "thm_recfrag_eps",
        params: &["n", "eps_b", "delta"],
        about: "Theorem cor:recFrag without its first term, which is false",
        answer: |p| {
            let guarantee =
                theorem::report_fragments_epsilon(p.n()?, p.epsilon("eps_b")?, p.delta("delta")?)?;
            Ok(guarantee.epsilon().value())
        },
    },
    Question {
        name: "blanket_hoeffding_generic_eps",
        params: &["n", "eps0", "delta"],
        about: "Balle et al. 2019 for any randomizer, Hoeffding (replacement)",
        answer: |p| {
            Ok(blanket::hoeffding_epsilon(p.n()?, p.epsilon("eps0")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "blanket_bennett_generic_eps",
        params: &["n", "eps0", "delta"],
        about: "the same with Bennett's inequality (replacement)",
        answer: |p| {
            Ok(blanket::bennett_epsilon(p.n()?, p.epsilon("eps0")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "paper_table_central_no_attr",
        params: &["n", "eps_l", "delta_c"],
        about: "Table central_no_attr's rule as the paper computed it (no guarantee)",
        answer: |p| Ok(blanket::central_no_attr(p.n()?, p.epsilon("eps_l")?, p.delta("delta_c")?)?.value()),
    },
    // Clones.
    Question {
        name: "clones21_numeric_delta",
        params: &["n", "eps0", "eps"],
        about: "Feldman et al. 2021, numerical: delta (replacement)",
        answer: |p| Ok(Clones::Standard.delta(p.n()?, p.epsilon("eps0")?, p.epsilon("eps")?)?.value()),
    },
    Question {
        name: "clones21_numeric_eps",
        params: &["n", "eps0", "delta"],
        about: "the same: epsilon_central",
        answer: |p| {
            Ok(Clones::Standard.epsilon(p.n()?, p.epsilon("eps0")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "clones21_numeric_epsl",
        params: &["n", "eps_c", "delta"],
        about: "the same: the largest epsilon_local",
        answer: |p| {
            Ok(Clones::Standard.epsilon_local(p.n()?, p.epsilon("eps_c")?, p.delta("delta")?)?.value())
        },
    },
    Question {
        name: "clones21_closed",
        params: &["n", "eps0", "delta"],
        about: "the same in closed form",
        answer: |p| {
            Ok(Clones::Standard.closed_form(p.n()?, p.epsilon("eps0")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "fmt23_numeric_delta",
        params: &["n", "eps0", "eps"],
        about: "Feldman et al. 2023, numerical: delta (replacement of a randomized bit)",
        answer: |p| Ok(Clones::Stronger.delta(p.n()?, p.epsilon("eps0")?, p.epsilon("eps")?)?.value()),
    },
    Question {
        name: "fmt23_numeric_eps",
        params: &["n", "eps0", "delta"],
        about: "the same: epsilon_central",
        answer: |p| {
            Ok(Clones::Stronger.epsilon(p.n()?, p.epsilon("eps0")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "fmt23_numeric_epsl",
        params: &["n", "eps_c", "delta"],
        about: "the same: the largest epsilon_local",
        answer: |p| {
            Ok(Clones::Stronger.epsilon_local(p.n()?, p.epsilon("eps_c")?, p.delta("delta")?)?.value())
        },
    },
    Question {
        name: "fmt23_closed",
        params: &["n", "eps0", "delta"],
        about: "the same in closed form",
        answer: |p| {
            Ok(Clones::Stronger.closed_form(p.n()?, p.epsilon("eps0")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    // Exact.
    Question {
        name: "exact_delta_a0",
        params: &["n", "eps_l", "eps"],
        about: "exact delta if all others hold a zero",
        answer: |p| Ok(exact::delta_a0(p.n()?, p.epsilon("eps_l")?, p.epsilon("eps")?)?.value()),
    },
    Question {
        name: "exact_delta_a_left",
        params: &["n", "a", "eps_l", "eps"],
        about: "exact delta if a others hold a one (0 against 1)",
        answer: |p| Ok(exact::delta_a(p.n()?, p.whole("a")?, p.epsilon("eps_l")?, p.epsilon("eps")?)?.value()),
    },
    Question {
        name: "exact_delta_max_over_a",
        params: &["n", "eps_l", "eps"],
        about: "the largest over all a, one by one (small n)",
        answer: |p| Ok(exact::delta_max_over_a(p.n()?, p.epsilon("eps_l")?, p.epsilon("eps")?)?.value()),
    },
    Question {
        name: "exact_eps_a0",
        params: &["n", "eps_l", "delta"],
        about: "exact epsilon if all others hold a zero",
        answer: |p| Ok(exact::epsilon_a0(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?.value()),
    },
    Question {
        name: "exact_epsl_a0",
        params: &["n", "eps_c", "delta"],
        about: "its inverse",
        answer: |p| Ok(exact::epsilon_local_a0(p.n()?, p.epsilon("eps_c")?, p.delta("delta")?)?.value()),
    },
    Question {
        name: "exact_eps_certified_all_a",
        params: &["n", "eps_l", "delta"],
        about: "certified for all data of the others: the default",
        answer: |p| {
            Ok(exact::epsilon_certified(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "exact_epsl_certified_all_a",
        params: &["n", "eps_c", "delta"],
        about: "its inverse",
        answer: |p| {
            Ok(exact::epsilon_local_certified(p.n()?, p.epsilon("eps_c")?, p.delta("delta")?)?.value())
        },
    },
    Question {
        name: "rappor_whole_removal_eps",
        params: &["n", "eps_l", "delta"],
        about: "whole one-hot reports, bits linked",
        answer: |p| {
            Ok(exact::rappor_whole_epsilon(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "cms_revealed_eps",
        params: &["n", "eps_l", "delta", "H"],
        about: "count sketch, the row of a report visible",
        answer: |p| {
            let (n, local, delta) = (p.n()?, p.epsilon("eps_l")?, p.delta("delta")?);
            Ok(exact::cms_revealed_epsilon(n, local, delta, p.small("H")?)?.epsilon().value())
        },
    },
    Question {
        name: "cms_split_revealed_eps",
        params: &["n", "eps_each", "delta", "H", "r"],
        about: "count sketch on r hash functions with eps_each for each, the rows visible",
        answer: |p| {
            let (n, each, delta) = (p.n()?, p.epsilon("eps_each")?, p.delta("delta")?);
            let guarantee =
                composition::cms_split_revealed_epsilon(n, each, delta, p.small("H")?, p.small("r")?)?;
            Ok(guarantee.epsilon().value())
        },
    },
    Question {
        name: "several_counts_eps",
        params: &["n", "eps_each", "counts", "delta"],
        about: "split attributes or several LDP runs: one respondent moves several counts",
        answer: |p| {
            let (n, each, counts) = (p.n()?, p.epsilon("eps_each")?, p.whole("counts")?);
            Ok(composition::counts_epsilon(n, each, counts, p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "cms_hidden_research_eps",
        params: &["n", "eps_l", "delta", "H", "m"],
        about: "the row hidden: a research bound with named gaps, no guarantee",
        answer: |p| {
            let (n, local, delta) = (p.n()?, p.epsilon("eps_l")?, p.delta("delta")?);
            Ok(exact::research_hidden_hash_epsilon(n, local, delta, p.small("H")?, p.small("m")?)?.value())
        },
    },
    Question {
        name: "replacement_eps",
        params: &["n", "eps_l", "delta"],
        about: "one value for another: two counts move (certified over all data of the others)",
        answer: |p| {
            Ok(composition::replacement_epsilon(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?
                .epsilon()
                .value())
        },
    },
    Question {
        name: "replacement_eps_a0",
        params: &["n", "eps_l", "delta"],
        about: "one value for another (two counts move) if all others hold neither; no guarantee",
        answer: |p| Ok(exact::replacement_epsilon_a0(p.n()?, p.epsilon("eps_l")?, p.delta("delta")?)?.value()),
    },
    Question {
        name: "noise_std",
        params: &["n", "eps_l"],
        about: "the standard deviation of a count",
        answer: |p| Ok(amplification::noise_std(p.n()?, p.epsilon("eps_l")?)?),
    },
    // Report fragments.
    Question {
        name: "frag_eps",
        params: &["eps_b", "eps_f", "t"],
        about: "Theorem record_frag: t exposed fragments behind a backstop",
        answer: |p| Ok(exposed_epsilon(p.epsilon("eps_b")?, p.epsilon("eps_f")?, p.small("t")?).value()),
    },
    Question {
        name: "frag_answer_eps",
        params: &["eps_b", "eps_f", "tau", "epochs", "m"],
        about: "what everything says that is sent over so many epochs, with one answer in m of them and nothing to say in the \
                others; several answers add up",
        answer: |p| {
            let series = throng_dp::AnswerSeries {
                epsilon_backstop: p.epsilon("eps_b")?,
                epsilon_fragment: p.epsilon("eps_f")?,
                tau: p.small("tau")?,
                bits: 1,
            };
            let (epochs, m) = (p.small("epochs")?, p.small("m")?);
            ensure!(m <= epochs, "m is more than the number of epochs");
            Ok(series.epsilon(epochs, [m]).value())
        },
    },
    Question {
        name: "frag_epochs_eps",
        params: &["n", "eps_f", "tau", "epochs", "delta"],
        about: "all releases of so many epochs with answers that may change, n respondents in each, whoever they are: tau exact \
                pairs at eps_f for each epoch",
        answer: |p| {
            let counts = u64::from(p.small("tau")?) * u64::from(p.small("epochs")?);
            ensure!(counts > 0, "tau or epochs is 0; give at least 1");
            let spent = throng_account::composition::counts_epsilon(
                p.n()?,
                p.epsilon("eps_f")?,
                counts,
                p.delta("delta")?,
            );
            Ok(spent?.epsilon().value())
        },
    },
    Question {
        name: "equal_variance_eps_f",
        params: &["eps_b", "tau"],
        about: "epsilon_fragment at which fragments add as much variance as the backstop",
        answer: |p| Ok(fragment_epsilon(p.epsilon("eps_b")?, p.small("tau")?)?.value()),
    },
    Question {
        name: "paper_eps_f",
        params: &["eps_b", "tau"],
        about: "the paper's own rule for it: sinh(eps_f) = sinh(eps_b)/tau",
        answer: |p| {
            Ok(throng_dp::fragmenting::fragment_epsilon_as_paper(p.epsilon("eps_b")?, p.small("tau")?)?
                .value())
        },
    },
    Question {
        name: "frag_noise_std",
        params: &["n", "eps_b", "eps_f", "tau"],
        about: "the standard deviation of a count from report fragments",
        answer: |p| {
            use throng_dp::{estimate::BitNoise, sampling::Bernoulli};
            let (b, f) = (Bernoulli::flip(p.epsilon("eps_b")?)?, Bernoulli::flip(p.epsilon("eps_f")?)?);
            let tau = p.small("tau")?;
            ensure!(tau > 0, "tau is 0; give at least 1");
            Ok((p.n()? as f64 * BitNoise::fragmented(b, f, tau).variance()).sqrt())
        },
    },
    Question {
        name: "frag_separate_channels_upper_eps",
        params: &["n", "eps_b", "eps_f", "tau", "delta"],
        about: "report fragments of one epoch, or of any number of epochs in each of which all n are there, each with one \
                answer throughout: the exact bound of the backstop, for every tau and eps_f",
        answer: |p| {
            p.epsilon("eps_f")?;
            p.small("tau")?;
            let guarantee =
                exact::fragments_separate_epsilon(p.n()?, p.epsilon("eps_b")?, p.delta("delta")?)?;
            Ok(guarantee.epsilon().value())
        },
    },
    Question {
        name: "frag_merged_channel_eps",
        params: &["n", "eps_b", "eps_f", "tau", "delta"],
        about: "all fragments in one channel, if all others hold a zero; no guarantee",
        answer: |p| {
            let (b, f, tau) = (p.epsilon("eps_b")?, p.epsilon("eps_f")?, p.small("tau")?);
            Ok(exact::fragments_merged_epsilon_a0(p.n()?, b, f, tau, p.delta("delta")?)?.value())
        },
    },
    // Central Gaussian.
    Question {
        name: "gauss_sigma_analytic",
        params: &["eps", "delta", "sens"],
        about: "the analytic Gaussian mechanism (Balle, Wang 2018)",
        answer: |p| Ok(Gaussian::calibrated(p.epsilon("eps")?, p.delta("delta")?, p.number("sens")?)?.sigma()),
    },
    Question {
        name: "gauss_eps_analytic",
        params: &["sigma", "delta", "sens"],
        about: "its epsilon",
        answer: |p| {
            Ok(Gaussian::new(p.number("sigma")?, p.number("sens")?)?.epsilon(p.delta("delta")?)?.value())
        },
    },
    Question {
        name: "gauss_sigma_paper",
        params: &["eps_c", "delta_c"],
        about: "the baseline as the paper computed it (a weaker guarantee than its LDP column)",
        answer: |p| Ok(gaussian::sigma_as_paper(p.epsilon("eps_c")?, p.delta("delta_c")?)?),
    },
    // Composition.
    Question {
        name: "adv_comp_eps",
        params: &["k", "eps", "delta_prime"],
        about: "Theorem advc: k-fold adaptive composition",
        answer: |p| {
            let one = CentralGuarantee::<Removal>::new(p.epsilon("eps")?, Delta::ZERO);
            Ok(composition::advanced(one, p.whole("k")?, p.delta("delta_prime")?)?.epsilon().value())
        },
    },
    Question {
        name: "pld_gaussian_composed_eps",
        params: &["sigma", "T", "delta"],
        about: "T Gaussian releases, by privacy-loss distributions",
        answer: |p| {
            let one = Gaussian::new(p.number("sigma")?, 1.0)?;
            Ok(composition::gaussian_epsilon(one, p.whole("T")?, p.delta("delta")?)?.value())
        },
    },
    Question {
        name: "pld_sgd_fmt23_subsampled_eps",
        params: &["n", "m", "eps0", "T", "delta"],
        about: "LDP-SGD: T steps of m out of n reports (fixed size, replacement)",
        answer: |p| {
            let (n, m, steps) = (p.n()?, p.whole("m")?, p.whole("T")?);
            let training = LdpSgd::new(n, m, p.epsilon("eps0")?, steps)?;
            Ok(training.guarantee(p.delta("delta")?)?.epsilon().value())
        },
    },
    Question {
        name: "rdp_fmt23_one_step",
        params: &["n", "eps0", "order"],
        about: "Renyi divergence of the 2023 pair",
        answer: |p| Ok(ShuffledPair::new(p.n()?, p.epsilon("eps0")?)?.renyi(p.number("order")?)?.value()),
    },
    // Deletion.
    Question {
        name: "deletion_discrete_shift",
        params: &["eps_cr", "delta_cr"],
        about: "randomized report deletion: the shift t",
        answer: |p| Ok(Deletion::new(p.epsilon("eps_cr")?, p.delta("delta_cr")?)?.shift() as f64),
    },
    Question {
        name: "deletion_actual_delta",
        params: &["eps_cr", "delta_cr"],
        about: "the delta that the discrete mechanism really has",
        answer: |p| Ok(Deletion::new(p.epsilon("eps_cr")?, p.delta("delta_cr")?)?.actual_delta().value()),
    },
    Question {
        name: "absence_eps",
        params: &["n", "eps_l", "K", "eps_cr", "delta_cr", "delta"],
        about: "a labelled crowd over K instances, each of which deletes: somebody took part, or did not (absence)",
        answer: |p| {
            let presence = Presence {
                crowd: p.n()?,
                epsilon: p.epsilon("eps_l")?,
                receiving: p.small("K")?,
                instances: p.small("K")?,
                deletion: Deletion::new(p.epsilon("eps_cr")?, p.delta("delta_cr")?)?,
            };
            Ok(presence.guarantee(p.delta("delta")?)?.epsilon().value())
        },
    },
    // LDP-SGD.
    Question {
        name: "sgd_scale_correct",
        params: &["d", "eps", "L"],
        about: "what a signed unit direction is multiplied by",
        answer: |p| Ok(p.gradient()?.sphere_scale()),
    },
    Question {
        name: "sgd_scale_paper",
        params: &["d", "eps", "L"],
        about: "the paper's printed constant, which lacks a factor d",
        answer: |p| Ok(p.gradient()?.sphere_scale() / p.number("d")?),
    },
];
