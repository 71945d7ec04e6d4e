"""How a machine becomes a node: the whole way from a fresh disk to Ready, and what must be true at its end."""

from pathlib import Path

from tests.windows_plans.end import asked, differences, record, state
from tests.windows_plans.server import Node, outcomes, restarts
from tests.windows_plans.site import TOKEN


def becomes_ready(here: Node, name: str, fresh: Path) -> None:
    """One restart, each download once, a second run that sets nothing, no token left, an end as in the golden `name`.

    The machine is off then; `fresh` is the folder of one that nothing was done to.
    """
    place = here.node_network
    first = here.power_on()
    assert first and first["state"] == "done", (first, here.log())
    assert restarts(here) == 1, "for the name, the feature and the page file together"
    fetched = [each.name for each in place.downloads.asked]
    assert sorted(fetched) == sorted(here.made.files), "each download once"
    second = here.run()
    assert second
    assert {step for step, outcome in outcomes(second).items() if outcome != "held"} == set()
    assert here.status()["state"] == "ready", "the status record"
    said = here.log()
    here.off()
    assert not place.api.refused
    assert not _holding(here.machine.drive / "k", TOKEN), "a member needs no token, and keeps none"
    assert not _holding(here.machine.drive / "ProgramData", TOKEN)
    assert TOKEN not in said
    found = {**state(here, fresh), "asked": asked(here)}
    record(name, found)
    wrong = differences(name, found)
    assert not wrong, "\n".join(wrong)


def _holding(folder: Path, text: str) -> list[str]:
    """Files below the folder that hold the text in any encoding of Windows."""
    wanted = (text.encode(), text.encode("utf-16-le"))
    return [
        str(file)
        for file in folder.rglob("*")
        if file.is_file() and not file.is_symlink() and any(each in file.read_bytes() for each in wanted)
    ]
