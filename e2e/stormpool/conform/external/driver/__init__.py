"""Rules for task drivers."""
