"""What systems should do, as sequential models, and whether a history is one they could have made."""
