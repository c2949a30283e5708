"""AIM: noisy marginals, chosen one by one, and a graphical model of them."""
