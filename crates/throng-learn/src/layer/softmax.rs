//! Softmax and its cross-entropy: what a label costs, and how that changes with the scores.

use crate::number::Number;

/// The loss −ln softmax(scores)[label] of each example; `by_scores` becomes its derivatives.
pub(crate) fn cross_entropy<F: Number>(scores: &[F], labels: &[u8], losses: &mut [f64], by_scores: &mut [F]) {
    let classes = scores.len() / labels.len();
    let results = losses.iter_mut().zip(by_scores.chunks_exact_mut(classes));
    for ((scores, &label), (loss, by_scores)) in scores.chunks_exact(classes).zip(labels).zip(results) {
        let largest = scores.iter().map(|x| x.double()).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|x| (x.double() - largest).exp()).sum();
        *loss = sum.ln() + largest - scores[usize::from(label)].double();
        for (by_score, x) in by_scores.iter_mut().zip(scores) {
            *by_score = F::of((x.double() - largest).exp() / sum);
        }
        // Of the true label: p − 1, which is minus the sum of the others, without cancellation.
        let label = usize::from(label);
        let others = by_scores.iter().enumerate().filter(|&(i, _)| i != label);
        by_scores[label] = others.fold(F::default(), |sum, (_, &p)| sum - p);
    }
}
