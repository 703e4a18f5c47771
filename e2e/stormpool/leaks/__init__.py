"""What became of the datasets of a run, by the design that its tasks got them by."""

from stormpool.leaks.tally import Row, tally

__all__ = ["Row", "tally"]
