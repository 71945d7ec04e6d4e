"""Images of Windows nodes: what docs/images.md says, up to sysprep, which is not here."""

import shutil
import zipfile
from io import BytesIO

from components.machine.bundle import image_bundle
from sandbox.boot.windows.winpwsh import MULLION
from tests.windows_plans.server import DATA, Node

BUNDLE = r"C:\image"


def bake(here: Node) -> None:
    """The bundle unpacked, bake.ps1, the restart, bake.ps1 by its task. The machine is off then, and has no name."""
    # the loader brings these to a machine; an image has none of them
    shutil.rmtree(here.machine.path(MULLION))
    with zipfile.ZipFile(BytesIO(image_bundle(here.made.plan, "aws").content)) as bundle:
        bundle.extractall(here.machine.path(BUNDLE))
    for _ in range(2):
        here.boot()
        code, said = here.machine.pwsh(rf"& '{BUNDLE}\image\bake.ps1' -NoGeneralize", 240)
        assert code == 0, said
        here.off()
    assert "nothing of one node or cluster is left" in here.machine.path(rf"{DATA}\bake.log").read_text()
    (here.books / "name.txt").unlink(missing_ok=True)
    (here.books / "asked.jsonl").unlink()
