"""Conformance of plugins without a cluster and without an agent: rules, judged one after another."""
