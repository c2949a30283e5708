"""What may be told about people: a value is told only where enough of them share it."""

LEAST_SHARED = 10
"""A value is shown, drawn, or learned as a value of its own only if at least so many people share it.

A value that few share can be somebody's. Ten is the rule of thumb by which European statistical offices let
tables leave the rooms where single records are kept (Brandt et al. 2010, Guidelines for the checking of
output based on microdata research).
"""

LEAST_SHARED_IN_WORDS = "ten"
"""The same in sentences."""
