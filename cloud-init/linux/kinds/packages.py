"""Debian packages out of files that are here already."""

from run import Run, Step

QUESTIONS = {"DEBIAN_FRONTEND": "noninteractive"}
KEEP = ("--force-confdef", "--force-confold")
"""A configuration file that was changed stays."""


def package_holds(run: Run, step: Step) -> bool:
    """dpkg knows it as installed, in this version."""
    words = ("--show", "--showformat=${db:Status-Abbrev}${Version}", step["package"])
    known = run.command("dpkg-query", *words, check=False)
    return known.returncode == 0 and known.stdout == f"ii {step['version']}"


def make_package(run: Run, step: Step) -> None:
    """Finishes what a cut left half-done, then installs. A lock that others hold is waited for by tries."""
    run.command("dpkg", *KEEP, "--configure", "--pending", environment=QUESTIONS)
    run.command("dpkg", *KEEP, "--install", str(run.path(step["source"])), environment=QUESTIONS)
