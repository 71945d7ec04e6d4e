"""What tests draw by chance: one number decides, and repeats it."""

import os
import random

GIVEN = os.environ.get("MULLION_SEED")
SEED = int(GIVEN or random.SystemRandom().randrange(10**6))
"""What is drawn depends on it. A test that fails prints it, and the variable repeats it."""
