"""Reports for people: plain data in, something to read out."""
