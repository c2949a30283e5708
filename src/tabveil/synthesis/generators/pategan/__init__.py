"""PATE-GAN: private votes of teachers instead of a critic."""
