"""An audit: what is asked for, run, judged and reported."""
