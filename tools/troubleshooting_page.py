"""Renders docs/troubleshooting.md: common problems of Windows nodes, and the part of Mullion that handles each."""

from dataclasses import dataclass

HEADER = """# Troubleshooting Windows nodes

Written by `make generate` from `tools/troubleshooting_page.py`.

The problems that the Kubernetes documentation lists for Windows nodes, and what Mullion does about each: it is
prevented by the plan, repaired at the next boot (the executor tests every step again), or reported with a number of
[errors.md](errors.md). A test checks that the steps, numbers, checks and tests named here exist.

A machine's last result is in its status record and in `C:\\ProgramData\\mullion\\result.json`; `mullion logs STACK
NODE` fetches its logs. `node.ps1 -Check` on the machine shows the differences from its plan and changes nothing.

"""


@dataclass(frozen=True)
class Item:
    """A problem. `how` begins with the outcome: prevented, repaired, reported, ..."""

    title: str
    needs: str
    """Requirement ids, separated by spaces."""
    how: str
    steps: tuple[str, ...] = ()
    """Steps of a Windows plan that prevent or repair the problem."""
    errors: tuple[str, ...] = ()
    """Names in errors.json that report the problem."""
    checks: tuple[str, ...] = ()
    """Ids of checks that refuse the stack file or warn."""
    proofs: tuple[str, ...] = ()
    """Tests that prove it, as file::test, or file::row if the test is a table; paths are relative to tests/."""


_SERVICES = ("runtime-down", "kubelet-down", "flanneld-down", "proxy-down")

ITEMS: tuple[Item, ...] = (
    Item(
        "Has the node's set-up finished?",
        "OPS-01",
        "Reported: the status record says `registered` once all services run and the Node object is as planned, `ready`"
        " once it is Ready; each missing part has its own error number.",
        steps=("kubelet-runs", "flanneld-runs", "kube-proxy-runs", "node-registered", "node-ready"),
        errors=(*_SERVICES, "node-unregistered", "node-not-ready"),
        proofs=(
            "windows_plans/test_whole.py::test_a_node_becomes_ready_with_one_restart_and_a_second_run_sets_nothing_and_its_state_equals_its_golden",
            "windows_plans/events.py::the kubelet dies (OPS-01)",
        ),
    ),
    Item(
        "Do the node's programs run as services, and restart after a crash or a boot?",
        "SRV-03 SRV-04 SRV-05 SRV-06 SRV-07",
        "Prevented: all are services with dependencies, which Windows restarts 10 s after a failure; a deleted service"
        " is created again.",
        steps=("containerd", "kubelet", "flanneld", "kube-proxy"),
        errors=("service-failed",),
        proofs=(
            "components/node/test_windows.py::test_srv_07_order_is_runtime_kubelet_flanneld_source_vip_cni_kube_proxy",
            "conformance/cases/windows_parts.yaml::a deleted service with open handles",
        ),
    ),
    Item(
        "Pods have no network: the hypervisor or cloud drops frames with their addresses (MAC spoofing)",
        "NET-05",
        "Prevented: with an overlay no packet has a pod's address outside its node; with l2bridge the cloud routes each"
        " node's range to it, and does not check source addresses of these machines.",
        proofs=(
            "components/node/test_windows.py::test_net_05_with_l2bridge_windows_has_the_planned_range_and_no_flanneld",
            "sandbox/aws/test_simulated_boot.py::test_net_05_a_machine_whose_pods_would_be_dropped_never_gets_ready",
        ),
    ),
    Item(
        "Pods on Windows Server 2022 have no network at all, and sockets fail with `General failure`",
        "NET-05",
        "Reported by a warning of the plan: updates of July to September 2024 (20348.2582 to before 20348.2762) break"
        " it (microsoft/Windows-Containers issue 516); the check `windows-image-broken` names pinned images that may"
        " have one. Images of 20348.261 (September 2021) and the next months also lose NodePorts with overlay, and pods"
        " with l2bridge and direct server return (issue 204, which names no fixed build). Pin a newer image, or none.",
        checks=("windows-image-broken",),
        proofs=("components/releases/test_releases.py::test_an_image_that_tells_its_updates_is_judged_by_them",),
    ),
    Item(
        "Pods cannot ping the outside",
        "NET-10 NET-11 SMK-09",
        "A limit of Windows: only TCP and UDP are translated, so test with curl. Traffic inside the cluster is never"
        " translated: the CNI file excepts the ranges of pods and Services, with l2bridge also of nodes.",
        steps=("cni-config",),
        proofs=(
            "components/node/test_windows.py::test_net_09_the_cni_file_is_hcn_v2_with_the_cluster_ranges",
            "lab/test_cni.py::test_net_10_every_form_of_both_networks_is_accepted",
        ),
    ),
    Item(
        "A NodePort or a Service's address does not answer on the Windows node itself",
        "SMK-11",
        "A limit of Windows Server 2019: connect from another node, or from a pod. Mullion needs no such connection.",
    ),
    Item(
        "vNICs and HNS endpoints of containers are deleted",
        "SRV-12",
        "Prevented: kubelet, kube-proxy and flanneld get the same node name, the planned one.",
        steps=("kubelet", "kube-proxy-config", "flanneld", "hostname"),
        proofs=("components/node/test_windows.py::test_srv_12_kubelet_kube_proxy_and_flanneld_have_one_node_name",),
    ),
    Item(
        "A node that joins again with another pod range has the old network",
        "OPS-04",
        "Repaired at boot: network, leases, subnet file and source VIP of another range are removed before flanneld"
        " starts.",
        steps=("pod-range", "stale-network", "source-vip"),
        proofs=(
            "windows_plans/events.py::the pod range changes (OPS-04)",
            "windows_plans/events.py::the source VIP is of an earlier range (OPS-04)",
        ),
    ),
    Item(
        "With l2bridge a node is Ready after a boot, but its pods reach nothing",
        "NET-05",
        "Repaired at each boot: the bridge is created again, because HNS keeps the old one on the previous adapter,"
        " and the machine may have a new adapter (Azure, after deallocation).",
        steps=("stale-network", "hns-network"),
        proofs=("lab/hns/test_steps.py::test_a_boot_moves_the_bridge_to_the_adapter_that_the_machine_has_then",),
    ),
    Item(
        "With l2bridge and dsr: false a pod gets no answer of a Service whose pods are on another node",
        "NET-05",
        "Prevented: the answer comes to the node's own adapter and gets the Service's address as its source; the route"
        " of that adapter to the pod range keeps it on the machine; outside, a cloud can drop it.",
        steps=("hns-network",),
        proofs=(
            "lab_programs/test_hns_walk.py::test_an_answer_without_direct_server_return_needs_the_adapters_route",
            "lab/hns/test_bridge.py::test_answers_of_a_service_on_another_node_come_back_to_the_pod",
        ),
    ),
    Item(
        "The kubelet's certificate has expired, is lost, or is another node's",
        "CP-05",
        "Repaired at boot, and within minutes once it has expired: the machine derives a new token and joins again.",
        steps=("bootstrap", "joined", "node-certificate"),
        errors=("secret-unavailable", "node-unregistered"),
        proofs=("windows_plans/events.py::the certificate is lost",),
    ),
    Item(
        "flanneld waits for its network for ever",
        "OPS-05",
        "Repaired: flanneld is restarted a few times; else reported. `panic: ... nil pointer dereference` at"
        " its first start means that HNS named no management address within 5 s (flannel's device_windows.go): nssm"
        " starts it again.",
        steps=("overlay-network",),
        errors=("overlay-missing", "adapter-missing"),
        proofs=(
            "windows_plans/events.py::flanneld hangs once (OPS-05)",
            "windows_plans/events.py::flanneld hangs for ever (OPS-05, OPS-07)",
        ),
    ),
    Item(
        "/run/flannel/subnet.env is missing, or belongs to another cluster",
        "OPS-06",
        "Repaired or reported: it must fit the plan and the node's range before the CNI file is written.",
        steps=("overlay-network",),
        errors=("overlay-missing",),
        proofs=("windows_plans/events.py::subnet.env is another cluster's (OPS-06)",),
    ),
    Item(
        "No network adapter is found when a pod starts",
        "OPS-07 SRV-01",
        "Reported: the node's adapter is found by its address, never by its name, and the virtual adapter must exist."
        " On Docker nodes Docker's own NAT network is removed, because its adapter could be taken for the virtual one.",
        steps=("node-address", "stale-network", "overlay-network"),
        errors=("adapter-missing", "wait-timeout"),
        proofs=(
            "windows_plans/events.py::flanneld hangs for ever (OPS-05, OPS-07)",
            "windows_plans/events.py::the address comes back late (NET-14)",
            "windows_plans/events.py::another program has a NAT network (NET-02)",
        ),
    ),
    Item(
        "The metadata service does not answer once pods run",
        "NET-14",
        "Repaired, also at each boot: the first HNS network moves the machine's address to another adapter, but not the"
        " route to the metadata service; the executor sets the route again, also while it waits and before it retries.",
        steps=("metadata-route-before-kubelet", "metadata-route", "metadata-route-holds"),
        proofs=(
            "windows_plans/events.py::the metadata route is gone",
            "conformance/cases/pods.yaml::a route that HNS removes before a step is tried again is set first",
            "conformance/cases/pods.yaml::a route that HNS removes while flanneld is awaited is set again",
        ),
    ),
    Item(
        "Pods stay in ContainerCreating",
        "RUN-07 RUN-08 RUN-09 OS-07",
        "Prevented or reported: the pause image fits the version and is pulled before the node joins; its Windows build"
        " is compared with the machine's, and the machine's with the plan's.",
        steps=("pause-image", "build"),
        errors=("image-refused", "build-refused"),
        checks=("several-windows-builds", "windows-before-kubernetes"),
        proofs=(
            "conformance/cases/joining.yaml::an image of another build fails the run with both builds",
            "windows_plans/events.py::Windows has another build (OS-05)",
        ),
    ),
    Item(
        "DNS names do not resolve in pods",
        "SVC-10 NET-12",
        "Prevented: the kubelet gives pods the cluster's DNS address, and no resolv.conf is mapped. Test with"
        " Resolve-DnsName: nslookup does not use the search list on Windows.",
        steps=("kubelet-config",),
        proofs=("components/node/test_windows.py::test_res_04_the_kubelet_has_explicit_empty_enforcement_fields",),
    ),
    Item(
        "kubectl port-forward fails (wincat)",
        "RUN-10 SMK-14",
        "Prevented: every pause image that Mullion plans contains wincat, and every supported Kubernetes uses it.",
        steps=("pause-image",),
        proofs=("components/releases/test_releases.py::test_run_07_the_pause_image_follows_minor_and_build",),
    ),
    Item(
        "What is the pause container?",
        "RUN-07",
        "It holds a pod's network. A table chooses its image, and the plan writes it into the runtime's configuration.",
        steps=("pause-image", "containerd-config"),
        proofs=("components/releases/test_releases.py::test_run_07_the_pause_image_follows_minor_and_build",),
    ),
    Item(
        "The node is behind a web proxy",
        "OPS-08",
        "Prevented: `proxy` is set for downloads, runtime and kubelet before the first download; `no_proxy` contains"
        " the cluster's own ranges, names and metadata in addition to yours.",
        steps=("containerd", "kubelet"),
        errors=("download-failed",),
        checks=("proxy-address", "proxy-direct"),
        proofs=(
            "components/node/test_egress.py::test_ops_08_windows_sets_machine_variables_before_the_restart_and_the_first_download",
        ),
    ),
    Item(
        "The node has DiskPressure soon after it joined",
        "RES-07",
        "Prevented: the partition of C: is extended to its disk before the page file and the downloads; too little free"
        " space is reported before anything is installed.",
        steps=("system-drive",),
        errors=("drive-small", "disk-full"),
        checks=("windows-disk-small",),
        proofs=(
            "conformance/cases/windows.yaml::a drive whose partition is smaller than its disk is extended once",
            "conformance/cases/windows.yaml::a drive without enough free space fails the run with both sizes",
        ),
    ),
    Item(
        "Windows uses no page file",
        "RES-07",
        "Repaired at boot, with a restart; reported if Windows cannot create one.",
        steps=("pagefile", "page-file-in-use"),
        errors=("probe-failed",),
        proofs=("conformance/cases/windows.yaml::a page file of a fixed size replaces an automatic one",),
    ),
    Item(
        "Where are the logs, and what belongs in a bug report?",
        "OPS-02 OPS-03",
        "`mullion logs STACK NODE` fetches all of it, redacted; logs are in C:\\var\\log and are rotated.",
        steps=("collect-logs", "rotate-logs"),
        proofs=(
            "cloud_init/test_windows_logs.py::test_ops_02_a_request_gets_an_archive_of_all_sources_without_a_planted_secret",
        ),
    ),
)


def render() -> str:
    """Return the page, in Markdown."""
    lines = ["| problem | what Mullion does | steps | errors | checks | requirements | tests |", f"|{'---|' * 7}"]
    for item in ITEMS:
        cells = (item.title, item.how, _code(item.steps), _code(item.errors), _code(item.checks), item.needs)
        cells += (_code(item.proofs),)
        lines.append(f"| {' | '.join(cells)} |")
    return HEADER + "\n".join(lines) + "\n"


def _code(names: tuple[str, ...]) -> str:
    return " ".join(f"`{name}`" for name in names)
