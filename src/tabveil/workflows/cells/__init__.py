"""One engine for work in many pieces: each at an address of its own, kept as soon as it is done."""
