"""The start of a case as a date."""

import datetime


def start_of_case(start_time: str) -> datetime.datetime:
    """The moment at which the time of a case is 0, Universal Time.

    Raises:
        ValueError: not an ISO 8601 time.
    """
    try:
        start = datetime.datetime.fromisoformat(start_time)
    except (TypeError, ValueError):
        raise ValueError(
            f"start_time: expected an ISO 8601 time, got {start_time!r}; write it like 2011-03-21T00:00:00."
        ) from None
    return start if start.tzinfo is None else start.astimezone(datetime.UTC).replace(tzinfo=None)
