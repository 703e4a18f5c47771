"""A run as something to look at."""
