"""Tables as matrices, columns as codes, and back: every encoder of the toolkit, each idea once.

- ``scale``: a share of the column's range, a whole number of its last decimal place; NaN stays.
- ``ordinal``: the place of a value among the column's values; missing comes after the last, or before the
  first where codes are compared by size.
- ``ranked_tables``: the same in several tables at once, rows sorted by each column; missing comes first.
- ``bins``: a label or a part of the range, whatever values occur; missing is the last level.
- ``modes``: a slot, and for numbers a position within it; missing is the last slot.
- ``curves``: a choice among frequent values, for other numbers a part of the normal curve; missing is the
  last choice.
- ``numbering``, ``tokens``: a whole number, its digits; missing is the first token.
- ``points``: a mean of rank and share of the range, labels by equality; missing is NaN and a flag.
- ``axes``: one-hot codes and principal axes of points; missing is a direction of its own.

What can be undone is undone exactly: labels, missing cells and numbers with decimals come back as they were.
Where a code stands for several numbers (bins, intervals, curves), a number with the same code comes back.
Nothing here knows what it is used for: attacks, generators and measures choose, and add what is theirs.
"""
