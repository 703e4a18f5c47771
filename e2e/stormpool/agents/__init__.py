"""The orchestrator agents a lab runs."""
