//! Table girl-1-crowd.

use anyhow::Result;

use super::Section;
use super::fragments::{FragmentsRow, section};
use super::lab::{Data, Lab};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    section(lab, Data::Child, "girl-1-crowd", &PRINTED, 1.5)
}

const PRINTED: [FragmentsRow; 5] = [
    FragmentsRow {
        central: 0.05,
        gaussian: (85.95, 70.68),
        local: 5.95,
        local_printed: 5.95,
        fragments: [(5.95, 5.95, 121.81), (5.95, 4.34, 127.40), (5.95, 3.12, 127.50), (5.95, 0.69, 131.22)],
    },
    FragmentsRow {
        central: 0.25,
        gaussian: (17.28, 17.06),
        local: 9.11,
        local_printed: 9.11,
        fragments: [(9.11, 9.11, 63.84), (9.11, 7.50, 80.65), (9.11, 6.27, 80.46), (9.11, 3.56, 81.27)],
    },
    FragmentsRow {
        central: 0.5,
        gaussian: (8.70, 8.68),
        local: 10.435,
        local_printed: 10.435,
        fragments: [
            (10.435, 10.435, 36.56),
            (10.435, 8.83, 49.72),
            (10.435, 7.60, 49.69),
            (10.435, 4.89, 49.80),
        ],
    },
    FragmentsRow {
        central: 0.75,
        gaussian: (5.84, 5.84),
        local: 11.18,
        local_printed: 11.18,
        fragments: [(11.18, 11.18, 25.83), (11.18, 9.57, 35.67), (11.18, 8.34, 35.81), (11.18, 5.63, 35.77)],
    },
    FragmentsRow {
        central: 1.0,
        gaussian: (4.41, 4.40),
        local: 11.7,
        local_printed: 11.7,
        fragments: [(11.7, 11.7, 20.13), (11.7, 10.09, 28.03), (11.7, 8.86, 28.07), (11.7, 6.15, 28.17)],
    },
];
