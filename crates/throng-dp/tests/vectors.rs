//! What every implementation must agree on, against values made by other software (tests/vectors/make.py).

use serde_json::Value;
use throng_dp::randomizer::gradient::{Direction, UNIT};
use throng_dp::sampling::Bernoulli;
use throng_dp::{
    CountSketch, Epsilon, Estimator, Gradient, GradientRandomizer, GradientReport, PrivUnit, SketchShape,
};

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors/vectors.json")).expect("make.py writes JSON")
}

#[test]
fn coins_have_the_thresholds_of_mpmath() {
    let vectors = vectors();
    let thresholds = vectors["thresholds"].as_array().unwrap();
    assert_eq!(thresholds.len(), 10);
    for vector in thresholds {
        let epsilon = Epsilon::new(vector["epsilon"].as_f64().unwrap()).unwrap();
        let threshold: u128 = vector["threshold"].as_str().unwrap().parse().unwrap();
        assert_eq!(Bernoulli::flip(epsilon).unwrap().threshold(), threshold, "{epsilon}");
    }
}

#[test]
fn hash_functions_have_the_cells_of_another_implementation() {
    let vectors = vectors();
    let sketch = &vectors["sketch"];
    let number = |value: &Value| value.as_u64().unwrap();
    let shape = SketchShape {
        domain: 2_000_000,
        rows: number(&sketch["rows"]) as u32,
        cells: number(&sketch["cells"]) as u32,
        seed: number(&sketch["seed"]),
    };
    let mechanism = CountSketch::new(shape, Epsilon::new(1.0).unwrap()).unwrap();
    let points = sketch["points"].as_array().unwrap();
    assert_eq!(points.len(), 5);
    for point in points {
        let cell = mechanism.cell(number(&point["row"]) as u32, number(&point["value"])).unwrap();
        assert_eq!(u64::from(cell), number(&point["cell"]));
    }
}

#[test]
fn directions_are_those_of_another_implementation() {
    let vectors = vectors();
    let directions = vectors["directions"].as_array().unwrap();
    assert_eq!(directions.len(), 3);
    for vector in directions {
        let hex = vector["seed"].as_str().unwrap();
        let seed = std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap());
        let mut coordinates = vec![0; vector["dimension"].as_u64().unwrap() as usize];
        Direction::new(seed).fill(&mut coordinates);
        let first: Vec<i64> =
            vector["first"].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
        assert!(coordinates.iter().zip(&first).all(|(&ours, &theirs)| i64::from(ours) == theirs));
        assert_eq!(i64::from(*coordinates.last().unwrap()), vector["last"].as_i64().unwrap());
        let bytes: Vec<u8> = coordinates.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(sha256(&bytes), vector["sha256"].as_str().unwrap());
    }
}

#[test]
fn reports_add_up_to_the_sums_of_another_implementation() {
    let vectors = vectors();
    let vector = &vectors["gradient_reports"];
    let sums: Vec<f64> = vector["sums"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let mechanism = Gradient::new(sums.len(), 1.0, Epsilon::new(1.9).unwrap()).unwrap();
    let mut tally = mechanism.tally().unwrap();
    for report in vector["reports"].as_array().unwrap() {
        let hex = report.as_str().unwrap();
        let bytes = std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap());
        mechanism.add(&mut tally, &GradientReport::from_bytes(bytes).unwrap()).unwrap();
    }
    assert_eq!(tally.reports(), 5);
    let factor = mechanism.gaussian_scale() / (5.0 * f64::from(UNIT));
    let mean = mechanism.estimate(&tally).unwrap().mean;
    assert!(mean.iter().zip(&sums).all(|(ours, sum)| (ours / factor - sum).abs() < 1e-6), "{mean:?}");
}

/// Thresholds come from double precision, so that they agree with those of many digits to 1e-13.
#[test]
fn the_cap_of_priv_unit_is_that_of_another_implementation() {
    let vectors = vectors();
    let vector = &vectors["priv_unit"];
    let number = |name: &str| vector[name].as_f64().unwrap();
    let share_of_all = |name: &str| {
        let threshold: u128 = vector[name].as_str().unwrap().parse().unwrap();
        threshold as f64 * 2f64.powi(-128)
    };
    let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 1e-13;
    let mechanism = PrivUnit::new(3, 1.0, Epsilon::new(number("epsilon")).unwrap()).unwrap();
    assert_eq!(mechanism.start(), number("start"));
    assert!(near(mechanism.share(), share_of_all("share_threshold")), "{}", mechanism.share());
    assert!(near(mechanism.coin().probability(), share_of_all("coin_threshold")), "{:?}", mechanism.coin());
    assert!(near(mechanism.across(), number("scale")), "{}", mechanism.across());
    // A report alone decodes to its direction times that scale.
    let seed = [7; 16];
    let mut tally = mechanism.tally().unwrap();
    mechanism.add(&mut tally, &seed).unwrap();
    let mut direction = [0; 3];
    Direction::new(seed).fill(&mut direction);
    let mean = mechanism.estimate(&tally).unwrap().mean;
    let decoded = direction.map(|v| number("scale") * f64::from(v) / f64::from(UNIT));
    assert!(mean.iter().zip(decoded).all(|(&ours, theirs)| near(ours, theirs)), "{mean:?}");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
