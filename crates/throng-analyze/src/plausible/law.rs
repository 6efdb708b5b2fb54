//! The law of the fragments that honest respondents send, bounded over everything that they may hold.
//!
//! All of it is in ln E[e^(sX)], which adds up over independent respondents (docs/accounting.md, "What a crowd can hold").

use throng_dp::fragmenting::Assignment;
use throng_dp::{BitRandomizer, Coins, Mechanism};

use super::tail::ln_above;

/// What an honest respondent sends to some of the instances.
#[derive(Clone, Debug)]
pub(super) struct Law {
    coins: Coins,
    kind: Kind,
    /// How many of a bit's fragments these instances get, by the attribute modulo K'.
    draws: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// All bits are flipped, of which one is set, or none. Of `sampled` attributes one is picked first.
    OneRow { width: u64, sampled: f64 },
    /// The same in `reported` of all rows, which are drawn uniformly. By where rows begin modulo K': how many do.
    Rows { width: u64, starts: Vec<u64>, reported: f64 },
}

impl Law {
    /// For the instances at some positions.
    pub(super) fn new(mechanism: &Mechanism, assignment: Assignment, positions: &[u32]) -> Self {
        let classes = 0..assignment.instances();
        let here = |class| positions.iter().map(|&position| assignment.fragments(class, position)).sum();
        let kind = match (mechanism.sketch(), mechanism.record()) {
            (Some(sketch), _) => {
                let shape = sketch.shape();
                let mut starts = vec![0; assignment.instances() as usize];
                for row in 0..u64::from(shape.rows) {
                    let start = row * u64::from(shape.cells) % u64::from(assignment.instances());
                    starts[start as usize] += 1;
                }
                let reported = f64::from(sketch.differing_bits());
                Kind::Rows { width: u64::from(shape.cells), starts, reported }
            }
            (None, record) => {
                let sampled = record.map_or(1.0, |record| f64::from(record.layout().count()));
                Kind::OneRow { width: mechanism.domain(), sampled }
            }
        };
        Self { coins: mechanism.coins(), kind, draws: classes.map(here).collect() }
    }

    /// How many fragments of an attribute these instances get of one respondent at most.
    pub(super) fn draws(&self, attribute: u32) -> u32 {
        self.draws[attribute as usize % self.draws.len()]
    }

    /// The most of them, over all attributes.
    pub(super) fn draws_max(&self) -> u32 {
        self.draws.iter().copied().max().unwrap_or(0)
    }

    /// How many bits of one respondent count for one value.
    pub(super) fn bits(&self) -> u64 {
        match self.kind {
            Kind::OneRow { .. } => 1,
            Kind::Rows { reported, .. } => reported as u64,
        }
    }

    /// How many fragments one respondent can send them at most.
    pub(super) fn fragments_max(&self) -> u64 {
        match &self.kind {
            Kind::OneRow { width, .. } => self.whole(0, *width),
            Kind::Rows { width, starts, reported } => {
                let most = (0..starts.len()).map(|start| self.whole(start, *width)).max().unwrap_or(0);
                most.saturating_mul(*reported as u64)
            }
        }
    }

    fn whole(&self, start: usize, width: u64) -> u64 {
        self.classes(start, width).map(|(count, draws)| count.saturating_mul(u64::from(draws))).sum()
    }

    /// All fragments of someone with nothing to say, for s of either sign: the fewest that anyone sends.
    ///
    /// For rows: over a uniformly drawn set of r of them the mean of a product is at most the r-th power of the mean of
    /// all rows (Maclaurin's inequality for elementary symmetric polynomials).
    pub(super) fn ln_blank(&self, s: f64) -> f64 {
        let row = |start: usize, width: u64| -> f64 {
            let bits = self.classes(start, width).filter(|&(count, draws)| count > 0 && draws > 0);
            bits.map(|(count, draws)| count as f64 * self.ln_bit(false, draws, s)).sum()
        };
        match &self.kind {
            Kind::OneRow { width, .. } => row(0, *width),
            Kind::Rows { width, starts, reported } => {
                let rows: u64 = starts.iter().sum();
                let mean = starts.iter().enumerate().filter(|(_, count)| **count > 0);
                let mean = mean.map(|(start, &count)| (count as f64 / rows as f64, row(start, *width)));
                reported * ln_mean(mean)
            }
        }
    }

    /// All fragments of someone with the value that has the most, for s > 0: no answer has stochastically more.
    pub(super) fn ln_holding(&self, s: f64) -> f64 {
        let more = |&draws: &u32| self.ln_bit(true, draws, s) - self.ln_bit(false, draws, s);
        self.ln_blank(s) + self.bits() as f64 * self.draws.iter().map(more).fold(0.0, f64::max)
    }

    /// All fragments that fit into a body of b envelopes, of someone with nothing to say, in e^(−sX), for s > 0. Whoever has more
    /// leaves some out, which is rare: e^(−s min(X, b)) ≤ e^(−sX) + e^(−sb)·[X > b]; and nobody has more often more than
    /// someone with a value.
    pub(super) fn ln_blank_in_bodies(&self, bodies: u64) -> impl Fn(f64) -> f64 {
        let overflow = ln_above(|s| self.ln_holding(s), bodies);
        move |s| ln_sum(self.ln_blank(-s), overflow - s * bodies as f64)
    }

    /// The fragments that count for one value, of someone who holds it, for s > 0.
    pub(super) fn ln_value(&self, draws: u32, s: f64) -> f64 {
        let held = self.ln_bit(true, draws, s);
        match self.kind {
            Kind::OneRow { sampled, .. } => {
                let share = 1.0 / sampled;
                ln_mean([(share, held), (1.0 - share, self.ln_bit(false, draws, s))].into_iter())
            }
            Kind::Rows { reported, .. } => reported * held,
        }
    }

    /// The fragments of one cell of a sketch, of someone whose value has it: its row is sampled, or not.
    pub(super) fn ln_cell(&self, draws: u32, s: f64) -> f64 {
        match &self.kind {
            Kind::OneRow { .. } => self.ln_bit(true, draws, s),
            Kind::Rows { starts, reported, .. } => {
                let share = reported / starts.iter().sum::<u64>() as f64;
                ln_mean([(share, self.ln_bit(true, draws, s)), (1.0 - share, 0.0)].into_iter())
            }
        }
    }

    /// `draws` fragments of one bit.
    fn ln_bit(&self, one: bool, draws: u32, s: f64) -> f64 {
        let of = |set: f64| f64::from(draws) * (set * s.exp_m1()).ln_1p();
        match self.coins {
            Coins::Runs { coin, .. } => of(coin_of(one, coin.probability())),
            Coins::Fragments { backstop, fragment, .. } => {
                let (set, flip) = (coin_of(one, backstop.probability()), fragment.probability());
                ln_mean([(set, of(1.0 - flip)), (1.0 - set, of(flip))].into_iter())
            }
        }
    }

    /// Of `width` attributes that follow one another: how many are in each class modulo K', and their draws. The first one's
    /// class is `start`.
    fn classes(&self, start: usize, width: u64) -> impl Iterator<Item = (u64, u32)> {
        let all = self.draws.len();
        self.draws.iter().enumerate().map(move |(class, &draws)| {
            let first = (class + all - start % all) % all;
            (width / all as u64 + u64::from((first as u64) < width % all as u64), draws)
        })
    }
}

fn coin_of(one: bool, flip: f64) -> f64 {
    if one { 1.0 - flip } else { flip }
}

/// ln Σ w·e^x over pairs of w ≥ 0 and x, at least one of them with w > 0.
fn ln_mean(terms: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let terms = terms.filter(|&(weight, _)| weight > 0.0);
    let top = terms.clone().map(|(_, x)| x).fold(f64::NEG_INFINITY, f64::max);
    top + terms.map(|(weight, x)| weight * (x - top).exp()).sum::<f64>().ln()
}

fn ln_sum(one: f64, other: f64) -> f64 {
    ln_mean([(1.0, one), (1.0, other)].into_iter())
}
