"""The provider plugins `pulumi-resource-*`: `python -m sandbox.plugin CLOUD`, followed by the engine's address."""

import os
import signal
import sys
from pathlib import Path

CLOUD_STATE = "MULLION_SANDBOX_WORLD"
"""Environment variable that names the file of the cloud state."""


def main() -> int:
    """Serve until the engine ends. Returns 2 if the environment names no cloud state."""
    # The engine ends its plugins by SIGINT, also during their start: no traceback then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    engine = os.getppid()
    from components.sdk.garbage import collect_rarely

    collect_rarely()
    from sandbox.cloud_state import CloudState
    from sandbox.clouds import of
    from sandbox.provider import Provider
    from sandbox.server import serve

    path = os.environ.get(CLOUD_STATE)
    if not path:
        sys.stderr.write(f"{CLOUD_STATE} is not set; set it to the file of the cloud state (world.db)\n")
        return 2
    cloud_state = CloudState(Path(path))
    serve(Provider(of(sys.argv[1]), cloud_state), os.environ.get("MULLION_SANDBOX_VERSION", "0.0.0"), engine)
    cloud_state.close()
    os._exit(0)  # does not wait for threads of slow calls


if __name__ == "__main__":
    sys.exit(main())
