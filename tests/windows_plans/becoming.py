"""From a fresh disk to a Ready node, and the checks at the end."""

from pathlib import Path

from tests.windows_plans.end import asked, differences, record, requests, state
from tests.windows_plans.server import Node, outcomes, restarts
from tests.windows_plans.site import TOKEN


def becomes_ready(worker: Node, name: str, fresh: Path) -> None:
    """Boot until Ready: one restart, each file downloaded once, a second run that sets nothing, no token left.

    At the end the machine equals the golden `name` and is off; `fresh` is the folder of an unused machine.
    """
    place = worker.node_network
    first = worker.power_on()
    assert first and first["state"] == "done", (first, worker.log())
    assert restarts(worker) == 1, "one restart for the name, the feature and the page file"
    fetched = [each.name for each in place.downloads.asked]
    assert sorted(fetched) == sorted(worker.made.files), "each file is downloaded once"
    second = worker.run()
    assert second
    assert {step for step, outcome in outcomes(second).items() if outcome != "held"} == set()
    assert worker.status()["state"] == "ready", "the status record says ready"
    log = worker.log()
    worker.off()
    assert not place.api.refused
    assert not _holding(worker.machine.drive / "k", TOKEN), "no token is left on a joined node"
    assert not _holding(worker.machine.drive / "ProgramData", TOKEN)
    assert TOKEN not in log
    actual = {**state(worker, fresh), "asked": asked(worker), "requests": requests(worker)}
    record(name, actual)
    wrong = differences(name, actual)
    assert not wrong, "\n".join(wrong)


def _holding(folder: Path, text: str) -> list[str]:
    """Return files below the folder that contain the text in an encoding that Windows uses."""
    wanted = (text.encode(), text.encode("utf-16-le"))
    return [
        str(file)
        for file in folder.rglob("*")
        if file.is_file() and not file.is_symlink() and any(each in file.read_bytes() for each in wanted)
    ]
