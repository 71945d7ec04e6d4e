"""`egress: none`: what machines could not reach."""

from tests.components.spec.documents import Case, Change, azure, both, linux, net, plane, web

_PROXY: Change = {"proxy": {"https": "http://10.0.0.1:3128", "http": "http://10.0.0.1:3128"}}
_NO_HTTP: Change = {"proxy": {"https": "http://10.0.0.1:3128"}}
_MIRROR: Change = {"artifacts": {"mirror": "https://mirror.example.com"}}
_NONE = net(egress="none")
_REGISTRIES = {host: ["https://images.example.com"] for host in ("registry.k8s.io", "ghcr.io")}
_EVERY = {"containerd": {"mirrors": {"*": ["https://images.example.com"]}}}
_IMAGES = both(plane(containerd={"mirrors": _REGISTRIES}), linux(**_EVERY), web(**_EVERY))
_INSIDE = both(_NONE, _MIRROR, _IMAGES)
_PULLED = ["mcr.microsoft.com/windows/servercore:ltsc2022"]
_HOST = {host: urls for host, urls in _REGISTRIES.items() if host == "ghcr.io"}
_ISSUER: Change = {"api": {"oidc": {"issuer": "https://login.example.com", "client": "kubernetes"}}}
_PINNED: Change = {"images": {"windows-2022": "ami-0123456789abcdef0"}}
_BOTH_PINNED: Change = {"images": {"ubuntu-24.04": "ami-0123456789abcdef1", **_PINNED["images"]}}

CASES = (
    Case("no-egress-azure-apis", azure(both(_NONE, _MIRROR, _IMAGES)), "proxy.https", azure(both(_NONE, _PROXY))),
    Case(
        "no-egress-azure-apis",
        azure(both(_NONE, _PROXY, {"proxy": {"no_proxy": [".microsoftonline.com"]}})),
        "proxy.no_proxy.0",
        azure(both(_NONE, _PROXY, {"proxy": {"no_proxy": [".azure.com"]}})),
    ),
    Case("no-egress-activation", azure(both(_NONE, _PROXY)), "pools.web", both(_NONE, _PROXY)),
    *(
        Case("no-egress-region", both(_NONE, _PROXY), "network.egress", _PROXY, config={"aws:region": region})
        for region in ("cn-north-1", "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1", "eusc-de-east-1")
    ),
    *(
        Case(
            "no-egress-region",
            azure(both(_NONE, _PROXY)),
            "network.egress",
            azure(_PROXY),
            config={"azure-native:location": region},
        )
        for region in ("usgovvirginia", "usdodcentral", "chinanorth3")
    ),
    Case(
        "no-egress-public-balancer",
        both(_NONE, _PROXY, {"api": {"access": "public", "allow": ["198.51.99.0/24"]}}),
        "api.access",
        both(_NONE, _PROXY, {"api": {"access": "private"}}),
    ),
    Case("no-egress-downloads", both(_NONE, _IMAGES), "pools.web", _INSIDE),
    Case("no-egress-downloads", both(_NONE, _IMAGES, _PINNED), "control_plane", both(_NONE, _IMAGES, _BOTH_PINNED)),
    Case(
        "no-egress-images",
        both(_NONE, _MIRROR, plane(containerd={"mirrors": _HOST}), linux(**_EVERY), web(**_EVERY)),
        "control_plane.containerd.mirrors",
        _INSIDE,
    ),
    Case(
        "no-egress-images",
        both(
            _NONE, _MIRROR, plane(**_EVERY), linux(**_EVERY), web(pre_pull=_PULLED, containerd={"mirrors": _REGISTRIES})
        ),
        "pools.web.containerd.mirrors",
        both(_INSIDE, web(pre_pull=_PULLED)),
    ),
    Case("no-egress-packages", both(_INSIDE, linux(os="debian-12")), "pools.linux.os", _INSIDE),
    Case(
        "no-egress-packages",
        both(_NONE, _NO_HTTP, linux(os="debian-12")),
        "pools.linux.os",
        both(_NONE, _PROXY, linux(os="debian-12")),
    ),
    Case("no-egress-sign-in", both(_NONE, _PROXY, _ISSUER), "api.oidc.issuer", _ISSUER),
)
