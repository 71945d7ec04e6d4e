"""State that Windows loses at a restart, in the records of the stand-ins; all other state is on the disk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NON_PERSISTENT = 8
"""Flag of HNS networks that do not survive a restart (hcsshim hcn.EnableNonPersistent)."""

Book = dict[str, Any]
LOSSES: dict[str, Callable[[Book], Book]] = {
    "networks": lambda book: {
        id: network for id, network in book.items() if not int(network.get("Flags") or 0) & NON_PERSISTENT
    },
    "endpoints": lambda book: {},
    "forwarding": lambda book: {},
    "policylists": lambda book: {},
    "routes": lambda book: {
        prefix: route for prefix, route in book.items() if not route or route.get("PolicyStore") != "ActiveStore"
    },
    # features whose installation waited for the restart
    "features": lambda book: {name: state.replace("InstallPending", "Installed") for name, state in book.items()},
}


def reboot(books: Path) -> None:
    """Apply a restart to the stand-ins' records."""
    for name, kept in LOSSES.items():
        place = books / f"{name}.json"
        if place.exists():
            place.write_text(json.dumps(kept(json.loads(place.read_text()))))
