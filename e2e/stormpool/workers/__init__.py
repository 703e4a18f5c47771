"""Processes that run a scenario again and again, each on a lab that it keeps as good as new."""
