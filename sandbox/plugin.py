"""The provider plugins `pulumi-resource-*`: `python -m sandbox.plugin CLOUD`, with the engine's address after it."""

import os
import signal
import sys
from pathlib import Path

WORLD = "MULLION_SANDBOX_WORLD"


def main() -> int:
    """Serve until the engine ends; the world is the file that the environment names."""
    # The engine ends its plugins by SIGINT, also one that has hardly begun: that is worth no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    engine = os.getppid()
    from components.sdk.garbage import collect_rarely

    collect_rarely()
    from sandbox.cloud_state import CloudState
    from sandbox.clouds import of
    from sandbox.provider import Provider
    from sandbox.server import serve

    path = os.environ.get(WORLD)
    if not path:
        sys.stderr.write(f"{WORLD} is not set: it names the file of the sandbox's world\n")
        return 2
    cloud_state = CloudState(Path(path))
    serve(Provider(of(sys.argv[1]), cloud_state), os.environ.get("MULLION_SANDBOX_VERSION", "0.0.0"), engine)
    cloud_state.close()
    os._exit(0)  # nobody waits any more for calls that are slow


if __name__ == "__main__":
    sys.exit(main())
