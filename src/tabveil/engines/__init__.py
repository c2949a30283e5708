"""What is near, and what is learned: neighbors, representations, networks, trees."""
