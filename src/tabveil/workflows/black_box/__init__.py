"""Attack a generator that one owns: fit it again and again, with people and without, and see who is told."""

from tabveil.workflows.black_box.attacker import attack

__all__ = ["attack"]
