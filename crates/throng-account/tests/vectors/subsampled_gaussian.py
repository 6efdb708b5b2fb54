#!/usr/bin/env python3
"""Writes subsampled_gaussian.json: what central DP-SGD costs, by Google's dp-accounting.

    pip install dp-accounting==0.6.0
    python3 subsampled_gaussian.py > subsampled_gaussian.json

A step takes every respondent into its batch with the probability `sampling`, independently (Poisson sampling), adds up
their gradients, each clipped to the norm 1, and adds Gaussian noise of standard deviation `sigma` to every coordinate.
`steps` such steps are composed. Neighbors differ by one respondent more or less (removal); the worse direction counts.

The true epsilon at `delta` is between `epsilon_lower` and `epsilon_upper`: privacy-loss distributions on multiples of `grid`,
rounded in favor of the mechanism and against it. `epsilon_lower` rounds every loss down, by half a `grid` a step on average.
`epsilon_upper` connects the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), whose error falls with the square of the grid:
`epsilon_default`, the answer of dp-accounting's own accountant with its grid of 1e-4, differs by at most 3e-5, so
`epsilon_upper` is the true value to about 1e-5, rounding of the arithmetic included. `epsilon_renyi` is the answer of its accountant of Renyi orders, looser.
"""

import json

import dp_accounting
from dp_accounting import pld, rdp
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

# sigma, sampling, steps, delta, grid.
SETTINGS = [
    (1.1, 256 / 60_000, 2_000, 1e-5, 1e-5),
    (0.7, 1 / 120, 1_000, 1e-5, 1e-5),
    (4.0, 1 / 6, 2_000, 1e-5, 1e-5),
    (1.0, 0.01, 1, 1e-5, 1e-5),
    (20.0, 1.0, 100, 1e-6, 1e-5),
]


def composed(sigma, sampling, steps, grid, pessimistic):
    one = from_gaussian_mechanism(
        sigma,
        sampling_prob=sampling,
        value_discretization_interval=grid,
        pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic,
    )
    return one.self_compose(steps)


def accountant(kind, sigma, sampling, steps, delta):
    event = dp_accounting.PoissonSampledDpEvent(sampling, dp_accounting.GaussianDpEvent(sigma))
    return kind.compose(event, steps).get_epsilon(delta)


def vector(sigma, sampling, steps, delta, grid):
    return {
        "sigma": sigma,
        "sampling": sampling,
        "steps": steps,
        "delta": delta,
        "grid": grid,
        "epsilon_lower": composed(sigma, sampling, steps, grid, False).get_epsilon_for_delta(delta),
        "epsilon_upper": composed(sigma, sampling, steps, grid, True).get_epsilon_for_delta(delta),
        "epsilon_default": accountant(pld.PLDAccountant(), sigma, sampling, steps, delta),
        "epsilon_renyi": accountant(rdp.RdpAccountant(), sigma, sampling, steps, delta),
    }


print(json.dumps([vector(*setting) for setting in SETTINGS], indent=1))
