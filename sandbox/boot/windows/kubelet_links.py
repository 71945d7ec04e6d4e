"""Links to the certificates of a kubelet under Wine, which has no symbolic links (Wine 8)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sandbox.boot.windows.server import PKI, Server


@contextmanager
def links(server: Server) -> Iterator[None]:
    """In the background, link each certificate of the kubelet once it exists, and restart the kubelet.

    The kubelet writes kubelet-client-<time>.pem and kubelet-server-<time>.pem, then fails to link them, and would
    request certificates without end. On Windows, SYSTEM may create links.
    """
    linking = _Linking(server)
    thread = threading.Thread(target=linking.watch)
    thread.start()
    try:
        yield
    finally:
        linking.done.set()
        thread.join()


@dataclass
class _Linking:
    """The links of one machine while it is on."""

    server: Server
    done: threading.Event = field(default_factory=threading.Event)
    linked: list[str] = field(default_factory=list[str])
    """Linked certificates, in order."""

    def watch(self) -> None:
        """Look for certificates until `done`."""
        while not self.done.wait(0.3):
            for kind in ("client", "server"):
                self._link(kind)

    def _link(self, kind: str) -> None:
        folder = self.server.path(PKI)
        current = folder / f"kubelet-{kind}-current.pem"
        # one that was linked before: the executor removed its link, and the kubelet asks for another
        before = (current.name, *self.linked)
        written = sorted(file for file in folder.glob(f"kubelet-{kind}-*.pem") if file.name not in before)
        if not written or current.exists():
            return
        while b"PRIVATE KEY" not in written[0].read_bytes():
            if self.done.wait(0.05):
                return
        self.server.run("sc.exe", "stop", "kubelet")
        current.symlink_to(written[0].name)
        self.linked.append(written[0].name)
        for _ in range(20):  # the service cannot start while it stops
            self.server.run("sc.exe", "start", "kubelet")
            if "RUNNING" in self.server.run("sc.exe", "query", "kubelet") or self.done.is_set():
                return
            time.sleep(0.5)
