"""An end-to-end test harness and fault-injection lab for orchestrators and their plugins."""
