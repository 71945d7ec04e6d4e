"""python -m lab COMMAND VERSION...: build the programs of Kubernetes versions once into the cache.

build: programs that tests run on rendered files. join: further programs for a Windows node and its API server.
cluster: all programs of real clusters, with archives and images. before: the same for the versions that an upgrade to
VERSION passes, for Linux machines only. controllers: cloud controllers. storage: sidecars of storage drivers.
monitoring: Prometheus and node_exporter. list: show which programs are built.
"""

import argparse
import sys
from collections.abc import Iterable

from components import releases
from lab import build, cluster
from lab.hns import dlls
from lab.programs import (
    NOT_BUILT,
    Program,
    joining_programs,
    of_clouds,
    of_monitoring,
    of_registries,
    of_storage,
    programs,
)

COMMANDS = ("build", "join", "cluster", "before", "controllers", "storage", "monitoring", "list")


def main(arguments: list[str]) -> int:
    """Build the programs; return 1 if one could not be built, after building the others."""
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("versions", nargs="+", help="Kubernetes versions, e.g. 1.37.1")
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    options = parser.parse_args(arguments)
    supported = releases.supported_minors()
    if unknown := [version for version in options.versions if releases.minor(version) not in supported]:
        parser.error(f"unknown Kubernetes {', '.join(unknown)}; known minors: {', '.join(supported)}")
    versions, systems = options.versions, cluster.SYSTEMS
    if options.command == "before":
        versions = list(dict.fromkeys(passed for newest in versions for passed in cluster.BEFORE.get(newest, ())))
        systems = cluster.LINUX
    failed = 0 if options.command != "build" or options.only else _dlls()
    for version in versions:
        listings = {
            "build": _of_tests,
            "join": joining_programs,
            "controllers": of_clouds,
            "storage": of_storage,
            "monitoring": of_monitoring,
        }
        listing = listings.get(options.command, cluster.needed)
        of_systems = [program for program in listing(version) if program.os in systems]
        names = options.only.split(",") if options.only else [program.name for program in of_systems]
        chosen = [program for program in of_systems if program.name in names]
        if options.command == "list":
            _list(chosen)
            state = cluster.folder(version) if cluster.is_built(version) else "not built"
            print(f"archives and images {version}: {state}")
            continue
        failed += _build(chosen)
        if options.command in ("cluster", "before") and not failed and not options.only:
            cluster.make(version, systems)
        for (minor, name), why in NOT_BUILT.items():
            if version.startswith(f"{minor}."):
                build.say(f"mullion: {name} {version} is not built: {why}")
    return 1 if failed else 0


def _of_tests(kubernetes: str) -> tuple[Program, ...]:
    """Return the programs that tests run on rendered files, and those with which kubelets pull."""
    return (*programs(kubernetes), *of_registries(kubernetes))


def _dlls() -> int:
    """Build the DLLs of Windows' networking; return 1 if they could not be built."""
    try:
        dlls.make(build.say)
    except build.NotBuilt as failure:
        build.say(f"mullion: not built: {failure}")
        return 1
    return 0


def _list(chosen: Iterable[Program]) -> None:
    for name in dlls.NAMES:
        print(f"{name}.dll: {dlls.place(name) if dlls.is_built() else 'not built'}")
    for program in chosen:
        state = build.place(program) if build.is_built(program) else "not built"
        print(f"{program.name} {program.version} {program.os}: {state}")


def _build(chosen: Iterable[Program]) -> int:
    """Build the programs; return the number that could not be built."""
    failed = 0
    for program in chosen:
        try:
            build.build(program, build.say)
        except build.NotBuilt as failure:
            failed += 1
            build.say(f"mullion: not built: {failure}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
