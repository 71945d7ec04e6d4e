"""Predicted times: until resources are created, the API answers, and all nodes are Ready."""

from components.plan import ClusterPlan, plan_cluster
from components.spec.models import ClusterSpec
from operations.commands import forecast
from operations.commands.forecast import API_SECONDS, BAKED_SECONDS, BOOT_SECONDS, JOIN_SECONDS, Times
from sandbox import clouds
from tests.components.spec.test_change_effects import SAMPLE

INSTANCE = "aws:ec2/instance:Instance"
MADE = clouds.seconds(INSTANCE, "create")
GONE = clouds.seconds(INSTANCE, "delete")


def planned() -> ClusterPlan:
    return plan_cluster("small", ClusterSpec.model_validate(SAMPLE))


def urn(component: str, machine: str) -> str:
    chain = f"mullion:index:MixedCluster$mullion:aws:{component}${INSTANCE}"
    return f"urn:pulumi:small::mullion::{chain}::small-{machine}"


PLANE, LINUX, WEB = urn("ControlPlane", "control-plane-0"), urn("Workers", "linux-0"), urn("Workers", "web-0")
NEXT = urn("Workers", "web-1")


def test_a_first_build_is_ready_when_the_slowest_node_is() -> None:
    times, path = forecast.first_build(planned(), [(PLANE, [], INSTANCE), (LINUX, [], INSTANCE), (WEB, [], INSTANCE)])
    baked = MADE + max(BAKED_SECONDS["windows"], API_SECONDS + JOIN_SECONDS)
    assert times == Times(MADE, MADE + API_SECONDS, MADE + BOOT_SECONDS["windows"], baked)
    assert baked < times.ready
    assert len(path) == 1


def test_a_worker_that_booted_before_the_api_answers_joins_after_it() -> None:
    times, _ = forecast.first_build(planned(), [(PLANE, [], INSTANCE), (LINUX, [], INSTANCE)])
    assert times.api is not None
    assert times.ready == times.api + JOIN_SECONDS
    assert times.baked is None, "no Windows machine boots"


def test_replaced_machines_of_a_pool_take_one_boot_after_the_other() -> None:
    waits = [(PLANE, [], INSTANCE), (WEB, [PLANE], INSTANCE), (NEXT, [WEB], INSTANCE)]
    times = forecast.change(planned(), waits, {PLANE: "same", WEB: "replace", NEXT: "replace"})
    stock, baked = (GONE + MADE + seconds["windows"] for seconds in (BOOT_SECONDS, BAKED_SECONDS))
    assert times == Times(2 * stock - BOOT_SECONDS["windows"], None, 2 * stock, 2 * baked)


def test_removed_resources_count_too() -> None:
    assert forecast.change(planned(), [], {WEB: "delete"}).ready == GONE


BUCKET, GRANT = "gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"


def test_grants_on_a_bucket_are_made_one_after_the_other() -> None:
    stores = [f"urn:pulumi:small::mullion::{BUCKET}::{name}" for name in ("bundles", "snapshots")]
    grants = [(f"urn:pulumi:small::mullion::{GRANT}::{i}", [stores[i == 0]], GRANT) for i in range(191)]
    waits = [*((store, [], BUCKET) for store in stores), *grants]
    made, _ = forecast.first_build(planned(), waits)
    one = clouds.seconds(GRANT, "create")
    assert made.created == clouds.seconds(BUCKET, "create") + 190 * one
    assert 12 * 60 < made.created < 14 * 60
    some = {urn: "create" for urn, _, _ in grants[-2:]}
    assert forecast.change(planned(), waits, some).ready == 2 * one
    assert forecast.change(planned(), [], {urn: "delete" for urn, _, _ in grants}).ready == 191 * one


def test_the_sentence_names_three_times() -> None:
    assert Times(144, 455, 1050).sentence("aws") == (
        "Predicted, on real AWS: resources created after 2 min 24 s, API after about 8 min, "
        "all nodes Ready after about 18 min"
    )
    assert Times(144, 455, 1050, 630).sentence("aws").endswith("after about 18 min (11 min with baked Windows images)")
    assert "API reachable all the time" in Times(144, None, 1050).sentence("gcp")
