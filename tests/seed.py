"""The seed of every random choice in tests; setting it repeats a run."""

import os
import random

GIVEN = os.environ.get("MULLION_SEED")
SEED = int(GIVEN or random.SystemRandom().randrange(10**6))
"""The seed. A failing test prints it, and the environment variable sets it."""
