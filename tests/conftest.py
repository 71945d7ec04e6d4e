"""Guards and fixtures of every test: no network, no programs, real tools by name.

A unit test that opens a connection or starts a program fails, even if the tested code catches the error. Tests that
need either have a marker (pyproject.toml lists them).
"""

import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

from components.sdk.garbage import collect_rarely
from operations.engine import locate as engines
from tests.seed import GIVEN, SEED

hypothesis.settings.register_profile("mullion", deadline=None)  # hypothesis does not time tests
hypothesis.settings.load_profile("mullion")

collect_rarely()
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "true"  # a failing resource test shows the reason, not only the line

CONNECTIONS = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"}
"""Audit events that open connections."""
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"}
"""Audit events that start programs. sys.addaudithook sees all, including those of libraries."""
FREE = ("engine", "subprocess", "lab", "soak", "live")
"""Markers of tests that may do both."""

ALONE = ("grpc.use_local_subchannel_pool", 1)
"""gRPC channel option that shares no connection state with other channels."""

IMITATING = ("tests/windows_plans/", "tests/lab/joining/", "tests/lab/cluster/")
"""Folders with tests of whole machines, some of whose programs are stand-ins."""

CLUSTERS = "tests/lab/cluster/"
"""Tests of booted clusters. A host boots one at a time (sandbox/boot/host_lock.py)."""

SAMPLED = 3
"""Of each file, `make test` runs one of this many tests that are marked `sampled`."""

_guarded: str | None = None
"""The running unit test. An audit hook cannot be removed, so the hook reads this variable."""


def _is_local(event: str, args: tuple[Any, ...]) -> bool:
    """Return whether a connection stays on this machine: loopback, or a path (AF_UNIX)."""
    address = args[:1] if event == "socket.getaddrinfo" else args[1]
    host = address[0] if isinstance(address, tuple) else None
    return host in (None, "", "localhost", "::1", "0.0.0.0") or str(host).startswith("127.")


def _guard(event: str, args: tuple[Any, ...]) -> None:
    if _guarded is None:
        return
    # pytest's Failed is not an Exception, so tested code cannot catch it by accident
    if event in PROGRAMS:
        pytest.fail(f"{_guarded} starts a program ({event} {args[:1]}); mark it engine or subprocess")
    if event in CONNECTIONS and not _is_local(event, args):
        pytest.fail(
            f"{_guarded} reaches for the network ({event} {args[-1]}); unit tests have loopback and AF_UNIX only"
        )


sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def no_network_and_no_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Guard every test without one of FREE's markers."""
    global _guarded
    free = any(request.node.get_closest_marker(name) for name in FREE)
    _guarded = None if free else request.node.nodeid
    yield
    _guarded = None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the totals of soak tests (`record_property(what, number)`) over all workers, and what was imitated."""
    counted: Counter[str] = Counter()
    reports = [each for outcome in ("passed", "failed") for each in terminalreporter.stats.get(outcome, [])]
    for report in reports:
        counted.update({what: number for what, number in report.user_properties if isinstance(number, int)})
    if counted:
        terminalreporter.write_line("counted: " + ", ".join(f"{number:,} {what}" for what, number in counted.items()))
    if any(report.nodeid.startswith(IMITATING) for report in reports):
        from lab.cluster import IMITATED

        for what, how in IMITATED.items():
            terminalreporter.write_line(f"imitated: {what}: {how}")


RECORDING = (
    "tests/components/official_models/",
    "tests/components/spec/test_contract.py",
    "tests/sandbox/test_permissions.py",
    "tests/tools/test_permissions.py",
)
"""Tests that need the resources of all of tools/golden/cases.py, which a process records once in forty seconds."""


class OneProcessForAGroup(LoadFileScheduling):
    """Gives a process whole files of tests, and one process all files of a group.

    A second process with booted clusters would only wait, and one with RECORDING would record everything again.
    """

    def _split_scope(self, nodeid: str) -> str:
        group = next((each[0] for each in ((CLUSTERS,), RECORDING) if nodeid.startswith(each)), None)
        return group or super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneProcessForAGroup | None:
    """Take this scheduler for --dist loadfile."""
    return OneProcessForAGroup(config, log) if config.getvalue("dist") == "loadfile" else None


def leave_to_soak(items: list[pytest.Item]) -> None:
    """Mark two thirds of the tests marked `sampled` as soak: of each file a third stays, drawn by the seed."""
    seed = GIVEN or os.environ.get("PYTEST_XDIST_TESTRUNUID") or SEED  # the same in all processes of xdist
    files = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("soak"):
            files[item.nodeid.partition("::")[0]].append(item)
    for name, tests in files.items():
        drawn = random.Random(f"{seed} {name}").sample(tests, max(1, len(tests) // SAMPLED))
        for item in tests:
            if item not in drawn:
                item.add_marker(pytest.mark.soak)


@pytest.hookimpl(tryfirst=True)  # before pytest looks at -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run booted clusters first, then files with tests that start programs, then RECORDING, then the others.

    So no process is left with a long file or group at the end. A test on a Windows machine gets a second
    try, because Wine itself crashes at times. The closing line counts these; a fault of Mullion fails twice.
    """
    leave_to_soak(items)
    long = {item.path for item in items if any(item.get_closest_marker(name) for name in FREE)}

    def order(item: pytest.Item) -> tuple[bool, ...]:
        return not item.nodeid.startswith(CLUSTERS), item.path not in long, not item.nodeid.startswith(RECORDING)

    items.sort(key=order)
    for item in items:
        if "winpwsh" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def missing() -> Callable[[str, str], NoReturn]:
    """Give `missing(tool, why)`: fails the test if MULLION_REQUIRE names the tool, else skips it with the reason."""

    def end(tool: str, why: str) -> NoReturn:
        if tool in os.environ.get("MULLION_REQUIRE", "").replace(" ", "").split(","):
            pytest.fail(f"MULLION_REQUIRE names {tool}, but: {why}")
        pytest.skip(f"{tool}: {why}")

    return end


def forget_dead_engines() -> None:
    """Keep the SDK's gRPC channels from sharing connection state, which they do by default.

    Hundreds of engines come and go here. A new engine at the port of an ended one would otherwise count as unreachable
    for up to two minutes (UNAVAILABLE, connection refused).
    """
    from pulumi.runtime import _grpc_settings

    if ALONE not in _grpc_settings._GRPC_CHANNEL_OPTIONS:
        _grpc_settings._GRPC_CHANNEL_OPTIONS.append(ALONE)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="session")
def engine(missing: Callable[[str, str], NoReturn]) -> Iterator[engines.Engine]:
    """Give the real Pulumi engine of this machine. Tests never build one; `make engine` does."""
    forget_dead_engines()
    found = engines.installed()
    found = found or missing("engine", "there is no Pulumi engine here; `make engine` finds or builds one")
    with pytest.MonkeyPatch.context() as patch:
        # named for tests with a cache of their own, where the command would build an engine for minutes
        patch.setenv("MULLION_PULUMI", str(found.path))
        yield found
