//! The numbers that the paper prints in Section VII.C.

use throng_simulate::dataset::PictureSet;

/// A data set of Table res.
pub(super) struct PrintedAccuracies {
    pub(super) set: PictureSet,
    pub(super) epsilon_local: f64,
    pub(super) batches: [Batch; 3],
}

/// One effective batch size: for each of [`CENTRAL`] the accuracy in % and its deviation over at least ten runs.
pub(super) struct Batch {
    pub(super) reports: u64,
    pub(super) fragments: u64,
    pub(super) accuracies: [(f64, f64); 3],
}

/// Another accuracy that the paper quotes, in %.
pub(super) struct QuotedAccuracies {
    pub(super) set: PictureSet,
    /// Of this architecture without privacy.
    pub(super) plain: f64,
    /// Of the whole learning curve, as the text says.
    pub(super) saturated: f64,
    /// The best known of a trusted party, and its epsilon_central under removal.
    pub(super) trusted: (f64, f64),
}

/// A column of Table membership_inference: a measured TPR − FPR with its deviation, and the two bounds of epsilon.
pub(super) struct MembershipColumn {
    pub(super) advantage: (f64, f64),
    pub(super) upper: f64,
    pub(super) lower: f64,
}

/// The epsilon_central of the columns of Table res.
pub(super) const CENTRAL: [f64; 3] = [5.0, 10.0, 18.0];

/// The paper prints no delta; with this one its accounting gives the pattern of its table.
pub(super) const DELTA: f64 = 1e-5;

pub(super) const RES: [PrintedAccuracies; 3] = [
    PrintedAccuracies {
        set: PictureSet::Cifar10,
        epsilon_local: 1.8,
        batches: [
            Batch { reports: 5_000, fragments: 1, accuracies: [(58.6, 1.9), (61.2, 1.3), (62.6, 0.7)] },
            Batch { reports: 10_000, fragments: 2, accuracies: [(59.8, 1.2), (63.9, 0.5), (65.6, 0.3)] },
            Batch { reports: 25_000, fragments: 5, accuracies: [(58.1, 0.8), (64.0, 0.7), (66.6, 0.4)] },
        ],
    },
    PrintedAccuracies {
        set: PictureSet::Mnist,
        epsilon_local: 1.9,
        batches: [
            Batch { reports: 2_000, fragments: 1, accuracies: [(84.2, 1.7), (88.9, 1.3), (89.1, 1.0)] },
            Batch { reports: 4_000, fragments: 2, accuracies: [(85.8, 1.8), (92.0, 0.8), (93.0, 0.4)] },
            Batch { reports: 10_000, fragments: 5, accuracies: [(80.5, 2.2), (91.2, 0.7), (93.9, 0.4)] },
        ],
    },
    PrintedAccuracies {
        set: PictureSet::FashionMnist,
        epsilon_local: 1.9,
        batches: [
            Batch { reports: 2_000, fragments: 1, accuracies: [(71.1, 0.7), (73.3, 0.6), (74.5, 0.4)] },
            Batch { reports: 4_000, fragments: 2, accuracies: [(70.3, 0.8), (74.3, 0.4), (76.4, 0.4)] },
            Batch { reports: 10_000, fragments: 5, accuracies: [(67.0, 1.8), (73.3, 0.6), (76.1, 0.5)] },
        ],
    },
];

pub(super) const QUOTED: [QuotedAccuracies; 3] = [
    QuotedAccuracies { set: PictureSet::Cifar10, plain: 86.0, saturated: 70.0, trusted: (73.0, 8.0) },
    QuotedAccuracies { set: PictureSet::Mnist, plain: 99.0, saturated: 95.0, trusted: (98.0, 3.0) },
    QuotedAccuracies { set: PictureSet::FashionMnist, plain: 89.0, saturated: 78.0, trusted: (86.0, 3.0) },
];

/// Of LDP-SGD and of a trusted party's DP-SGD.
pub(super) const MEMBERSHIP: [(PictureSet, MembershipColumn, MembershipColumn); 3] = [
    (
        PictureSet::Mnist,
        MembershipColumn { advantage: (0.0017, 0.0014), upper: 27.0, lower: 0.00171 },
        MembershipColumn { advantage: (0.0017, 0.0016), upper: 9.5, lower: 0.00166 },
    ),
    (
        PictureSet::FashionMnist,
        MembershipColumn { advantage: (0.0130, 0.0024), upper: 27.0, lower: 0.01306 },
        MembershipColumn { advantage: (0.0122, 0.0012), upper: 9.5, lower: 0.01228 },
    ),
    (
        PictureSet::Cifar10,
        MembershipColumn { advantage: (0.0097, 0.0014), upper: 71.4, lower: 0.00970 },
        MembershipColumn { advantage: (0.0095, 0.0005), upper: 9.0, lower: 0.00957 },
    ),
];

pub(super) fn title(set: PictureSet) -> &'static str {
    match set {
        PictureSet::Mnist => "MNIST",
        PictureSet::FashionMnist => "Fashion-MNIST",
        PictureSet::Cifar10 => "CIFAR-10",
    }
}
