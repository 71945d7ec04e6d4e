"""What many workers cost: bytes of the state, CPU time and memory of `up`, a second `up` and `down` in the sandbox.

`python -m tools.bench.state_cost 50 500`, with `--flat` for the flat program. CPU time is user and system time of this
process, which runs the program, and of the engine with its providers; so other work on the machine changes it little.
"""

import json
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from components.sdk.garbage import collect_rarely
from components.stack_files.stack import CLUSTER, stack_file_config
from operations.stacks.paths import REPOSITORY

STACK = "aws-dev"
CONFIG = stack_file_config(REPOSITORY / "stacks" / f"Pulumi.{STACK}.yaml")
GOALS = "goals for 500: state 5 MB; 90, 15 and 90 s on two idle cores; 600 MB of memory"


def sized(workers: int) -> dict[str, Any]:
    """Return the stack's configuration with this many Windows workers."""
    cluster = json.loads(json.dumps(CONFIG[CLUSTER]))
    cluster["pools"]["web"]["count"] = workers
    cluster["network"]["pods"] = "10.128.0.0/12"
    return {**CONFIG, CLUSTER: cluster}


class Cost(NamedTuple):
    """Of one command. seconds: elapsed; program, engine: CPU seconds; megabytes: the largest process of the engine."""

    seconds: float
    program: float
    engine: float
    megabytes: float


@contextmanager
def sandbox_stack(config: Mapping[str, Any], program: Callable[[], Any]) -> Iterator[tuple[Any, Path]]:
    """Yield a new stack of the Automation API in a sandbox of its own, and the folder of its state."""
    import pulumi.automation as auto

    from operations.engine import locate as engines
    from operations.engine.workspace import prepare

    os.environ["PATH"] = f"{engines.find().path.parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        environment = prepare(Path(folder))
        backend = auto.ProjectBackend(environment["PULUMI_BACKEND_URL"])
        project = auto.ProjectSettings("mullion", "python", backend=backend)
        options = auto.LocalWorkspaceOptions(
            work_dir=folder, env_vars=environment, pulumi_home=environment["PULUMI_HOME"], project_settings=project
        )
        stack = auto.create_or_select_stack(STACK, project_name="mullion", program=program, opts=options)
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
        stack.set_all_config({key: auto.ConfigValue(value) for key, value in texts.items()})
        yield stack, Path(folder) / "state"


def cost(command: Callable[[], Any]) -> Cost:
    """Run a command of the engine and return what it cost."""
    before, own, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.process_time(), time.perf_counter()
    command()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    engine = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - began, time.process_time() - own, engine, after.ru_maxrss / 1024)


def state_size(folder: Path) -> int:
    """Return the bytes of the stack's state in a backend of files, compressed or not; its attributes have no part."""
    stacks = (folder / ".pulumi" / "stacks" / "mullion").glob(f"{STACK}.json*")
    return sum(each.stat().st_size for each in stacks if each.suffix in (".json", ".gz", ".zst"))


def measure(workers: int, program: Callable[[], Any], config: Mapping[str, Any]) -> None:
    """Print what a cluster of this many Windows workers costs."""
    with sandbox_stack(config, program) as (stack, folder):
        commands = {"up": stack.up, "up again": stack.up, "down": lambda: stack.destroy(run_program=True)}
        for name, command in commands.items():
            spent = cost(command)
            print(
                f"{workers:>4} workers, {name:<9} {spent.seconds:7.1f} s   CPU: program {spent.program:6.1f} s,"
                f" engine {spent.engine:6.1f} s ({1000 * (spent.program + spent.engine) / workers:5.0f} ms a worker)"
                f"   at most {spent.megabytes:5.0f} MB",
                flush=True,
            )
            if name == "up":
                size = state_size(folder)
                print(f"{workers:>4} workers, state {size / 1e6:6.1f} MB ({size / workers / 1000:5.1f} kB a worker)")


def main(*words: str) -> None:
    """Measure each number of workers among the words."""
    from operations.recorder.recorder import program
    from tools.bench.flat import flat

    print(GOALS)
    for workers in [int(word) for word in words if word.isdigit()]:
        measure(workers, (lambda n=workers: flat(n)) if "--flat" in words else program, sized(workers))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    collect_rarely()
    main(*sys.argv[1:])
