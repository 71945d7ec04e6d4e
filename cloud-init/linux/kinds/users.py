"""System users, for programs that need no root."""

from run import Run, Step

SHELL = "/usr/sbin/nologin"
HOME = "/nonexistent"


def known(run: Run, step: Step) -> list[str]:
    """Fields of the user's entry; none when there is none."""
    ended = run.command("getent", "passwd", step["user"], check=False)
    return ended.stdout.strip().split(":") if ended.returncode == 0 else []


def user_holds(run: Run, step: Step) -> bool:
    """The entry has home and shell, and the groups have the user."""
    entry = known(run, step)
    if entry[5:] != [step.get("home", HOME), SHELL]:
        return False
    groups = run.command("id", "--groups", "--name", step["user"]).stdout.split()
    return set(step.get("groups", ())) <= set(groups)


def make_user(run: Run, step: Step) -> None:
    """Adds the user, or changes what differs."""
    words = ["-d", step.get("home", HOME), "-s", SHELL]  # these two have no long names in common
    groups = ["--groups", ",".join(step["groups"])] if step.get("groups") else []
    if known(run, step):
        run.command("usermod", *words, *(["--append", *groups] if groups else []), step["user"])
    else:
        run.command("useradd", "--system", "--user-group", "--no-create-home", *words, *groups, step["user"])
