"""Bakes images of Windows nodes as in docs/images.md, without sysprep, which does not exist here."""

import shutil
import zipfile
from io import BytesIO

from components.machine.bundle import image_bundle
from sandbox.boot.windows.winpwsh import MULLION
from tests.windows_plans.server import DATA, Node

BUNDLE = r"C:\image"


def bake(worker: Node) -> None:
    """Unpack the bundle, run bake.ps1, restart, and run bake.ps1 by its task. The machine is off and unnamed at the
    end."""
    # the loader puts these on a machine; an image has neither
    shutil.rmtree(worker.machine.path(MULLION))
    with zipfile.ZipFile(BytesIO(image_bundle(worker.made.plan, "aws").content)) as bundle:
        bundle.extractall(worker.machine.path(BUNDLE))
    for _ in range(2):
        worker.boot()
        code, output = worker.machine.pwsh(rf"& '{BUNDLE}\image\bake.ps1' -NoGeneralize", 240)
        assert code == 0, output
        worker.off()
    assert "nothing of one node or cluster is left" in worker.machine.path(rf"{DATA}\bake.log").read_text()
    (worker.books / "name.txt").unlink(missing_ok=True)
    (worker.books / "asked.jsonl").unlink()
