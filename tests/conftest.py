"""Random examples are the same on every machine, and none is timed."""

from hypothesis import settings

settings.register_profile("everywhere", derandomize=True, deadline=None)
settings.load_profile("everywhere")
