"""State that Windows loses at a restart, in the records of the stand-ins; all other state is on the disk.

lab/hns/service.py: what the Host Networking Service loses.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Book = dict[str, Any]
LOSSES: dict[str, Callable[[Book], Book]] = {
    "forwarding": lambda book: {},
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
