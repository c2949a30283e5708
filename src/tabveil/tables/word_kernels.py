"""The compiled loops over texts: characters to words, words to passages, passages to tables of them.

A text is never compared with another one. Every word is a number of 64 bits, every passage of ``n`` words one
more, rolled forward from word to word, and tables of passages are open-addressed, so that all loops take time
linear in the words. Different passages share a number once in 2^64 pairs.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

BETWEEN, PART, ALONE = 0, 1, 2
"""What a character is to words: none of it, a part of one, or a word by itself."""

_SEED = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(0xD1342543DE82EF95)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_EMPTY = np.uint64(0)


@njit(cache=True, nogil=True)
def _mixed(x):
    """Spread every bit over all others (the finalizer of splitmix64); never the number of no passage."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    x = x ^ (x >> np.uint64(31))
    return x if x != _EMPTY else np.uint64(1)


@njit(cache=True, nogil=True)
def read_words(characters, classes, ends, words, word_ends):
    """Give every word of texts its number, and return how many there are.

    ``characters`` are the code points of all texts, one after the other, ``ends`` (n,) where each text ends,
    and ``classes`` what each code point is to words. ``words`` takes the numbers, ``word_ends`` (n,) where
    those of each text end.
    """
    count = 0
    start = 0
    for t in range(ends.size):
        state = _SEED
        inside = False
        for at in range(start, ends[t]):
            kind = classes[characters[at]]
            if kind == PART:
                state = _mixed(state ^ np.uint64(characters[at]))
                inside = True
                continue
            if inside:
                words[count] = state
                count += 1
                state = _SEED
                inside = False
            if kind == ALONE:
                words[count] = _mixed(_SEED ^ np.uint64(characters[at]))
                count += 1
        if inside:
            words[count] = state
            count += 1
        word_ends[t] = count
        start = ends[t]
    return count


@njit(cache=True, nogil=True)
def _roll(words, start, end, n, passages):
    """Give every passage of ``n`` words of one text its number, and return how many there are.

    A text with fewer words is one passage, which equals only another whole text.
    """
    length = end - start
    if length == 0:
        return 0
    state = np.uint64(0)
    if length < n:
        for at in range(start, end):
            state = state * _BASE + words[at]
        passages[0] = _mixed(state ^ (_SEED * np.uint64(length)))
        return 1
    power = np.uint64(1)
    for at in range(start, start + n):
        state = state * _BASE + words[at]
        power *= _BASE
    passages[0] = _mixed(state)
    for at in range(start + n, end):
        state = state * _BASE + words[at] - power * words[at - n]
        passages[at - start - n + 1] = _mixed(state)
    return length - n + 1


@njit(cache=True, nogil=True)
def _slot(keys, passage):
    """Return where a passage stands in a table, or the empty place where it would stand."""
    mask = np.uint64(keys.size - 1)
    at = passage & mask
    while keys[at] != _EMPTY and keys[at] != passage:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@njit(cache=True, nogil=True)
def fill(keys, words, ends, n, longest):
    """Put the passages of texts into an empty table, ``keys``, whose size is a power of two."""
    passages = np.empty(longest, dtype=np.uint64)
    start = 0
    for t in range(ends.size):
        for p in range(_roll(words, start, ends[t], n, passages)):
            keys[_slot(keys, passages[p])] = passages[p]
        start = ends[t]


@njit(cache=True, nogil=True)
def count_holders(keys, words, ends, n, longest, people, holders):
    """Add to ``holders``, for every passage of a table, how many people's texts hold it.

    ``people`` (n_texts,) is how many people have each text; a text that repeats a passage counts once.
    """
    passages = np.empty(longest, dtype=np.uint64)
    last = np.full(keys.size, -1, dtype=np.int32)
    start = 0
    for t in range(ends.size):
        for p in range(_roll(words, start, ends[t], n, passages)):
            slot = _slot(keys, passages[p])
            if keys[slot] != _EMPTY and last[slot] != t:
                last[slot] = t
                holders[slot] += people[t]
        start = ends[t]


@njit(cache=True, nogil=True)
def count_people(keys, words, ends, n, longest, texts, people, holders):
    """Likewise where people have several texts: ``people`` (n_pairs,), ascending, have these ``texts``."""
    passages = np.empty(longest, dtype=np.uint64)
    last = np.full(keys.size, -1, dtype=np.int64)
    for pair in range(texts.size):
        t = texts[pair]
        for p in range(_roll(words, ends[t - 1] if t > 0 else 0, ends[t], n, passages)):
            slot = _slot(keys, passages[p])
            if keys[slot] != _EMPTY and last[slot] != people[pair]:
                last[slot] = people[pair]
                holders[slot] += 1


@njit(cache=True, nogil=True)
def flag_texts(keys, words, ends, n, longest, allowed, flags):
    """Flag, in ``flags`` (n_texts,), the texts that hold a passage of a table which is ``allowed`` there."""
    passages = np.empty(longest, dtype=np.uint64)
    start = 0
    for t in range(ends.size):
        for p in range(_roll(words, start, ends[t], n, passages)):
            slot = _slot(keys, passages[p])
            if keys[slot] != _EMPTY and allowed[slot]:
                flags[t] = True
                break
        start = ends[t]


@njit(cache=True, nogil=True)
def mark_phrases(keys, words, ends, n, longest, marks):
    """Mark, in ``marks``, the places of a table whose passages of ``n`` words stand in some text."""
    passages = np.empty(longest, dtype=np.uint64)
    start = 0
    for t in range(ends.size):
        if ends[t] - start >= n:
            for p in range(_roll(words, start, ends[t], n, passages)):
                slot = _slot(keys, passages[p])
                if keys[slot] != _EMPTY:
                    marks[slot] = True
        start = ends[t]


@njit(cache=True, nogil=True)
def slots_of(keys, words, ends, n, slots):
    """Return, in ``slots`` (n_texts,), where phrases of ``n`` words each stand in a table, -1 where not."""
    passages = np.empty(1, dtype=np.uint64)
    start = 0
    for t in range(ends.size):
        slots[t] = -1
        if ends[t] - start == n:
            _roll(words, start, ends[t], n, passages)
            slot = _slot(keys, passages[0])
            if keys[slot] != _EMPTY:
                slots[t] = slot
        start = ends[t]


@njit(cache=True, nogil=True)
def mark_places(keys, words, ends, n, longest, chosen, marks):
    """Mark, in ``marks`` (n_words,), where a ``chosen`` passage of a table, of ``n`` words, begins."""
    passages = np.empty(longest, dtype=np.uint64)
    start = 0
    for t in range(ends.size):
        if ends[t] - start >= n:
            for p in range(_roll(words, start, ends[t], n, passages)):
                slot = _slot(keys, passages[p])
                marks[start + p] = keys[slot] != _EMPTY and chosen[slot]
        start = ends[t]


@njit(cache=True, nogil=True)
def mark_made_of(keys, words, ends, n, longest, part, marks, made):
    """Mark, in ``made``, the passages of a table at more than half of whose places ``marks`` are set.

    A mark is at the place where a passage of ``part`` words begins; only those within the passage count.
    """
    passages = np.empty(longest, dtype=np.uint64)
    start = 0
    for t in range(ends.size):
        places = min(n, ends[t] - start) - part + 1  # a shorter text is one passage
        if places > 0:
            marked = 0
            for at in range(start, start + places - 1):
                marked += marks[at]
            for p in range(_roll(words, start, ends[t], n, passages)):
                marked += marks[start + p + places - 1]
                if 2 * marked > places:
                    made[_slot(keys, passages[p])] = True
                marked -= marks[start + p]
        start = ends[t]
