"""Means over seeds, and what a few of them can tell.

Runs of one seed share initial weights and data, whatever the optimizer. Their difference has a
smaller spread than the losses themselves, so rows are compared seed by seed (a paired t interval).
"""
import dataclasses
import math
import statistics

# Student's t, 97.5%, for 1 to 10 degrees of freedom.
_T = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
_Z = statistics.NormalDist().inv_cdf(0.975)
ONE_SIDED = statistics.NormalDist().inv_cdf(0.95)


def t_quantile(degrees):
    """97.5% of Student's t: an interval of 95% has this many standard errors on either side."""
    if degrees <= len(_T):
        return _T[degrees - 1]
    z, n = _Z, degrees  # Abramowitz and Stegun 26.7.5
    return (z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3))


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of two rows, mean over the seeds that both have."""
    mean: float
    low: float | None    # of the 95% interval; None with one seed
    high: float | None
    spread: float | None  # standard deviation of the differences
    seeds: int

    @property
    def certain(self):
        """Whether the interval leaves out zero."""
        return self.low is not None and (self.low > 0 or self.high < 0)


def paired_difference(losses, others):
    """Of {seed: loss} from {seed: loss}; None if they share no seed."""
    shared = sorted(set(losses) & set(others))
    if not shared:
        return None
    each = [losses[seed] - others[seed] for seed in shared]
    mean = statistics.mean(each)
    if len(each) == 1:
        return Difference(mean, None, None, None, 1)
    spread = statistics.stdev(each)
    half = t_quantile(len(each) - 1) * spread / math.sqrt(len(each))
    return Difference(mean, mean - half, mean + half, spread, len(each))


def seeds_needed(difference, spread, most=1000):
    """The least number of seeds whose interval would leave out zero, if the mean is `difference`;
    None if more than `most`."""
    for seeds in range(2, most + 1):
        if t_quantile(seeds - 1) * spread / math.sqrt(seeds) < abs(difference):
            return seeds
    return None


def pooled_spread(groups):
    """The standard deviation within groups of values; None if no group has two."""
    groups = [values for values in groups if len(values) > 1]
    if not groups:
        return None
    squares = sum(statistics.variance(values) * (len(values) - 1) for values in groups)
    return math.sqrt(squares / sum(len(values) - 1 for values in groups))


def first_below(steps, losses, target):
    """Where a curve first reaches `target`, linear between its points; None if it never does."""
    for i, loss in enumerate(losses):
        if loss <= target:
            if i == 0:
                return float(steps[0])
            part = (losses[i - 1] - target) / (losses[i - 1] - loss)
            return steps[i - 1] + part * (steps[i] - steps[i - 1])
    return None
