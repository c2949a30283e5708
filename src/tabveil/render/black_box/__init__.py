"""What somebody who owns the generator finds out: in words, and on the terminal."""
