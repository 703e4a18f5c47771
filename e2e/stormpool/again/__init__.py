"""A run once more: replayed, made smaller, made one file of; one's own, or somebody else's."""
