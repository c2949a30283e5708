"""Compiled loops of the attribution attack: pairs of rows with near keys, class by class.

Rows come as *kinds* (equal keys, equal target) with their number, sorted by class of the keys that must be
equal, then by the first numeric key: a query meets its own class only, and of it only the window in which the
first numeric key is near. All values are in units in which ``reach`` (d,) is the radius.
"""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit

SLACK = 1e-9  # the window is a little wider than the radius; the test of the pair itself decides


@njit(cache=True, nogil=True)
def _first_within(values, low, high, bound):
    """Return the first of the sorted rows low..high whose first key is at least the bound."""
    while low < high:
        middle = (low + high) // 2
        if values[middle, 0] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _weight(a, b, reach, soft):
    """Return how much a row with keys ``b`` counts for a row with keys ``a``; 0 outside the radius."""
    total = 0.0
    d = reach.shape[0]
    for j in range(d):
        gap = abs(a[j] - b[j])
        if gap > reach[j]:
            return 0.0
        total += 1.0 if reach[j] == 0 else 1 - gap / reach[j]
    return total / d if soft and d > 0 else 1.0


@njit(cache=True, nogil=True)
def _window(keys, starts, others, reach, group, query):
    """Return the rows of the query's class among ``others`` that may be near: from, to."""
    low, high = starts[group], starts[group + 1]
    if reach.shape[0] == 0 or low == high:
        return low, high
    margin = reach[0] + SLACK * (abs(keys[query, 0]) + reach[0])
    low = _first_within(others, low, high, keys[query, 0] - margin)
    return low, _first_within(others, low, high, keys[query, 0] + margin * (1 + SLACK) + 1e-300)


@njit(cache=True, nogil=True)
def find_pure(keys, targets, groups, starts, asked, reach, target_reach, begin, end, pure):
    """Tell for each kind asked about whether all rows with near keys have its target (WEAP = 1)."""
    for position in range(begin, end):
        query = asked[position]
        low, high = _window(keys, starts, keys, reach, groups[query], query)
        pure[position] = True
        for other in range(low, high):
            if abs(targets[other] - targets[query]) <= target_reach:
                continue
            if _weight(keys[query], keys[other], reach, False) > 0:
                pure[position] = False
                break


@njit(cache=True, nogil=True)
def attribute(claims, real, whose, n_people, reach, target_reach, naive, soft, begin, end, out):
    """Count, for each claim, the people with near keys and those of them with its target.

    ``out`` (claims, 4): people with near keys, their weight, the weight of those with the claim's target, and
    of those with the naive guess. Where people have several rows, ``whose`` (rows,) numbers the person of
    each kind of row, and rows of a person with near keys share the person's weight equally; it is empty where
    each row is another person.
    """
    claim_keys, claim_targets, claim_groups = claims
    keys, targets, counts, starts = real
    by_person = whose.size > 0
    own = np.zeros(n_people if by_person else 0)  # how many rows with near keys each person has
    for query in range(begin, end):
        low, high = _window(claim_keys, starts, keys, reach, claim_groups[query], query)
        people, near, right, naively = 0.0, 0.0, 0.0, 0.0
        if by_person:
            for other in range(low, high):
                own[whose[other]] = 0.0
            for other in range(low, high):
                if _weight(claim_keys[query], keys[other], reach, soft) > 0:
                    people += own[whose[other]] == 0
                    own[whose[other]] += counts[other]
        for other in range(low, high):
            weight = _weight(claim_keys[query], keys[other], reach, soft)
            if weight <= 0:
                continue
            if by_person:
                weight *= counts[other] / own[whose[other]]
            else:
                people += counts[other]
                weight *= counts[other]
            near += weight
            if abs(targets[other] - claim_targets[query]) <= target_reach:
                right += weight
            if abs(targets[other] - naive) <= target_reach:
                naively += weight
        out[query, 0] = people
        out[query, 1] = near
        out[query, 2] = right
        out[query, 3] = naively


@njit(cache=True, nogil=True)
def weigh_rows(keys, targets, groups, claims, found, chance, reach, target_reach, soft, begin, end, out):
    """Tell what each real row does to the score, seen from the real row.

    ``out`` (rows, 4): by how much the sum of all attributions would fall without this row (the jackknife),
    how many right attributions rest on it (a claim met by b rows rests on each of them by 1/b), the weight of
    the claims about it, and of the right ones. ``chance`` (n,) is the chance that a sample still holds one of
    so many rows.
    """
    claim_keys, claim_targets, claim_counts, starts = claims
    for row in range(begin, end):
        low, high = _window(keys, starts, claim_keys, reach, groups[row], row)
        influence, credit, about, true = 0.0, 0.0, 0.0, 0.0
        for claim in range(low, high):
            weight = _weight(keys[row], claim_keys[claim], reach, soft)
            if weight <= 0:
                continue
            rows, near, right = found[claim, 0], found[claim, 1], found[claim, 2]
            mine = weight if abs(targets[row] - claim_targets[claim]) <= target_reach else 0.0
            score = right / near * chance[int(rows)]
            without = 0.0
            if rows > 1 and near > weight:
                without = max(right - mine, 0.0) / (near - weight) * chance[int(rows) - 1]
            influence += claim_counts[claim] * (score - without)
            credit += claim_counts[claim] * mine / near
            about += claim_counts[claim] * weight
            true += claim_counts[claim] * mine
        out[row, 0] = influence
        out[row, 1] = credit
        out[row, 2] = about
        out[row, 3] = true


@njit(cache=True, nogil=True)
def weigh_people(rows, own_rows, claims, found, chance, reach, target_reach, naive, soft, begin, end, out):
    """Tell what each person does to the score, as :func:`weigh_rows` does for a row.

    ``own_rows`` are the kinds of rows by person, and where those of each person begin. ``out``
    (people, 5) has one thing more: the weight of the claims about those who have the most usual value.
    """
    keys, targets, groups, counts = rows
    of_person, starts_of = own_rows
    claim_keys, claim_targets, claim_counts, starts = claims
    n_claims = claim_targets.size
    last = np.full(n_claims, -1)  # the last person whom each claim was about
    met = np.empty(n_claims, np.int64)  # the claims about this one
    own, near_to = np.empty(n_claims), np.empty(n_claims)
    true_of, usual_of = np.empty(n_claims), np.empty(n_claims)
    for person in range(begin, end):
        n_met = 0
        for row in of_person[starts_of[person] : starts_of[person + 1]]:
            low, high = _window(keys, starts, claim_keys, reach, groups[row], row)
            for claim in range(low, high):
                weight = _weight(keys[row], claim_keys[claim], reach, soft)
                if weight <= 0:
                    continue
                if last[claim] != person:
                    last[claim] = person
                    met[n_met] = claim
                    n_met += 1
                    own[claim], near_to[claim], true_of[claim], usual_of[claim] = 0.0, 0.0, 0.0, 0.0
                own[claim] += counts[row]
                near_to[claim] += counts[row] * weight
                if abs(targets[row] - claim_targets[claim]) <= target_reach:
                    true_of[claim] += counts[row] * weight
                if abs(targets[row] - naive) <= target_reach:
                    usual_of[claim] += counts[row] * weight
        influence, credit, about, true, usual = 0.0, 0.0, 0.0, 0.0, 0.0
        for claim in met[:n_met]:
            people, near, right = found[claim, 0], found[claim, 1], found[claim, 2]
            weight, mine = near_to[claim] / own[claim], true_of[claim] / own[claim]
            score = right / near * chance[int(people)]
            without = 0.0
            if people > 1 and near > weight:
                without = max(right - mine, 0.0) / (near - weight) * chance[int(people) - 1]
            influence += claim_counts[claim] * (score - without)
            credit += claim_counts[claim] * mine / near
            about += claim_counts[claim] * weight
            true += claim_counts[claim] * mine
            usual += claim_counts[claim] * usual_of[claim] / own[claim]
        out[person, 0] = influence
        out[person, 1] = credit
        out[person, 2] = about
        out[person, 3] = true
        out[person, 4] = usual
