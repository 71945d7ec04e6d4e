"""Serve the services of one cloud state to machines in a lab network: `python -m sandbox.services CLOUD_STATE`."""

import argparse
import signal
import sys
from pathlib import Path

from sandbox.cloud_state import SERVICES
from sandbox.services.credentials import LIFETIME
from sandbox.services.server import METADATA_ADDRESS, Services

ENDS = {signal.SIGINT, signal.SIGTERM}


def main(words: list[str] | None = None) -> int:
    """Serve until a signal ends the program; print each address to standard output once it listens."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.services", description=__doc__)
    parser.add_argument("cloud_state", type=Path, help="file of the sandbox's cloud state")
    parser.add_argument(
        "--address",
        action="append",
        help=f"address or address:port to listen at; may be repeated (default: {METADATA_ADDRESS}:80)",
    )
    parser.add_argument("--machine", default="", help="instance that asks here (default: the one with the address)")
    parser.add_argument("--lifetime", type=int, default=LIFETIME, help="seconds that credentials are good for")
    given = parser.parse_args(words)
    if not given.cloud_state.is_file():
        parser.error(f"there is no cloud state {given.cloud_state}; `mullion up --sandbox` makes one")
    # block the signals before any thread starts, so that every thread leaves them to sigwait
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    with Services(given.cloud_state, lifetime=given.lifetime) as services:
        if services.cloud_state.setting(SERVICES) != "http":
            parser.error(
                f"the machines of {given.cloud_state} look for services over https; make it with the setting"
                f" {SERVICES} = http, so that their facts say http"
            )
        for place in given.address or [f"{METADATA_ADDRESS}:80"]:
            address, _, port = place.partition(":")
            sys.stdout.write(f"{services.listen(address, int(port or 80), machine=given.machine)}\n")
        sys.stdout.flush()
        signal.sigwait(ENDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
