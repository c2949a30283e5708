"""DOMIAS: membership by the ratio of two densities."""
