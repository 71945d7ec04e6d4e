"""Images of Windows nodes (OPS-10): baked from one machine, and two clones that are nobody else."""

import json
from pathlib import Path

import pytest

from tests.windows_plans.combinations import rendered
from tests.windows_plans.health import problems, vip_of
from tests.windows_plans.imaging import bake
from tests.windows_plans.server import node, restarts
from tests.windows_plans.site import CLUSTER, TOKEN, NodeNetwork

pytestmark = [pytest.mark.windows, pytest.mark.subprocess, pytest.mark.soak]
CLONES = {"web-1": "10.20.1.5", "web-2": "10.20.1.6"}


def holding(folder: Path, text: str) -> list[str]:
    """Files that hold the text, but for those of the tests and of Windows."""
    outside = ("fakes", "jobs", "windows", "users")
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    own = (file for file in files if file.relative_to(folder).parts[0] not in outside)
    return [str(file) for file in own if text.encode() in file.read_bytes()]


@pytest.mark.parametrize("name", ["containerd-overlay"])
def test_two_clones_of_an_image_join_without_a_download_or_a_restart_and_share_nothing(
    name: str, winpwsh: str, place: NodeNetwork, standins: Path, tmp_path: Path
) -> None:
    made = rendered(name, place.mirror, standins)
    place.publish(made)
    image = tmp_path / "image"
    with node(winpwsh, place, image, made, "baker-0", "10.20.1.9") as here:
        bake(here)
        for text in ("baker-0", TOKEN, f"api.{CLUSTER}."):
            assert not holding(here.machine.drive, text), text
    fetched = len(place.downloads.asked)
    assert fetched == len(made.files)
    vips: list[str] = []
    for clone, address in CLONES.items():
        with node(winpwsh, place, tmp_path / clone, made, clone, address, image) as here:
            result = here.power_on()
            assert result and result["state"] == "done", (result, here.log())
            assert restarts(here) == 0, "a baked machine needs no restart"
            assert not list(problems(here))
            vips.append(vip_of(here))
    assert len(place.downloads.asked) == fetched, "a baked machine fetches nothing"
    assert sorted(place.api.nodes) == sorted(CLONES)
    assert len(set(vips)) == len(CLONES), json.dumps(vips)
