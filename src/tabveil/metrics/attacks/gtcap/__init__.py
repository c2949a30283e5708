"""GTCAP: claims that a release makes about people with some keys."""
