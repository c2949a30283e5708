"""Five equal people in train, eight such rows among ten released: which share of the release is copied?"""

import pandas as pd
from beside import ours, per_100, show


def tables():
    """Return train, release and control."""
    train = pd.DataFrame({"a": [1] * 5 + [2, 3, 4, 5, 6]})
    return train, pd.DataFrame({"a": [1] * 8 + [7, 8]}), pd.DataFrame({"a": range(11, 21)})


def formula():
    """Divide the rows of an inner join by the released ones, as the code of the thesis does."""
    train, synthetic, _ = tables()
    yield f"copied: {100 * len(train.merge(synthetic)) / len(synthetic):.1f} of 100"


def tabveil():
    """Ask for the released rows that are somewhere in train."""
    yield f"copied: {per_100(ours(*tables(), 'identical_match_share').attack)}"


if __name__ == "__main__":
    show(__doc__, ("pandas", formula), ("tabveil", tabveil))
