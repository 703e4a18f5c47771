"""Ground truth, seen on the nodes themselves: the program that looks there (`on_node`), and who runs it."""
