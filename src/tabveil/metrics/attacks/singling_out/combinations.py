"""Which columns single people out, taken together? A lead for whoever has to mend a release; never a value.

A description uses several columns, and which of them make it fit one person only cannot be told from one. So
all descriptions are looked at by the pairs of columns they use: pairs whose descriptions fit exactly one
training person more often than one of the people never seen.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from tabveil.core.result import Combination
from tabveil.core.table import Floats
from tabveil.metrics.attacks.singling_out.isolation import Isolation, chance_of_one

MOST = 10
SURE = 4.5  # standard errors: fewer would rank chance, of so many pairs and configurations


def combinations(names: Sequence[str], made: Iterable[Isolation]) -> tuple[Combination, ...]:
    """Rank the pairs of columns by how surely their descriptions are about training people.

    Each pair is shown as the configuration shows it that tells most: wide descriptions, which fit as many
    people never seen, would hide what narrow ones betray. Descriptions of all columns tell no pair from
    another and are left out.
    """
    found: dict[tuple[int, int], tuple[float, Combination]] = {}
    for item in made:
        if not 1 < item.columns.shape[1] < len(names):
            continue
        train, control = _by_pair(item, len(names))
        sureness = (train - control) / np.sqrt(train + control + 1)
        for a, b in np.argwhere(np.triu(sureness > SURE, 1)):
            pair = Combination(
                columns=(names[a], names[b]),
                train=round(float(train[a, b]), 1),
                control=round(float(control[a, b]), 1),
            )
            found[a, b] = max(found.get((a, b), (0.0, pair)), (float(sureness[a, b]), pair), key=_sureness)
    return tuple(pair for _, pair in sorted(found.values(), key=_sureness, reverse=True)[:MOST])


def _sureness(entry: tuple[float, Combination]) -> float:
    return entry[0]


def _by_pair(item: Isolation, n_columns: int) -> tuple[Floats, Floats]:
    """Return (d, d) each: the descriptions with both columns that fit one person of train, of control."""
    used = np.zeros((len(item.columns), n_columns))
    np.put_along_axis(used, item.columns.astype(np.int64), 1.0, axis=1)
    counts = []
    for matches, n_people in ((item.train, item.n_train), (item.control, item.n_control)):
        chances = chance_of_one(int(matches.counts.max(initial=0)), max(n_people, 1), item.size)
        fitting = chances[matches.counts] if n_people else np.zeros(len(used))
        kept = fitting > 0
        counts.append(np.asarray(used[kept].T @ (used[kept] * fitting[kept, None])))
    return counts[0], counts[1]
