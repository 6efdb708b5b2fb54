//! Axes: where a value is placed along one, which stretch of it is shown, and where its ticks are.

use super::scene::Label;

/// An axis and what it measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What the numbers mean, with their unit.
    pub label: String,
    /// How they are spaced.
    pub scale: Scale,
}

/// How an axis spaces its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long; only positive numbers have a place.
    Log,
}

impl Axis {
    /// An axis on which equal differences are equally long.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis on which equal ratios are equally long.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

impl Scale {
    /// Where a value is along an axis of this scale, if anywhere.
    pub(super) fn place(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear => value.is_finite().then_some(value),
            Self::Log => (value.is_finite() && value > 0.0).then(|| value.log10()),
        }
    }
}

/// The stretch of an axis that is shown, in places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    low: f64,
    high: f64,
}

/// A mark on an axis; a minor one has no label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) place: f64,
    pub(super) label: Option<Label>,
}

impl Range {
    /// A range with all these places in it and a little air on both sides; none for no places.
    pub(super) fn around(places: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) =
            places.map(|at| (at, at)).reduce(|(low, high), (at, _)| (low.min(at), high.max(at)))?;
        let (size, span) = (low.abs().max(high.abs()), high - low);
        // Places that agree to twelve digits are one place: ticks between them would all read the same.
        let air = if span > 1e-12 * size && span > TINY {
            AIR * span
        } else if size > TINY {
            0.5 * size
        } else {
            1.0
        };
        Some(Self { low: low - air, high: high + air })
    }

    pub(super) fn is_finite(&self) -> bool {
        (self.high - self.low).is_finite()
    }

    /// 0 for the low end, 1 for the high end.
    pub(super) fn fraction(&self, place: f64) -> f64 {
        (place - self.low) / (self.high - self.low)
    }

    /// Where to put marks, and what to write beside them.
    pub(super) fn ticks(&self, scale: Scale) -> Vec<Tick> {
        match scale {
            Scale::Linear => linear_ticks(self),
            Scale::Log if self.high - self.low >= 1.0 => log_ticks(self),
            // Within one decade, round numbers serve better than the few that 1, 2 and 5 would give.
            Scale::Log => {
                let mut ticks =
                    linear_ticks(&Self { low: 10f64.powf(self.low), high: 10f64.powf(self.high) });
                ticks.iter_mut().for_each(|tick| tick.place = tick.place.log10());
                ticks
            }
        }
    }

    fn contains(&self, place: f64) -> bool {
        (self.low..=self.high).contains(&place)
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, the smallest that gives at most ten of them.
fn linear_ticks(range: &Range) -> Vec<Tick> {
    let step = (range.high - range.low) / LINEAR_TICKS_MAX;
    let power = step.log10().floor();
    let unit = 10f64.powf(power);
    if !(unit.is_finite() && unit > 0.0) {
        return Vec::new();
    }
    let (multiple, power) = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|multiple| multiple * unit >= step)
        .map_or((1.0, power as i32 + 1), |multiple| (multiple, power as i32));
    let step = multiple * 10f64.powi(power);

    let (first, last) = ((range.low / step).ceil(), (range.high / step).floor());
    let size = f64::max(first.abs(), last.abs()) * step;
    (0..=(last - first) as u32)
        .map(|index| (first + f64::from(index)) * step)
        .map(|value| Tick { place: value, label: Some(linear_label(value, size, power)) })
        .collect()
}

/// A number with its last digit at this power of ten, written like the others, the largest of which is `size`.
fn linear_label(value: f64, size: f64, power: i32) -> Label {
    if value == 0.0 {
        return Label::plain("0");
    }
    if (1e-3..1e6).contains(&size) {
        return Label::plain(&decimal(value, -power));
    }
    let exponent = size.log10().floor() as i32;
    let digits = decimal(value / 10f64.powi(exponent), exponent - power);
    Label::raised(&format!("{digits}×10"), &decimal(f64::from(exponent), 0))
}

/// Powers of ten; over few decades with all their multiples marked, and over very few with 2 and 5 labelled.
fn log_ticks(range: &Range) -> Vec<Tick> {
    let decades = range.high - range.low;
    let (first, last) = (range.low.floor() as i32, range.high.floor() as i32);
    let every = (decades / LOG_LABELS_MAX).ceil() as i32;
    let labelled: &[i32] = if decades <= 2.5 { &[1, 2, 5] } else { &[1] };
    let marked = if decades <= 6.5 { 1..=9 } else { 1..=1 };
    let plain = first >= -4 && last <= 4;

    let mut ticks = Vec::new();
    for exponent in first..=last {
        for multiple in marked.clone() {
            let place = f64::from(exponent) + f64::from(multiple).log10();
            if range.contains(place) {
                let label = labelled.contains(&multiple) && exponent.rem_euclid(every) == 0;
                ticks.push(Tick { place, label: label.then(|| log_label(multiple, exponent, plain)) });
            }
        }
    }
    ticks
}

fn log_label(multiple: i32, exponent: i32, plain: bool) -> Label {
    if plain {
        return Label::plain(&decimal(f64::from(multiple) * 10f64.powi(exponent), -exponent));
    }
    let base = if multiple == 1 { "10".to_owned() } else { format!("{multiple}×10") };
    Label::raised(&base, &decimal(f64::from(exponent), 0))
}

/// A number with this many decimals, and with a minus sign rather than a hyphen.
fn decimal(value: f64, decimals: i32) -> String {
    format!("{value:.*}", decimals.max(0) as usize).replace('-', "−")
}

/// The part of a range that is air, on each side.
const AIR: f64 = 0.03;
/// Differences below this are none: a tenth of them could underflow.
const TINY: f64 = 1e-290;
const LINEAR_TICKS_MAX: f64 = 9.0;
const LOG_LABELS_MAX: f64 = 9.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels of the ticks from `low` to `high`, with ^ before an exponent, and the number of minor ticks.
    fn ticks(scale: Scale, low: f64, high: f64) -> (String, usize) {
        let range = Range { low: scale.place(low).unwrap(), high: scale.place(high).unwrap() };
        let ticks = range.ticks(scale);
        // A product may round to just outside of an end that is itself a tick.
        assert!(ticks.iter().all(|tick| (-1e-12..=1.0 + 1e-12).contains(&range.fraction(tick.place))));
        assert!(ticks.is_sorted_by(|one, two| one.place < two.place));
        let labels: Vec<String> =
            ticks.iter().filter_map(|tick| Some(tick.label.as_ref()?.to_string())).collect();
        (labels.join(" "), ticks.len() - labels.len())
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        for (low, high, expected) in [
            (0.0, 1.0, "0 0.2 0.4 0.6 0.8 1.0"),
            (-1.0, 8.0, "−1 0 1 2 3 4 5 6 7 8"),
            (0.0, 40.0, "0 5 10 15 20 25 30 35 40"),
            (120.0, 130.0, "120 122 124 126 128 130"),
            (-0.05, 0.05, "−0.04 −0.02 0 0.02 0.04"),
            (0.0, 250_000.0, "0 50000 100000 150000 200000 250000"),
            (0.0, 2e6, "0 0.5×10^6 1.0×10^6 1.5×10^6 2.0×10^6"),
            (-3e-9, 0.0, "−3.0×10^−9 −2.5×10^−9 −2.0×10^−9 −1.5×10^−9 −1.0×10^−9 −0.5×10^−9 0"),
        ] {
            assert_eq!(ticks(Scale::Linear, low, high), (expected.into(), 0), "{low} to {high}");
        }
    }

    #[test]
    fn log_ticks_are_powers_of_ten_with_what_room_allows() {
        for (low, high, expected, minor) in [
            (0.1, 10.0, "0.1 0.2 0.5 1 2 5 10", 12),
            (0.001, 10.0, "0.001 0.01 0.1 1 10", 32),
            (1.0, 1e6, "10^0 10^1 10^2 10^3 10^4 10^5 10^6", 48),
            (3e-9, 2e-7, "5×10^−9 10^−8 2×10^−8 5×10^−8 10^−7 2×10^−7", 12),
            (1e-9, 1.0, "10^−9 10^−8 10^−7 10^−6 10^−5 10^−4 10^−3 10^−2 10^−1 10^0", 0),
            (1e-30, 1.0, "10^−28 10^−24 10^−20 10^−16 10^−12 10^−8 10^−4 10^0", 23),
            (2.0, 4.1, "2.0 2.5 3.0 3.5 4.0", 0),
            (0.99, 1.01, "0.990 0.995 1.000 1.005 1.010", 0),
        ] {
            assert_eq!(ticks(Scale::Log, low, high), (expected.into(), minor), "{low} to {high}");
        }
    }

    #[test]
    fn every_range_has_a_few_ticks() {
        for exponent in -280..280 {
            for width in [1.001, 1.7, 3.0, 20.0, 1e3, 1e9, 1e25] {
                let low = 1.234 * 10f64.powi(exponent);
                for (scale, low) in [(Scale::Log, low), (Scale::Linear, low), (Scale::Linear, -low)] {
                    let places = [low, low.abs() * width].map(|value| scale.place(value).unwrap());
                    let ticks = Range::around(places.into_iter()).unwrap().ticks(scale);
                    let labels = ticks.iter().filter(|tick| tick.label.is_some()).count();
                    assert!((2..=10).contains(&labels), "{labels} labels from {low} on, times {width}");
                }
            }
        }
    }

    #[test]
    fn one_place_gets_room_around_it() {
        let around = |places: &[f64]| Range::around(places.iter().copied());
        assert_eq!(around(&[]), None);
        assert_eq!(around(&[4.0, 4.0]), Some(Range { low: 2.0, high: 6.0 }));
        assert_eq!(around(&[0.0]), Some(Range { low: -1.0, high: 1.0 }));
        assert_eq!(around(&[5e-324, 0.0]), Some(Range { low: -1.0, high: 1.0 }));
        assert!(!around(&[f64::MAX, f64::MIN]).unwrap().is_finite());
        assert!(around(&[1e16, 1e16 + 2.0]).unwrap().ticks(Scale::Linear).len() > 3);
    }
}
