"""python -m tools.lab build VERSION...: real Kubernetes programs of these versions, built once into the cache."""

import argparse
import sys

from components import releases
from tools.lab import build
from tools.lab.programs import NOT_BUILT, programs


def main(arguments: list[str]) -> int:
    """Exit code 1 where a program could not be built; all others are built first."""
    parser = argparse.ArgumentParser(prog="python -m tools.lab", description=__doc__)
    parser.add_argument("command", choices=("build", "list"), help="build what is missing, or list what there is")
    parser.add_argument("versions", nargs="+", help="Kubernetes versions, e.g. 1.37.1")
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    given = parser.parse_args(arguments)
    if unknown := [each for each in given.versions if releases.minor(each) not in releases.supported_minors()]:
        parser.error(
            f"no table has Kubernetes {', '.join(unknown)}; known are {', '.join(releases.supported_minors())}"
        )
    failed = 0
    for version in given.versions:
        for program in programs(version):
            if given.only and program.name not in given.only.split(","):
                continue
            if given.command == "list":
                state = build.place(program) if build.is_built(program) else "not built"
                print(f"{program.name} {program.version} {program.os}: {state}")
                continue
            try:
                build.build(program, build.say)
            except build.NotBuilt as failure:
                failed += 1
                build.say(f"mullion: not built: {failure}")
        for (minor, name), why in NOT_BUILT.items():
            if version.startswith(f"{minor}."):
                build.say(f"mullion: {name} {version} is not built: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
