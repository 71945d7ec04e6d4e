"""Prometheus' text format, as its own client library reads it."""

from prometheus_client.parser import text_string_to_metric_families


def parsed(text: str) -> dict[str, float]:
    """Return the value of each sample, by name and labels as written: `name` or `name{label="value"}`."""
    found = dict[str, float]()
    for family in text_string_to_metric_families(text):
        assert family.documentation, f"{family.name} says nothing"
        assert family.type == "gauge"
        for each in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in each.labels.items())
            found[f"{each.name}{{{labels}}}" if labels else each.name] = each.value
    return found
