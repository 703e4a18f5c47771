"""Conformance of CSI plugins: what the specification says, tried with crashes and calls at once."""
