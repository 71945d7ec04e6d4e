"""Windows' container networking outside Windows: two DLLs (C) pass each call to an emulator with state (Python).

computenetwork.dll has HCN, the second API; vmcompute.dll has HNSCall, the first. Real programs for Windows (flanneld,
kube-proxy, win-bridge, win-overlay) call them on machines of winpwsh. docs/windows-network.md: rules and sources.
A third DLL, unixsockets.dll, lets kubelet.exe start there with a runtime that is ready.
"""
