"""Nothing belongs here: the pytest plugin comes with the package (`pip install -e .`)."""
