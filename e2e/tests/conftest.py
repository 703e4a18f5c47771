"""What all tests have in common."""

from hypothesis import settings

# How long an example may take says something of the machine, and of who else is using it.
settings.register_profile("stormpool", deadline=None)
settings.load_profile("stormpool")
