"""Ways to make a release: generators, anonymization, the hybrid of both, and releases of known risk."""
