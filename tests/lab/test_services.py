"""kubelet and kube-proxy read all their rendered files and accept all their flags."""

from collections.abc import Iterator
from typing import Any

import pytest

from components import releases
from components.node.plan import canonical
from tests.lab.conftest import Find
from tests.lab.judge import Windows
from tests.lab.real import Real
from tests.lab.rendered import Rendered, filled
from tests.lab.test_tables import KINDS, on_any_machine

pytestmark = pytest.mark.lab

SYSTEMS = {"linux": ("control-plane", "linux22", "linux24"), "windows": ("windows",)}


def renderings(rendered: tuple[Rendered, ...], real: Real) -> Iterator[tuple[str, Any, list[str]]]:
    """Return machine, configuration and arguments of the program's service, each different set once."""
    seen: set[bytes] = set()
    for machine in rendered:
        if machine.pool not in SYSTEMS[real.os]:
            continue
        config = machine.file_of_kind(KINDS[real.name][1])
        arguments = machine.command(real.name, real.name)
        if (key := canonical([config, arguments])) not in seen:
            seen.add(key)
            yield machine.name, config, arguments


def test_every_configuration_is_read_without_an_objection(
    kubernetes: str, real: Real, rendered: tuple[Rendered, ...]
) -> None:
    """SRV-02, RES-04: the program reaches its first missing prerequisite without an objection."""
    different = {name: (config, arguments) for name, config, arguments in renderings(rendered, real)}
    assert any(name.startswith("everything") for name in different), "the fullest rendering is among them"
    objections = {
        name: said
        for name, (config, arguments) in different.items()
        if (said := real.objections(real.read({**on_any_machine(kubernetes, real), **config}, arguments)))
    }
    assert objections == {}


def test_srv_09_every_flag_of_a_service_is_known(kubernetes: str, real: Real, rendered: tuple[Rendered, ...]) -> None:
    services = list(renderings(rendered, real))
    answers = real.each([*arguments, "--version"] for _, _, arguments in services)
    for (name, *_), said in zip(services, answers, strict=True):
        assert f"Kubernetes v{kubernetes}" in said, f"{name}: {said[-500:]}"


def test_the_service_mode_and_priority_of_windows_are_flags_of_windows_alone(kubernetes: str, real: Real) -> None:
    """RES-03."""
    own = releases.flags("kubelet", kubernetes, "windows") - releases.flags("kubelet", kubernetes, "linux")
    assert own == {"windows-service", "windows-priorityclass"}
    if real.name == "kubelet":
        assert real.refused(own) == (own if real.os == "linux" else frozenset())


def test_ops_03_the_log_runner_accepts_its_flags_and_keeps_the_output_of_a_service(
    rendered: tuple[Rendered, ...], program: Find, windows: Windows
) -> None:
    for machine in rendered:
        runner, *rest = filled(machine.fields("kubelet")["command"])
        if machine.pool != "windows" or not runner.endswith("kube-log-runner.exe"):
            continue
        flags = [each for each in rest[: rest.index("--windows-service")] if each.startswith("--")]
        (log,) = (each.partition("=")[2] for each in flags if each.startswith("--log-file="))
        windows.path(log).unlink(missing_ok=True)
        windows.install(program("kube-log-runner", "windows"), runner)
        judgement = windows.run([runner, *flags, "cmd.exe", "/c", "echo the service says"])
        assert (judgement.code, "the service says" in windows.path(log).read_text()) == (0, True), judgement.text
        return
    pytest.skip("services of this version write their own logs")
