"""Every point of a scenario, one run each: which there are, what is running, what came of it."""
