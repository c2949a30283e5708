"""Three of ten are right, counted among 200: how often does a 95 % interval by resampling hold the truth?"""

import numpy as np
from beside import show

TRUTH, N_PEOPLE, N_TRIES = 0.3, 200, 500


def samples():
    """Return 500 samples of 200 people, of whom three in ten are right."""
    return np.random.default_rng(0).random((N_TRIES, N_PEOPLE)) < TRUTH


def held(bounds):
    """Return how many of 100 intervals hold the truth."""
    return f"{100 * np.mean([low <= TRUTH <= high for low, high in bounds]):.0f} of 100 intervals hold it"


def resampled(sample, rng):
    """Return the share of right guesses in 1,000 resamples."""
    return rng.choice(sample, (1000, N_PEOPLE)).mean(axis=1)


def formula():
    """Take half of what lies between two percentiles as the radius: as the thesis does, and as it means."""
    rng = np.random.default_rng(1)
    drawn = [(sample.mean(), resampled(sample, rng)) for sample in samples()]
    for low, high in ((0.025, 0.975), (2.5, 97.5)):
        radii = [(value, np.ptp(np.percentile(scores, [low, high])) / 2) for value, scores in drawn]
        bounds = [(value - radius, value + radius) for value, radius in radii]
        mean = np.mean([radius for _, radius in radii])
        yield f"percentile(scores, [{low}, {high}]): a radius of {mean:.3f}, {held(bounds)}"


def tabveil():
    """Do the same with what tabveil uses: resampled, and in closed form for a rate."""
    from tabveil.core.estimate.means import percentile_interval  # noqa: PLC0415
    from tabveil.core.estimate.rates import wilson  # noqa: PLC0415

    rng = np.random.default_rng(1)
    found = [percentile_interval(s.mean(), resampled(s, rng), N_PEOPLE) for s in samples()]
    yield f"percentile_interval: {held((estimate.low, estimate.high) for estimate in found)}"
    found = [wilson(sample.sum(), N_PEOPLE) for sample in samples()]
    yield f"wilson: {held((estimate.low, estimate.high) for estimate in found)}"


if __name__ == "__main__":
    show(__doc__, ("numpy", formula), ("tabveil", tabveil))
