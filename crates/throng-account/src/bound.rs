//! The bounds by their names: from a crowd and a local guarantee to a central one, and back.

use throng_dp::{Delta, Epsilon};

use crate::Error;
use crate::amplification::{blanket, clones::Clones, exact, lemma, theorem};

/// A bound for attribute fragments: from epsilon_local to epsilon_central and back, at a crowd and a delta.
#[derive(Debug)]
pub struct Bound {
    /// Its name, the same everywhere.
    pub name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// epsilon_central for an epsilon_local.
    pub central: fn(u64, Epsilon, Delta) -> Result<Epsilon, Error>,
    /// The largest epsilon_local for an epsilon_central.
    pub local: fn(u64, Epsilon, Delta) -> Result<Epsilon, Error>,
}

/// From the tightest to the paper's simplest. All are stated for one bit, whose flip is replacement ε_local; a value
/// and its absence differ in one bit, so what they say about it is removal.
pub const BOUNDS: [Bound; 6] = [
    Bound {
        name: "exact",
        source: "certified over all data of the others",
        central: |n, local, delta| Ok(exact::epsilon_certified(n, local, delta)?.epsilon()),
        local: exact::epsilon_local_certified,
    },
    Bound {
        name: "fmt23",
        source: "Feldman, McMillan, Talwar 2023, numerical",
        central: |n, local, delta| Ok(Clones::Stronger.epsilon(n, local, delta)?.epsilon()),
        local: |n, central, delta| Clones::Stronger.epsilon_local(n, central, delta),
    },
    Bound {
        name: "clones21",
        source: "Feldman, McMillan, Talwar 2021, numerical",
        central: |n, local, delta| Ok(Clones::Standard.epsilon(n, local, delta)?.epsilon()),
        local: |n, central, delta| Clones::Standard.epsilon_local(n, central, delta),
    },
    Bound {
        name: "blanket",
        source: "Balle, Bell, Gascon, Nissim 2019, generic",
        central: blanket_central,
        local: blanket_local,
    },
    Bound {
        name: "lemma",
        source: "the paper's Lemma abcfd, behind its tables",
        central: |n, local, delta| Ok(lemma::epsilon(n, local, delta)?.epsilon()),
        local: lemma::epsilon_local,
    },
    Bound {
        name: "theorem",
        source: "the paper's Theorem att-frag-privacy",
        central: |n, local, delta| Ok(theorem::epsilon(n, local, delta)?.epsilon()),
        local: theorem::epsilon_local,
    },
];

impl Bound {
    /// The bound of a name.
    pub fn named(name: &str) -> Result<&'static Self, Error> {
        let unknown = || {
            let names: Vec<&str> = BOUNDS.iter().map(|bound| bound.name).collect();
            Error::UnknownBound { name: name.to_owned(), names: names.join(", ") }
        };
        BOUNDS.iter().find(|bound| bound.name == name).ok_or_else(unknown)
    }

    /// What a release guarantees at the analyzer if each report has this local floor. For a sketch, the row of a report
    /// is taken to be visible, so that only those who report on the same row are a crowd; only the exact bound knows
    /// about rows.
    pub fn epsilon_central(
        &self,
        n: u64,
        floor: Epsilon,
        delta: Delta,
        rows: Option<u32>,
    ) -> Result<Epsilon, Error> {
        match rows {
            None => (self.central)(n, floor, delta),
            Some(rows) if self.name == "exact" => {
                Ok(exact::cms_revealed_epsilon(n, floor, delta, rows)?.epsilon())
            }
            Some(_) => Err(self.knows_no_rows()),
        }
    }

    /// The largest local floor under which a release guarantees this.
    pub fn epsilon_local(
        &self,
        n: u64,
        central: Epsilon,
        delta: Delta,
        rows: Option<u32>,
    ) -> Result<Epsilon, Error> {
        match rows {
            None => (self.local)(n, central, delta),
            Some(rows) if self.name == "exact" => exact::cms_revealed_epsilon_local(n, central, delta, rows),
            Some(_) => Err(self.knows_no_rows()),
        }
    }

    fn knows_no_rows(&self) -> Error {
        Error::NotApplicable(format!(
            "the bound {} says nothing about sketches, whose rows are visible; use exact, or one bit per value",
            self.name
        ))
    }
}

/// The better of the two generic forms.
fn blanket_central(n: u64, local: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    let hoeffding = blanket::hoeffding_epsilon(n, local, delta)?.epsilon();
    Ok(hoeffding.min(blanket::bennett_epsilon(n, local, delta)?.epsilon()))
}

/// Bisection: epsilon_central rises with epsilon_local, and is never above it.
fn blanket_local(n: u64, central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    let (mut low, mut high) = (central.value(), central.value() + (n as f64).ln() + 10.0);
    while high - low > 1e-9 * high {
        let middle = (low + high) / 2.0;
        if blanket_central(n, Epsilon::new(middle)?, delta)? <= central {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(Epsilon::new(low)?)
}
