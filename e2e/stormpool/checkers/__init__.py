"""One guarantee a file, each a pure function of the history."""
