"""`up` sends the engine no data that nobody reads."""

from unittest.mock import Mock

import pytest
from pulumi import log

from operations.recorder.lean import lean
from operations.recorder.recorder import record
from operations.stacks import stack_files


def test_resources_are_registered_without_the_stack_traces_that_would_be_half_of_the_state() -> None:
    recording = record("aws-ci", stack_files.config("aws-ci"))
    assert len(recording.resources) > 50
    assert [key for key, each in recording.resources.items() if each.request.stackTrace.frames] == []
    assert [key for key, each in recording.resources.items() if each.request.sourcePosition.uri] == []


def test_warnings_are_sent_to_the_engine_and_debug_messages_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Mock()
    monkeypatch.setattr(log, "get_engine", lambda: engine)
    lean()
    log.debug("dropped", stream_id=1)
    assert engine.Log.call_count == 0
    log.warn("kept")
    assert engine.Log.call_count == 1
