"""Where the machine takes its time from, for whichever of the two clients the distribution has."""

from run import Run, Step
from writing import write_whole

from kinds.system import text_of

FILES = {
    "/etc/chrony/sources.d/mullion.sources": "server {server} prefer iburst minpoll 4 maxpoll 4",
    "/etc/systemd/timesyncd.conf.d/mullion.conf": "[Time]\nNTP={server}",
}
UNITS = ("chrony.service", "systemd-timesyncd.service")


def source_holds(run: Run, step: Step) -> bool:
    """Both files name the server."""
    return all(text_of(run.path(name)) == text.format(server=step["server"]) for name, text in FILES.items())


def make_source(run: Run, step: Step) -> None:
    """Writes both; the client that runs reads its own anew. One that is not installed has no unit."""
    for name, text in FILES.items():
        write_whole(run.path(name), f"{text.format(server=step['server'])}\n".encode(), 0o644)
    for unit in UNITS:
        run.command("systemctl", "try-restart", unit, check=False)
