"""The provider plugin `pulumi-resource-aws`: the engine runs it with its own address as argument."""

import os
import sys
from pathlib import Path

from sandbox.aws.cloud import AWS
from sandbox.provider import Provider
from sandbox.server import serve
from sandbox.world import World

WORLD = "MULLION_SANDBOX_WORLD"


def main() -> int:
    """Serve until the engine ends; the world is the file that the environment names."""
    path = os.environ.get(WORLD)
    if not path:
        sys.stderr.write(f"{WORLD} is not set: it names the file of the sandbox's world\n")
        return 2
    serve(Provider(AWS, World(Path(path))), os.environ.get("MULLION_SANDBOX_VERSION", "0.0.0"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
