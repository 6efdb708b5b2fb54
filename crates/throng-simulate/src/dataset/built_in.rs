//! Data that comes with the program; where it is from is in data/README.md.

use anyhow::{Context, Result, bail};

use super::{Dataset, Records, csv};
use throng_analyze::Picture;
use throng_plot::Png;

impl Dataset {
    /// The names of the datasets that come with the program.
    pub const BUILT_IN: [&str; 4] = ["horse", "portrait", "map", "flights"];

    /// A dataset that comes with the program: one of three pictures with the sizes and crowds of the paper's Horse,
    /// Girl and Map, or the flights of a year by route.
    pub fn built_in(name: &str) -> Result<Self> {
        let picture =
            |png, respondents_per_unit| Self::of_picture(name, Picture::from_png(png)?, respondents_per_unit);
        let dataset = match name {
            "horse" => picture(HORSE, 1.0),
            "portrait" => picture(PORTRAIT, 1.0),
            // The paper's map has more respondents than its pixels have units of luminosity.
            "map" => picture(MAP, 2.5),
            "flights" => csv::read(name, FLIGHTS, None),
            _ => bail!("no dataset {name:?} comes with the program; there are {}", Self::BUILT_IN.join(", ")),
        };
        dataset.with_context(|| format!("the built-in dataset {name}"))
    }
}

impl Records {
    /// The records of a census that come with the program: eight attributes, `?` where an answer is missing.
    pub fn census() -> Result<Self> {
        Self::read(CENSUS, &CENSUS_COLUMNS).context("the built-in census")
    }
}

const HORSE: &[u8] = include_bytes!("../../data/horse.png");
const PORTRAIT: &[u8] = include_bytes!("../../data/portrait.png");
const MAP: &[u8] = include_bytes!("../../data/map.png");
const FLIGHTS: &[u8] = include_bytes!("../../data/flights.csv.gz");
pub(super) const CENSUS: &[u8] = include_bytes!("../../data/census.csv.gz");
/// The columns whose answers are categories.
const CENSUS_COLUMNS: [&str; 8] =
    ["WorkClass", "Education", "MaritalStatus", "Occupation", "Race", "Gender", "NativeCountry", "Income"];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Sizes and totals as in data/README.md, and for the pictures as in the paper.
    #[test]
    fn built_in_datasets_have_their_stated_sizes() {
        let sizes =
            [(87_680, 1_914_589), (358_337, 50_409_435), (2_795_520, 236_559_063), (5_366, 7_009_728)];
        for (name, size) in Dataset::BUILT_IN.into_iter().zip(sizes) {
            let dataset = Dataset::built_in(name).unwrap();
            assert_eq!((dataset.domain(), dataset.respondents()), size, "{name}");
            assert_eq!((dataset.name(), dataset.canvas().is_some()), (name, name != "flights"));
        }
    }

    #[test]
    fn pictures_are_drawn_as_they_were() {
        let map = Dataset::built_in("map").unwrap();
        let (truth, canvas): (Vec<_>, _) =
            (map.counts().iter().map(|&count| count as f64).collect(), map.canvas().unwrap());
        assert_eq!((canvas.picture.width(), canvas.picture.height()), (2048, 1365));
        assert!(canvas.draw(&truth) == canvas.picture);
    }

    #[test]
    fn flights_are_by_route_the_busiest_first() {
        let flights = Dataset::built_in("flights").unwrap();
        assert_eq!((flights.label(0), flights.counts()[0]), ("SFO-LAX".into(), 13_788));
        assert!(flights.counts().is_sorted_by(|one, next| one >= next));
    }

    #[test]
    fn the_census_has_its_stated_size() {
        let census = Records::census().unwrap();
        assert_eq!((census.rows().len(), census.names().len()), (32_561, 8));
        let combinations: HashSet<_> = census.rows().iter().collect();
        assert_eq!(combinations.len(), 7_734);
        let income = census.attribute(7);
        assert_eq!((income.label(0), income.counts()), ("<=50K".into(), &[24_720, 7_841][..]));
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        let complaint = Dataset::built_in("cow").unwrap_err().to_string();
        assert!(complaint.contains("\"cow\"") && complaint.contains("horse, portrait, map, flights"));
    }
}
