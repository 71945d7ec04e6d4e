"""`mullion run`: build a cluster from a template for one command, test it, run the command, and remove the cluster."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from components.checks.lifecycle import SHORTEST_LIFE
from components.rollout.api_tunnel import uses_tunnel
from components.spec import expiry
from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER
from operations.commands import (
    extend,
    joined,
    reached_api,
    run_artifacts,
    run_command,
    run_kept,
    sandbox_boot,
    up_and_down,
    verify,
    wait,
)
from operations.commands.run_report import RunReport, explained
from operations.console.command_line import continued_by
from operations.console.exits import EngineError, Exit, Stop
from operations.engine import engine_log, failures, locate, workspace
from operations.stacks import boot_overlay, boot_site, ephemeral, stack_files, target
from operations.verification.verdicts import TITLES

TTL = "2h"
"""Lifetime of a cluster whose template has no duration as `expires`."""
TRIES, RETRY_SECONDS = 3, 15.0
"""Tries to remove the cluster, and seconds between them: a lost network connection may return."""
ALL, NONE = "all", "none"


@dataclass(frozen=True)
class Wanted:
    """Options of the command line, as written."""

    template: str
    command: tuple[str, ...]
    name: str | None = None
    ttl: str | None = None
    settings: tuple[str, ...] = ()
    keep: str | None = None
    artifacts: Path | None = None
    verify: str = ALL
    timeout: str = "45m"
    sandbox: bool = False
    yes: bool = False
    collect: bool = False
    """Collect logs and events after a success too."""
    boot: bool = False
    """Boot the sandbox's machines, so the command has a cluster that answers."""
    credentials: bool = False
    """Let the command have this environment's credentials of the cloud and the state."""


def run(wanted: Wanted) -> int:
    """Run a command with its own cluster. Return the command's exit code, or that of the phase that failed.

    Mullion's own lines go to standard error: standard output is the command's.
    """
    with failures.interruptible(), redirect_stdout(sys.stderr):
        job = _begun(wanted)
        leave = continued_by(lambda: target.command("down", job.name, "--yes"))  # the same command builds another
        with engine_log.logged(job.folder.path / run_artifacts.ENGINE), leave:
            error = job.failure()
            code, message = explained(error) if error else (0, "")
            job.report.code = code
            if message:
                print(f"mullion: {message}", file=sys.stderr, flush=True)
            with failures.holding("removing the cluster; press again to leave the removal to `mullion reap`"):
                failed = code not in (Exit.OK, Exit.INTERRUPTED)
                if code or wanted.collect:
                    job.folder.collect(job.name, interrupted=code == Exit.INTERRUPTED)
                left = "" if failed and wanted.keep and job.kept(wanted.keep) else job.removed()
        job.report.left, job.report.code = left, code or (Exit.FAILED if left else Exit.OK)
        job.folder.end()
    if left or error:
        print(f"mullion: reports and logs of this run: {job.folder.path}", file=sys.stderr)
    if left:
        print(f"mullion: {left}", file=sys.stderr)
    return job.report.code


def _begun(wanted: Wanted) -> "_Job":
    """Check everything that can be checked before a cluster is built, and write its stack file."""
    run_command.refuse_unknown(wanted.command)
    checks = _checks(wanted.verify)
    for option, value in (("--timeout", wanted.timeout), ("--keep-on-failure", wanted.keep)):
        if value is not None:
            extend.seconds(option, value)
    ends = expiry.now() + timedelta(seconds=extend.seconds("--ttl", wanted.ttl or _ttl(wanted.template)))
    name = wanted.name or ephemeral.new_name(wanted.template)
    whole = ephemeral.document(wanted.template, wanted.settings, expiry.written(ends))
    stack = ephemeral.read(name, whole, wanted.settings)
    joined.refuse_spec(wanted.template, stack.spec, "run")
    if wanted.boot:
        sandbox_boot.refuse(name, stack.spec)
        boot_overlay.refuse_unbuilt(whole["config"][CLUSTER], stack.spec.kubernetes, "--set kubernetes=")
    if (place := target.recall(name)) is not None:
        raise Stop(Exit.REFUSED, ephemeral.taken(name, f"stack {name} is built in {place}"))
    if not wanted.sandbox:
        _refuse_taken(name)
    if stack.spec.api.access.value == "private" and not wanted.sandbox and not uses_tunnel(stack.spec):
        print(f"warning: {name}: the API is private: only hosts in its network reach it", file=sys.stderr)
    if (ends - expiry.now()).total_seconds() < SHORTEST_LIFE - 60 and not wanted.sandbox:
        print("warning: --ttl is short: Windows nodes take about 15 minutes to become Ready", file=sys.stderr)
    report = RunReport(name, wanted.template)
    folder = run_artifacts.RunFolder.begun(wanted.artifacts or target.root() / "runs" / name, report)
    ephemeral.write(name, wanted.template, whole)
    print(f"mullion: cluster {name} from {wanted.template}, expires at {expiry.written(ends)}", file=sys.stderr)
    return _Job(wanted, name, ends, checks, folder, report)


def _ttl(template: str) -> str:
    """Return the duration of the template's `expires`; the default if it has none."""
    cluster = stack_files.written(template).get(CLUSTER)
    text = cluster.get("expires") if isinstance(cluster, dict) else None
    return text if isinstance(text, str) and expiry.life_seconds(text) else TTL


def _checks(text: str) -> frozenset[str] | None:
    """Return the chosen checks of verify: an empty set for all, None for none. Raises Stop for an unknown check."""
    if text in (ALL, NONE):
        return frozenset() if text == ALL else None
    chosen = frozenset(text.split(","))
    if unknown := sorted(chosen - set(TITLES)):
        raise Stop(
            Exit.USAGE, f"--verify {','.join(unknown)} is unknown; write all, none, or some of {','.join(TITLES)}"
        )
    return chosen


def _refuse_taken(name: str) -> None:
    """Raise Stop if the backend for real accounts has a stack of this name. Without a backend, `up` says what to do."""
    if not workspace.has_backend():
        return
    with workspace.opened(name, locate.find(), sandbox=False) as space, failures.reported(name):
        if workspace.existing(name, space) is not None:
            raise Stop(Exit.REFUSED, ephemeral.taken(name, f"the backend has a stack {name}"))


@dataclass
class _Job:
    """One run, after its stack file was written. ends: its expiry. checks: None if nothing is verified."""

    wanted: Wanted
    name: str
    ends: datetime
    checks: frozenset[str] | None
    folder: run_artifacts.RunFolder
    report: RunReport
    built: bool = field(default=False)
    owned: bool = field(default=False)
    """Whether this run created the stack in the backend, not another run of the same name."""

    def failure(self) -> BaseException | None:
        """Run the phases up to the command. Return the error that ended a phase, or None."""
        try:
            wanted, bootable = self.wanted, boot_overlay.As() if self.wanted.boot else None
            with self._phase("up"):
                up_and_down.up(
                    self.name, sandbox=wanted.sandbox, yes=wanted.yes, bootable_as=bootable, created=self._own
                )
            self.built = True
            with self._phase("wait"):
                if wanted.boot:
                    sandbox_boot.boot(self.name, wanted.timeout, pods_only=self.checks is not None)
                else:
                    wait.wait(self.name, wanted.timeout)
            self._verify()
            if wanted.boot and self.checks is not None:
                with self._phase("wait"):  # for the machines that booted during verify
                    sandbox_boot.boot(self.name, wanted.timeout)
            with self._phase("command"), reached_api.for_command(self.name) as path:
                environment = {"KUBECONFIG": str(path), "MULLION_STACK": self.name}
                left = (self.ends - expiry.now()).total_seconds()
                run_command.run(self.wanted.command, environment, left, credentials=self.wanted.credentials)
        except (Exception, KeyboardInterrupt) as error:
            return error
        return None

    def _own(self) -> None:
        self.owned = True

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        print(f"\nmullion: {name} {self.name}", file=sys.stderr, flush=True)
        with self.report.phase(name):
            yield

    def _verify(self) -> None:
        with self.report.phase("verify") as phase:
            if self.checks is None:
                phase.skipped = "--verify none"
            elif target.in_sandbox(self.name) and not boot_site.api(self.name):
                phase.skipped = "this sandbox only simulates machines, so no pod can run"
            if phase.skipped:
                print(f"\nmullion: verify {self.name}: skipped: {phase.skipped}", file=sys.stderr, flush=True)
                return
            print(f"\nmullion: verify {self.name}", file=sys.stderr, flush=True)
            verify.run(
                self.name,
                kubeconfig=None,
                outside=[],
                image=None,
                timeout="10m",
                as_json_text=False,
                junit=self.folder.path / run_artifacts.VERIFY,
                suite=None,
                reboot=False,
                checks=self.checks or frozenset(),
            )

    def kept(self, duration: str) -> bool:
        """Keep the cluster for a duration from now, and print how to use it. Return False if it cannot be kept."""
        if not self.built:
            print("mullion: not kept, because it was not built completely", file=sys.stderr)
            return False
        try:
            until = expiry.now() + timedelta(seconds=extend.seconds("--keep-on-failure", duration))
            extend.expire(self.name, until, sandbox=self.wanted.sandbox, yes=True)
        except (Exception, KeyboardInterrupt) as error:
            print(f"mullion: not kept: {explained(error)[1]}", file=sys.stderr)
            return False
        self.report.kept_until = expiry.written(until)
        lines = [
            f"\nmullion: cluster {self.name} is kept until {expiry.written(until)}. To use it:",
            *(f"  {line}" for line in run_kept.ways_in(self.name)),
            f"To keep it longer: {target.command('extend', self.name, '1h')}",
            f"To remove it now: {target.command('down', self.name, '--yes')}",
        ]
        print("\n".join(lines), file=sys.stderr, flush=True)
        return True

    def removed(self) -> str:
        """Remove the cluster and its stack. Return why the cluster still exists, or an empty text."""
        if target.recall(self.name) is None:
            self._forget()
            return ""
        why = ""
        for left in reversed(range(TRIES)):
            try:
                with self._phase("down"):
                    up_and_down.down(self.name, sandbox=self.wanted.sandbox, yes=True, confirmed=None)
            except (Exception, KeyboardInterrupt) as error:
                why = explained(error)[1]
                if not left or not isinstance(error, Stop) or error.code is not Exit.FAILED:
                    break
                print(f"mullion: not removed: {why}; trying again", file=sys.stderr, flush=True)
                if not _paused():
                    break
            else:
                return ""
        return (
            f"cluster {self.name} still exists: {why}\nIt expires at {expiry.written(self.ends)}; "
            f"`{_reap(sandbox=self.wanted.sandbox)}` removes it then, "
            f"`{target.command('down', self.name, '--yes')}` now"
        )

    def _forget(self) -> None:
        """Delete the records of a stack without resources, also in the backend if this run created it there."""
        if self.owned and not self.wanted.sandbox:
            with suppress(Stop, SpecError, EngineError):
                up_and_down.down(self.name, sandbox=False, yes=True, confirmed=None)
        ephemeral.forget(self.name)


def _paused() -> bool:
    """Wait between two tries; return False if a signal ended the wait."""
    try:
        time.sleep(RETRY_SECONDS)
    except KeyboardInterrupt:
        return False
    return True


def _reap(*, sandbox: bool) -> str:
    return "mullion reap --yes" + (" --sandbox" if sandbox else "")
