"""Starts the portal: `python -m portal`; `serve` and `worker` alone; other words go to Django's commands."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from types import FrameType
from typing import Any

import django
from django.core.management import call_command, execute_from_command_line

THREADS = 8
"""Threads of the web server."""
LOOPBACK = "127.0.0.1"


def main(words: list[str]) -> None:
    """Run what the words name: `all PORT`, `serve PORT`, `worker`, or a command of Django.

    `worker` takes jobs and kubeconfigs, `worker inquiries` kubeconfigs alone, `worker reports` tests and logs alone.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    if not words or words[0] not in ("all", "serve", "worker"):
        execute_from_command_line(["python -m portal", *words])
        return
    django.setup()
    if words[0] == "worker":
        from django.conf import settings

        from portal import notice_ways

        notice_ways.configured()
        only = {"inquiries": settings.INQUIRIES, "reports": settings.REPORTS}
        queues = only[words[1]] if words[1:] else f"{settings.INQUIRIES},{settings.JOBS}"
        call_command("portal_worker", queue_name=queues, startup_delay=False, reload=False)
    elif words[0] == "serve":
        _serve(int(words[1]))
    else:
        _all(int(words[1]))


def _serve(port: int) -> None:
    import waitress
    from django.core.wsgi import get_wsgi_application

    from portal import notice_ways, oidc

    oidc.configured()  # wrong settings end the start, not the first sign-in
    notice_ways.configured()

    waitress.serve(get_wsgi_application(), **options(port))


def options(port: int) -> dict[str, Any]:
    """Return the options of the web server. It trusts X-Forwarded headers only behind a proxy here."""
    found: dict[str, Any] = {"listen": f"{LOOPBACK}:{port}", "threads": THREADS, "ident": ""}
    if os.environ.get("MULLION_PORTAL_BEHIND_PROXY"):
        found["trusted_proxy"] = LOOPBACK
        found["trusted_proxy_headers"] = {"x-forwarded-for", "x-forwarded-proto"}
    return found


def _all(port: int) -> None:
    """Set up the database with the demo, then run the web server here and three workers beside it until Ctrl-C.

    The second and third take inquiries alone, which would else wait until a job ends, or make jobs wait.
    """
    from portal import demo

    call_command("migrate", verbosity=0)
    signing_in = demo.begin()
    worker = [sys.executable, "-m", "portal", "worker"]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(subprocess.Popen([*worker, *more])) for more in ((), ("inquiries",), ("reports",))
        ]
        signal.signal(signal.SIGTERM, _end)
        print(f"The portal runs at http://{LOOPBACK}:{port} until Ctrl-C. Its clusters are built in the sandbox.")
        print(signing_in, flush=True)
        try:
            _serve(port)
        except KeyboardInterrupt:
            pass
        finally:
            for each in workers:
                each.terminate()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main(sys.argv[1:])
