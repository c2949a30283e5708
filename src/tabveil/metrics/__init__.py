"""What is measured about a release: attacks, indicators, properties, usefulness, and the control beside."""
