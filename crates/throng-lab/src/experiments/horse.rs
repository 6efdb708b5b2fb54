//! Table horse-1-crowd.

use anyhow::Result;

use super::Section;
use super::fragments::{FragmentsRow, section};
use super::lab::{Data, Lab};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    section(lab, Data::Horse, "horse-1-crowd", &PRINTED, 1.5)
}

const PRINTED: [FragmentsRow; 5] = [
    FragmentsRow {
        central: 0.05,
        gaussian: (80.42, 51.09),
        local: 2.94,
        local_printed: 2.94,
        fragments: [(2.94, 2.94, 118.40), (2.91, 1.37, 128.05), (2.94, 0.50, 132.46), (2.94, 0.03, 139.47)],
    },
    FragmentsRow {
        central: 0.25,
        gaussian: (16.18, 10.72),
        local: 5.96,
        local_printed: 5.96,
        fragments: [(5.96, 5.96, 45.01), (5.96, 4.35, 63.01), (5.96, 3.13, 63.67), (5.96, 0.70, 82.12)],
    },
    FragmentsRow {
        central: 0.5,
        gaussian: (8.15, 5.40),
        local: 7.28,
        local_printed: 7.28,
        fragments: [(7.28, 7.28, 23.79), (7.28, 5.67, 33.60), (7.28, 4.45, 33.59), (7.28, 1.76, 36.27)],
    },
    FragmentsRow {
        central: 0.75,
        gaussian: (5.47, 3.67),
        local: 8.03,
        local_printed: 8.03,
        fragments: [(8.03, 8.03, 16.46), (8.03, 6.42, 23.22), (8.03, 5.19, 23.20), (8.03, 2.49, 24.17)],
    },
    FragmentsRow {
        central: 1.0,
        gaussian: (4.14, 2.78),
        local: 8.55,
        local_printed: 8.55,
        fragments: [(8.55, 8.55, 12.96), (8.55, 6.94, 17.92), (8.55, 5.71, 18.01), (8.55, 3.00, 18.39)],
    },
];
