"""The comments of GitLab's merge requests and of pull requests in Azure Repos, on loopback."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "of-the-project"
NOTES = "/api/v4/projects/11/merge_requests/7/notes"
THREADS = "/team/p-1/_apis/git/repositories/r-1/pullRequests/7/threads"
STRANGER = "stranger"


@dataclass
class Comments:
    """Comments that a service holds: text and author, oldest first. variables: of a job with a token."""

    variables: dict[str, str]
    written: list[dict[str, str]] = field(default_factory=list)
    threads: list[Any] = field(default_factory=list)
    """Bodies of the requests that began a thread of Azure Repos."""


class _Handler(BaseHTTPRequestHandler):
    comments: Comments

    def do_GET(self) -> None:
        assert self._path() in (NOTES, THREADS)
        held = list(enumerate(self.comments.written))
        if self._path() == NOTES:
            query = parse_qs(urlsplit(self.path).query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            shown = held[(page - 1) * size : page * size]
            self._answer(200, [{"id": index, "body": each["text"]} for index, each in shown])
            return
        # a thread without content, as Azure writes for votes and pushes, comes first
        threads = [{"id": 100 + index, "comments": [{"id": 1, "content": each["text"]}]} for index, each in held]
        self._answer(200, {"value": [{"id": 99, "comments": [{"id": 1}]}, *threads]})

    def do_POST(self) -> None:
        assert self._path() in (NOTES, THREADS)
        body = self._body()
        if body is None:
            return
        self.comments.threads.append(body)
        text = body["body"] if self._path() == NOTES else body["comments"][0]["content"]
        self.comments.written.append({"text": text, "author": TOKEN})
        self._answer(201, {"id": 1})

    def do_PUT(self) -> None:
        self._update(int(self._path().removeprefix(f"{NOTES}/")), "body")

    def do_PATCH(self) -> None:
        thread, comment = self._path().removeprefix(f"{THREADS}/").split("/comments/")
        assert comment == "1"
        self._update(int(thread) - 100, "content")

    def _update(self, index: int, key: str) -> None:
        body, comment = self._body(), self.comments.written[index]
        if body is None:
            return
        if comment["author"] == STRANGER:
            self._answer(403, {"message": "403 Forbidden"})
            return
        comment["text"] = body[key]
        self._answer(200, {"id": index})

    def _path(self) -> str:
        return urlsplit(self.path).path

    def _body(self) -> Any:
        """Return the body of a request; None, after the refusal, if its token is wrong."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = self.headers["PRIVATE-TOKEN"] or self.headers["Authorization"]
        if given in (TOKEN, f"Bearer {TOKEN}"):
            return body
        self._answer(401, {"message": "401 Unauthorized"})
        return None

    def _answer(self, code: int, document: Any) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Comments]:
    """Serve both APIs; yield the comments, with the variables of jobs of both services."""
    comments = Comments({})
    handler = type("Handler", (_Handler,), {"comments": comments})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    comments.variables |= {"CI_API_V4_URL": f"{address}/api/v4", "CI_PROJECT_ID": "11", "CI_MERGE_REQUEST_IID": "7"}
    comments.variables |= {"SYSTEM_COLLECTIONURI": f"{address}/team/", "SYSTEM_TEAMPROJECTID": "p-1"}
    comments.variables |= {"BUILD_REPOSITORY_ID": "r-1", "BUILD_REPOSITORY_PROVIDER": "TfsGit"}
    comments.variables |= {"SYSTEM_PULLREQUEST_PULLREQUESTID": "7"}
    comments.variables |= {"COMMENT_TOKEN": TOKEN, "SYSTEM_ACCESSTOKEN": TOKEN, "System.AccessToken": TOKEN}
    try:
        yield comments
    finally:
        server.shutdown()
        server.server_close()
