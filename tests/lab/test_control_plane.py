"""kube-apiserver, kube-controller-manager and kube-scheduler accept all rendered flags that kubeadm passes on."""

from collections.abc import Iterator, Mapping

import pytest

from components import releases
from tests.lab.conftest import Find
from tests.lab.real import Real
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab

PARTS = {
    "kube-apiserver": "apiServer",
    "kube-controller-manager": "controllerManager",
    "kube-scheduler": "scheduler",
}
"""Program and its section of a ClusterConfiguration."""


@pytest.fixture(scope="session")
def parts(program: Find, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Real]:
    """Return the three programs by name."""
    return {name: Real(name, "linux", program(name, "linux"), tmp_path_factory.mktemp(name)) for name in PARTS}


def arguments(rendered: tuple[Rendered, ...], part: str) -> Iterator[tuple[str, list[str]]]:
    """Return control-plane machines and the rendered arguments that kubeadm passes to a program."""
    for machine in rendered:
        if machine.pool != "control-plane":
            continue
        documents = machine.content("init-config")
        cluster = next(each for each in documents if each["kind"] == "ClusterConfiguration")
        ours = cluster.get(part, {}).get("extraArgs", [])  # a list from v1beta4 on, a map before
        pairs = [(each["name"], each["value"]) for each in ours] if isinstance(ours, list) else list(ours.items())
        yield machine.name, [f"--{name}={value}" for name, value in pairs]


@pytest.mark.parametrize("name", PARTS)
def test_srv_13_every_planned_argument_is_accepted(
    name: str, kubernetes: str, parts: Mapping[str, Real], rendered: tuple[Rendered, ...]
) -> None:
    with_arguments = [(machine, words) for machine, words in arguments(rendered, PARTS[name]) if words]
    assert with_arguments or name == "kube-scheduler", "the plan has arguments for it"
    answers = parts[name].each([*words, "--version"] for _, words in with_arguments)
    wrong = {
        machine: said[-500:]
        for (machine, _), said in zip(with_arguments, answers, strict=True)
        if f"Kubernetes v{kubernetes}" not in said
    }
    assert wrong == {}


def test_srv_13_the_table_has_every_flag_of_the_three_and_no_other(kubernetes: str, parts: Mapping[str, Real]) -> None:
    """Users cannot set a flag that the table lacks; a flag that exists only in the table ends a control plane."""
    table = releases.control_plane_flags(kubernetes)
    listed = frozenset[str]().union(*(each.known_flags() for each in parts.values()))
    assert listed <= table
    nowhere = table - listed  # or hidden from help: passing it shows whether it exists
    for each in parts.values():
        nowhere &= each.refused(nowhere)
    assert nowhere == frozenset()


@pytest.mark.parametrize("wrong", ["one flag too many", "one flag less"])
def test_a_wrong_row_of_the_table_fails(
    wrong: str, kubernetes: str, parts: Mapping[str, Real], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = releases.control_plane_flags(kubernetes)
    listed = frozenset[str]().union(*(each.known_flags() for each in parts.values())) & table
    rows = listed | {"webhook-port"} if wrong == "one flag too many" else listed - {"advertise-address"}
    monkeypatch.setattr(releases, "control_plane_flags", lambda version: rows)
    with pytest.raises(AssertionError):
        test_srv_13_the_table_has_every_flag_of_the_three_and_no_other(kubernetes, parts)


def test_srv_13_removed_flags_are_refused_by_all_three(kubernetes: str, parts: Mapping[str, Real]) -> None:
    minors = releases.supported_minors()
    before = minors[: minors.index(releases.minor(kubernetes))]
    once = frozenset[str]().union(*map(releases.control_plane_flags, before))
    gone = once - releases.control_plane_flags(kubernetes)
    assert {name: gone - each.refused(gone) for name, each in parts.items()} == dict.fromkeys(PARTS, frozenset())
