"""What nodes are made of, one provider a file."""
