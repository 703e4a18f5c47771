"""The plugins a lab runs on its agents."""
