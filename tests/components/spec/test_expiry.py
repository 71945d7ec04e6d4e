"""When a temporary cluster ends."""

from datetime import datetime, timedelta, timezone

import pytest

from components.spec import expiry
from components.wiring.tags import label

CREATED = datetime(2027, 12, 24, 10, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("expires", "ends"),
    [
        ("8h", CREATED + timedelta(hours=8)),
        ("3d", CREATED + timedelta(days=3)),
        ("2027-12-25T18:00:00Z", datetime(2027, 12, 25, 18, 0, tzinfo=timezone.utc)),
        ("8 hours", None),
        ("2027-13-25T18:00:00Z", None),
        ("99999999999999d", None),
        ("", None),
    ],
)
def test_a_duration_counts_from_the_creation_and_a_time_is_itself(expires: str, ends: datetime | None) -> None:
    assert expiry.end(expires, CREATED) == ends


def test_a_duration_without_a_creation_has_no_end() -> None:
    assert expiry.end("8h", None) is None


def test_a_written_time_is_read_again_also_as_a_label_of_google_cloud() -> None:
    text = expiry.written(CREATED)
    assert text == "2027-12-24T10:00:00Z"
    assert expiry.moment(text) == CREATED
    assert expiry.moment(label(("mullion:expires", text))[1]) == CREATED
