"""Plugins alone: a lab without agents, in which task drivers are driven from here, as an agent would."""
