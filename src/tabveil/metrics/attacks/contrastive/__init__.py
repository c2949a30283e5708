"""Attacks in the contrastive space: those of the mixed distance, and what a learned space adds to them."""
