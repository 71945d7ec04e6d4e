"""Images of Windows nodes (OPS-10): one baked image, and two clones that share no identity."""

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
    """Return files that contain the text, except files of the tests and of Windows."""
    outside = ("fakes", "jobs", "windows", "users")
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    own = (file for file in files if file.relative_to(folder).parts[0] not in outside)
    return [str(file) for file in own if text.encode() in file.read_bytes()]


@pytest.mark.parametrize("name", ["containerd-overlay"])
def test_two_clones_of_an_image_join_without_download_or_restart_and_share_no_identity(
    name: str, winhns: str, place: NodeNetwork, standins: Path, tmp_path: Path
) -> None:
    rendering = rendered(name, place.mirror, standins)
    place.publish(rendering)
    image = tmp_path / "image"
    with node(winhns, place, image, rendering, "baker-0", "10.20.1.9") as worker:
        bake(worker)
        for text in ("baker-0", TOKEN, f"api.{CLUSTER}."):
            assert not holding(worker.machine.drive, text), text
    fetched = len(place.downloads.asked)
    assert fetched == len(rendering.files)
    vips: list[str] = []
    for clone, address in CLONES.items():
        with node(winhns, place, tmp_path / clone, rendering, clone, address, image) as worker:
            result = worker.power_on()
            assert result and result["state"] == "done", (result, worker.log())
            assert restarts(worker) == 0, "a clone needs no restart"
            assert not list(problems(worker))
            vips.append(vip_of(worker))
    assert len(place.downloads.asked) == fetched, "a clone downloads nothing"
    assert sorted(place.api.nodes) == sorted(CLONES)
    assert len(set(vips)) == len(CLONES), json.dumps(vips)
