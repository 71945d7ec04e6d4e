"""Google's Python clients, in a process that also has pulumi; tests import them from here.

pulumi ships a copy of google.rpc.Status, and protobuf allows one definition of a message per process. So Google's
clients use pulumi's copy, which must be in place before the first of them is imported.
"""

import sys
import warnings

from pulumi.runtime.proto import status_pb2

sys.modules.setdefault("google.rpc.status_pb2", status_pb2)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # at import they warn until when Google supports this Python
    from google.api_core import exceptions
    from google.cloud import compute_v1, secretmanager_v1

__all__ = ["compute_v1", "exceptions", "secretmanager_v1"]
