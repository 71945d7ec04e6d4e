"""What Windows loses when it goes down, in the books of the stand-ins; all else is on the disk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NON_PERSISTENT = 8
"""Flag of HNS networks that a boot loses (hcsshim hcn.EnableNonPersistent)."""

Book = dict[str, Any]
LOSSES: dict[str, Callable[[Book], Book]] = {
    "networks": lambda book: {
        id: each for id, each in book.items() if not int(each.get("Flags") or 0) & NON_PERSISTENT
    },
    "endpoints": lambda book: {},
    "forwarding": lambda book: {},
    "policylists": lambda book: {},
    "routes": lambda book: {
        prefix: each for prefix, each in book.items() if not each or each.get("PolicyStore") != "ActiveStore"
    },
    # not a loss: what waited for a restart is done
    "features": lambda book: {name: state.replace("InstallPending", "Installed") for name, state in book.items()},
}


def reboot(books: Path) -> None:
    """The machine went down; its books are those of the next boot."""
    for name, kept in LOSSES.items():
        place = books / f"{name}.json"
        if place.exists():
            place.write_text(json.dumps(kept(json.loads(place.read_text()))))
