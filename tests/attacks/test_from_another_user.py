"""From another user of the host: who may write into the folder for temporary files, and knows the names in it.

Seen in: the standard error of the command that boots the sandbox, with the path.
"""

import os
from pathlib import Path

import pytest

from sandbox.boot.host_lock import lock_host


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_link_with_the_name_of_the_lock_empties_no_file(shared: Path) -> None:
    """Lay a link to a file of the victim where the lock of booted clusters is.

    Refused by: the lock's folder, which is the user's own, and the system, which follows no link there.
    """
    victim = shared / "state.json"
    victim.write_text("all clusters", encoding="ascii")
    for link in (shared / "mullion-cluster.lock", shared / "cluster.lock"):
        link.symlink_to(victim)
    with lock_host():
        pass
    own = shared / f"mullion-{os.getuid()}" / "cluster.lock"
    own.unlink()
    own.symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), lock_host():
        pass
    assert victim.read_text(encoding="ascii") == "all clusters"


@pytest.mark.parametrize("kind", ["link", "open to others"])
def test_a_folder_of_another_user_holds_no_lock(shared: Path, kind: str) -> None:
    """Make the lock's folder first: as a link to a folder of the attacker, or open to all.

    Refused by: the check of the folder's kind and mode.
    """
    folder = shared / f"mullion-{os.getuid()}"
    if kind == "link":
        (shared / "theirs").mkdir()
        folder.symlink_to(shared / "theirs")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(PermissionError, match="only this user may write"), lock_host():
        pass
    assert not list(folder.iterdir())
