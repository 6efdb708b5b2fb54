//! Labelled crowds at several instances, under both neighbor relations: who uploads, whom each instance deletes, and all bits.

use throng_account::absence::Presence;
use throng_account::amplification::exact;
use throng_account::deletion::Deletion;

use super::views::{Law, all_data, delta_between};
use super::{delta, epsilon};

/// What one instance publishes: nothing if it kept too few, else how many it kept and the counts of its attributes.
type Published = Option<(usize, Vec<u32>)>;

struct Crowd {
    deletion: Deletion,
    epsilon_deletion: f64,
    keeps_min: usize,
    local: f64,
    width: usize,
    receiving: usize,
    instances: usize,
}

impl Crowd {
    /// Whom an instance keeps: all but min(n, max(0, shift − L)) of them, any such set as likely, as a bit for each.
    fn kept(&self, uploads: usize) -> Law<u32> {
        let a = (-0.5 * self.epsilon_deletion).exp();
        let reach = 200;
        let mut noise = Vec::new();
        for l in -reach..=reach {
            noise.push((l, (1.0 - a) / (1.0 + a) * a.powi(i32::abs(l))));
        }
        Law::weighted(noise).then(|&l| {
            let drops = (self.deletion.shift() as i32 - l).clamp(0, uploads as i32) as u32;
            let left = uploads as u32 - drops;
            Law::uniform((0..1u32 << uploads).filter(|set| set.count_ones() == left).collect())
        })
    }

    fn published(&self, people: &[Option<usize>], instance: usize) -> Law<Published> {
        let held: Vec<usize> =
            (0..self.width).filter(|j| instance < self.receiving && j % self.receiving == instance).collect();
        self.kept(people.len()).then(|&set| {
            let size = set.count_ones() as usize;
            if size < self.keeps_min {
                return Law::sure(None);
            }
            let mut counts = Law::sure(vec![0; held.len()]);
            for (_, value) in people.iter().enumerate().filter(|(person, _)| set >> person & 1 == 1) {
                for (at, &attribute) in held.iter().enumerate() {
                    let sent = Law::randomized(*value == Some(attribute), self.local);
                    counts = counts.then(|counts: &Vec<u32>| {
                        sent.seen(|&set| {
                            let mut counts = counts.clone();
                            counts[at] += u32::from(set);
                            counts
                        })
                    });
                }
            }
            counts.seen(|counts| Some((size, counts.clone())))
        })
    }

    /// Instances delete by themselves, and the bits of one attribute are at one of them.
    fn view(&self, people: &[Option<usize>]) -> Law<Vec<Published>> {
        let mut view = Law::sure(Vec::new());
        for instance in 0..self.instances {
            let one = self.published(people, instance);
            view = view.then(|view: &Vec<Published>| {
                one.seen(|one| [&view[..], std::slice::from_ref(one)].concat())
            });
        }
        view
    }
}

/// Two and three instances, of which two receive fragments: absence is worth no more than is stated, and silence less.
#[test]
fn labels_at_several_instances_hide_presence_and_answers_as_stated() {
    let mut nearest = 0.0f64;
    for (n, instances, receiving, local, epsilon_deletion, keeps_min) in
        [(3, 2, 2, 2.0, 2.0, 2), (3, 3, 2, 1.5, 2.0, 1), (4, 2, 2, 1.0, 3.0, 2), (3, 2, 1, 2.0, 1.5, 2)]
    {
        let deletion = Deletion::new(epsilon(epsilon_deletion), delta(0.1)).unwrap();
        let crowd = Crowd { deletion, epsilon_deletion, keeps_min, local, width: 2, receiving, instances };
        let presence = Presence {
            crowd: keeps_min as u64,
            epsilon: epsilon(local),
            receiving: receiving as u32,
            instances: instances as u32,
            deletion,
        };
        let at = 0.35;
        let stated = presence.guarantee(delta(at)).unwrap().epsilon().value();
        let silent_at = 0.02;
        let silent = exact::epsilon_certified(keeps_min as u64, epsilon(local), delta(silent_at)).unwrap();
        for others in all_data(n - 1, 2) {
            let without = crowd.view(&others);
            let with = crowd.view(&[&others[..], &[Some(0)]].concat());
            let truth = delta_between(&with, &without, stated);
            assert!(truth <= at, "{n} {instances} {others:?}: {truth} at {stated}");
            nearest = nearest.max(truth / at);
            let nothing = crowd.view(&[&others[..], &[None]].concat());
            let truth = delta_between(&with, &nothing, silent.epsilon().value());
            assert!(truth <= silent_at, "{n} {instances} {others:?}: {truth} at {silent:?}");
        }
    }
    assert!(nearest > 0.5, "a statement that nothing comes near would say little: {nearest}");
}
