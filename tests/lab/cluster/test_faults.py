"""Power cuts, pulled cables, slow networks and changed pools in random order: the cluster ends as planned."""

import json
import os
import random
import sys
import time
from collections.abc import Callable

import pytest

from operations.commands.reboot_all import ENOUGH
from operations.engine.locate import Engine
from tests.awaited import until
from tests.lab.cluster.clone import Clone
from tests.seed import SEED

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

STACK = "aws-dev"
STEPS = int(os.environ.get("MULLION_STEPS", "200"))
RETURN_SECONDS = 400
COUNTS = (1, 2, 3)

Step = Callable[[Clone, random.Random, str], str]


def _reboot(clone: Clone, draw: random.Random, machine: str) -> str:
    clone.mullion("sandbox", "reboot", STACK, machine)
    return f"reboot {machine}"


def _undone(word: str) -> Step:
    """Return a fault that is undone at once, or by `healed`."""

    def step(clone: Clone, draw: random.Random, machine: str) -> str:
        clone.mullion("sandbox", word, STACK, machine)
        later = draw.random() < 0.5
        if not later:
            clone.mullion("sandbox", word, STACK, machine, "--undo")
        return f"{word} {machine}, {'for longer' if later else 'for a moment'}"

    return step


def _throttle(clone: Clone, draw: random.Random, machine: str) -> str:
    rate = draw.choice(("", "2mbit", "20mbit"))
    clone.mullion("sandbox", "throttle", STACK, machine, rate)
    return f"throttle {machine} {rate}"


def _scale(clone: Clone, draw: random.Random, machine: str) -> str:
    healed(clone)  # a pool is changed only if it is complete
    count = draw.choice(COUNTS)
    clone.mullion("scale", STACK, "linux", str(count), "--sandbox", "--yes")
    return f"scale linux to {count}"


def _power(clone: Clone, draw: random.Random, machine: str) -> str:
    clone.mullion("sandbox", "stop", STACK)
    clone.mullion("sandbox", "boot", STACK)
    return "all off and on"


FAULTS: tuple[tuple[Step, int], ...] = (
    (_reboot, 6),
    (_undone("cut"), 4),
    (_undone("isolate"), 4),
    (_throttle, 4),
    (_scale, 2),
    (_power, 1),
)
"""Faults, and how often each is drawn."""


def booting(clone: Clone) -> dict[str, dict[str, str]]:
    """Return the machines that can boot here."""
    return {name: each for name, each in clone.machines().items() if not each["power"].startswith("not booted")}


def healed(clone: Clone) -> None:
    """Undo every fault, and wait until each machine is as planned."""
    for name, machine in booting(clone).items():
        if machine["network"] == "isolated":
            clone.mullion("sandbox", "isolate", STACK, name, "--undo")
        if booting(clone)[name]["network"] != "open":
            clone.mullion("sandbox", "throttle", STACK, name)
        if machine["power"] == "off":
            clone.mullion("sandbox", "cut", STACK, name, "--undo")

    def whole() -> bool:
        return all(each["power"] == "on" and each["record"] in ENOUGH for each in booting(clone).values())

    until(whole, "each machine is as planned again", RETURN_SECONDS)


def faults(clone: Clone, seed: int, steps: int) -> None:
    """Do this many steps in the order that the seed draws, then heal the cluster."""
    draw = random.Random(seed)
    kinds, weights = zip(*FAULTS, strict=True)
    for number in range(steps):
        machine = draw.choice(sorted(booting(clone)))
        (step,) = draw.choices(kinds, weights)
        began = time.monotonic()
        event = step(clone, draw, machine)
        sys.stdout.write(f"seed {seed}, step {number + 1} of {steps}: {event} ({time.monotonic() - began:.0f} s)\n")
    healed(clone)
    assert json.loads(clone.mullion("verify", STACK, "--json"))["failed"] == 0


def test_any_order_of_faults_ends_in_the_planned_cluster(
    built: str, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clone = Clone(tmp_path_factory.mktemp("faults"), STACK)
    clone.mullion("up", STACK, "--sandbox", "--yes", "--bootable", "--kubernetes", built)
    try:
        clone.mullion("sandbox", "boot", STACK)
        faults(clone, SEED, STEPS)
    finally:
        clone.mullion("down", STACK, "--sandbox", "--yes")
    assert clone.remains() == {what: [] for what in clone.remains()}
