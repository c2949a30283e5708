"""Tables as matrices, columns as codes, and back: every encoder of the toolkit, each idea once.

Missing is the last level (``bins``), slot (``modes``) or choice (``curves``), the first token (``tokens``),
NaN and a flag among ``points``, and the last place or the first code (``ordinal``, which says why).

What can be undone is undone exactly: labels, missing cells and numbers with decimals come back as they were.
Where a code stands for several numbers (bins, intervals, curves), a number with the same code comes back.
Nothing here knows what it is used for: attacks, generators and measures choose, and add what is theirs.
"""
