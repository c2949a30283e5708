"""What each private mechanism answers in two worlds that differ in the worst row: many answers, no fits.

The noise is drawn by the code that generators draw it with, at the size that they plan for a promise. Every
answer is told as one number, its score: the higher, the likelier the row is there. ``share`` is how much of
the noise is really added.
"""

import math

import numpy as np
import torch
from broken_generators import BrokenDpCtgan, BrokenPateGan
from scipy.stats import binom

from tabveil.core.table import Categorical, Schema, Table
from tabveil.synthesis.anonymize import KAnonymity, anonymize
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.synthesis.generators.dpctgan.network import add_noise
from tabveil.synthesis.generators.hybrid import GeneralizedRows, read_transition
from tabveil.synthesis.generators.hybrid.promises import Sampling, least_epsilon
from tabveil.synthesis.generators.pategan import network as voting
from tabveil.synthesis.generators.pategan.accounting import log_chances

N_VOTES = 8
_LEAST_SEEN = 200  # answers of the rarer world, so that a bound is not luck


def sums_of_votes(epsilon, delta, share, n, *, rng):
    """Hold the votes of one teacher, whose only row is joined by one that agrees with the other half."""
    plan = BrokenPateGan(
        epsilon=epsilon, delta=delta, iterations=1, batch_size=N_VOTES, noise_share=share
    ).plan()
    halves = np.zeros((2, 9), dtype=np.float32)  # invented rows 000 and 111, of three columns of three labels
    halves[0, [0, 3, 6]] = halves[1, [1, 4, 7]] = 1
    asked = np.tile(halves, (n * N_VOTES // 2, 1))
    sides = np.where(asked[:, 1] == 1, 1.0, -1.0)
    row, canary = [0, 5, 8], [1, 4, 7]  # agrees in one column with the first half; in three with the second
    found = []
    for rows in ([row, canary], [row]):
        teachers = voting.AgreementTeachers(
            np.array(rows), np.zeros(len(rows), dtype=int), 9, BrokenPateGan(n_teachers=1), noise=plan.noise,
            rng=rng,
        )  # fmt: skip
        votes = teachers.vote(asked, np.zeros(len(asked), dtype=np.float32))
        found.append((votes * sides).reshape(n, N_VOTES).sum(axis=1))
    return found


def majorities(epsilon, delta, share, n, *, rng):
    """Hold two votes of many teachers, of whom one changes sides, where that tells most."""
    asked = {"teachers": "networks", "iterations": 1, "batch_size": 2, "student_steps": 1}
    made = BrokenPateGan(epsilon=epsilon, delta=delta, noise_share=share, **asked)
    noise, n_teachers = made.plan().noise, made.course.n_teachers
    before = np.arange(-n_teachers + 2.0, 0, 2)  # so many more say yes than no, without the row
    yes = np.exp(2 * log_chances(before, noise)[0])  # both times
    seen = yes * n >= _LEAST_SEEN
    apart = np.where(seen, log_chances(before + 2, noise)[0] - log_chances(before, noise)[0], -np.inf)
    difference = before[np.argmax(apart)]
    found = []
    for more in (difference + 2, difference):
        counts = [np.full((n, 2), (n_teachers + side * more) / 2) for side in (1, -1)]
        in_favor, against = (voting.add_laplace(count, noise, rng=rng) for count in counts)
        found.append((in_favor > against).sum(axis=1).astype(float))
    return found


def counts_and_steps(epsilon, delta, share, n, *, rng):
    """Count a row, and let it push the critic as far as clipping allows in each step it takes part in."""
    budget = BrokenDpCtgan(epsilon=epsilon, delta=delta, epochs=1, sampled=0.5, noise_share=share).budget
    found = []
    for there in (1.0, 0.0):
        count = there + budget.count_noise * rng.standard_normal(n)
        score = (count - 0.5) / budget.count_noise**2
        for _ in range(budget.steps):
            pushed = there * (rng.random(n) < budget.sampled)
            (answer,) = add_noise([torch.from_numpy(pushed)], budget.step_noise, rng=rng)
            gain = (answer.numpy() - 0.5) / budget.step_noise**2
            score += np.logaddexp(math.log1p(-budget.sampled), math.log(budget.sampled) + gain)
        found.append(score)
    return found


def histograms(noise):
    """Return what learns noisy histograms of a class of one row that is replaced by another."""

    def learn(epsilon, _, share, n, *, rng):
        transition = read_transition(
            {"name": "noisy_conditional", "epsilon": epsilon / share, "noise": noise}
        )
        return [
            np.array([transition.learn(one_row(cell), rng=rng).weights[0][0] for _ in range(n)])
            for cell in (0, 1)
        ]

    return learn


def one_row(cell):
    """Return a class of one row, which has the first of two labels or the second."""
    table = Table(schema=Schema((Categorical(name="job", labels=("nurse", "doctor")),)), values=[[cell]])
    tree = read_entry("job", {"tree": {"health": ["nurse", "doctor"]}}, None)
    built = tree.build(ColumnValues.of(table, "job"))
    found = anonymize(table, [built], models=[KAnonymity(k=1)], levels={"job": 1})
    return GeneralizedRows(found=found, chosen=np.arange(1), blind=True)


K, BETA = 10, 0.3
_MOST = 120  # people of a class: in larger ones one more tells less
_RARE, _TINY = 2e-3, 1e-300


def beta_behind(share, delta):
    """Return the chance of a record to be sampled by which ε would be so many times larger."""
    wanted, low, high = least_epsilon(K, BETA, delta) / share, BETA, 0.99
    for _ in range(40):
        middle = (low + high) / 2
        found = least_epsilon(K, middle, delta)
        low, high = (middle, high) if found is not None and found < wanted else (low, middle)
    return low


def released_sizes(beta, size):
    """Return the chances of each size of a class of so many people: sampled, and none below K is released."""
    chances = binom.pmf(np.arange(size + 1), size, beta)
    chances[0] += chances[1:K].sum()
    chances[1:K] = 0
    return chances


def worst_size(beta, delta):
    """Return how many people a class has in which one more shows most in so many answers as are taken."""
    return 1 + int(np.argmax([_visible(beta, size, delta) for size in range(1, _MOST)]))


def _visible(beta, size, delta):
    """Return the ε that an audit sees in a class: of outcomes that are not too rare in either world."""
    both = np.array(
        [released_sizes(beta, size), np.append(released_sizes(beta, size - 1), 0)]
    )  # (worlds, sizes)
    order = np.argsort(-both[0] / np.maximum(both[1], _TINY))
    found = 0.0
    for sides in (both[:, order], both[::-1, order[::-1]]):
        hits, alarms = np.cumsum(sides, axis=1)
        seen = (alarms > _RARE) & (hits > delta)
        if seen.any():
            found = max(found, float(np.log((hits[seen] - delta) / alarms[seen]).max()))
    return found


def exact_epsilon(beta, delta):
    """Return the ε of sampled classes at this δ, over all sizes of a class and both directions."""
    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        worst = max(_excess(beta, middle, size) for size in range(1, _MOST))
        low, high = (middle, high) if worst > delta else (low, middle)
    return high


def _excess(beta, epsilon, size):
    """Return the chance by which one of two worlds exceeds e^ε times the other, with one more in a class."""
    one, other = released_sizes(beta, size), np.append(released_sizes(beta, size - 1), 0)
    return max(
        float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
        for first, second in ((one, other), (other, one))
    )


def sampled_classes(_, delta, share, n, *, rng):
    """Sample a class of people with and without one of them, and release how many it has, K at least."""
    beta = BETA if share == 1 else beta_behind(share, delta)
    size = worst_size(beta, delta)
    sampling = Sampling(beta=beta, when="before")
    schema = Schema((Categorical(name="a", labels=("0",)),))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(released_sizes(beta, size)) - np.log(np.append(released_sizes(beta, size - 1), 0))
    ratio = np.nan_to_num(ratio, nan=0.0, posinf=1e9)
    found = []
    for people in (size, size - 1):
        # The class comes first; others keep the sample from being empty, which is refused.
        rows = Table(schema=schema, values=np.zeros((people + 40, 1)))
        taken = np.array([(sampling.draw(rows, None, rng=rng) < people).sum() for _ in range(n)])
        found.append(ratio[np.where(taken >= K, taken, 0)])
    return found
