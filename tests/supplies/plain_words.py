"""Words that readers of pages took for riddles: short, but only for who knows what is meant."""

import re

RIDDLES = (
    r"betray\w*",
    r"leaves? the house",
    r"times less",
    r"hugs?",
    r"coins?",
    r"by lot",
    r"by heart",
    r"speaks? for (?:the|an) attack",
    r"pa(?:ys?|id) for",
    r"voids?",
    r"part ways",
    r"share their fate",
    r"stand or fall",
    r"win or lose",
    r"twins?",
    r"silen(?:ce|t)",
    r"spoken",
    r"drowns?",
    r"no-box",
    r"hole in a release",
    r"is medicine",
    r"not a certificate",
    r"stands? without",
    r"would settle",
)
_ANY = re.compile(rf"(?<![\w-])(?:{'|'.join(RIDDLES)})(?![\w-])", re.IGNORECASE)


def riddles_in(text):
    """Return those that a text holds, each with what stands around it."""
    flat = " ".join(text.split())
    return [flat[max(found.start() - 40, 0) : found.end() + 20] for found in _ANY.finditer(flat)]
