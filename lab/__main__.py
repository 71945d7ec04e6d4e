"""python -m lab COMMAND VERSION...: real Kubernetes programs of these versions, built once into the cache.

build: the programs that judge what is rendered. join: what a Windows node and an API server for it need besides.
cluster: all that real clusters run, with archives and images made of it. before: the same of the versions that an
upgrade to this one goes through, for Linux machines only. list: what there is.
"""

import argparse
import sys
from collections.abc import Iterable

from components import releases
from lab import build, cluster
from lab.programs import NOT_BUILT, Program, joining_programs, programs


def main(arguments: list[str]) -> int:
    """Exit code 1 where something could not be built; all else is built first."""
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    parser.add_argument("command", choices=("build", "join", "cluster", "before", "list"))
    parser.add_argument("versions", nargs="+", help="Kubernetes versions, e.g. 1.37.1")
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    given = parser.parse_args(arguments)
    if unknown := [each for each in given.versions if releases.minor(each) not in releases.supported_minors()]:
        parser.error(
            f"no table has Kubernetes {', '.join(unknown)}; known are {', '.join(releases.supported_minors())}"
        )
    versions, systems = given.versions, cluster.SYSTEMS
    if given.command == "before":
        versions = list(dict.fromkeys(each for newest in versions for each in cluster.BEFORE.get(newest, ())))
        systems = cluster.LINUX
    failed = 0
    for version in versions:
        listing = {"build": programs, "join": joining_programs}.get(given.command, cluster.needed)
        wanted = [each for each in listing(version) if each.os in systems]
        chosen = [each for each in wanted if not given.only or each.name in given.only.split(",")]
        if given.command == "list":
            _list(chosen)
            made = cluster.folder(version) if cluster.is_built(version) else "not made"
            print(f"archives and images {version}: {made}")
            continue
        failed += _build(chosen)
        if given.command in ("cluster", "before") and not failed and not given.only:
            cluster.make(version, systems)
        for (minor, name), why in NOT_BUILT.items():
            if version.startswith(f"{minor}."):
                build.say(f"mullion: {name} {version} is not built: {why}")
    return 1 if failed else 0


def _list(chosen: Iterable[Program]) -> None:
    for program in chosen:
        state = build.place(program) if build.is_built(program) else "not built"
        print(f"{program.name} {program.version} {program.os}: {state}")


def _build(chosen: Iterable[Program]) -> int:
    """How many could not be built."""
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
