"""Field names of the configuration documents that users may add to, per Kubernetes minor.

Read from the json tags of k8s.io/kubelet config/v1beta1, k8s.io/kube-proxy config/v1alpha1
(v0.31.0 to v0.37.0) and k8s.io/kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4 (1.31.14 to 1.37.1).
A row for 1.20 to 1.30 needs: the names it lacks or has besides its neighbour, in CHANGES, and for
kubeadm a base list of its own API version (v1beta2 to 1.21, v1beta3 to 1.30).
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


KUBELET = _names(
    """
    address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS
    clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
    containerLogMaxWorkers containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota
    cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod enableContentionProfiling
    enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler
    enableServer enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst eventRecordQPS
    evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft
    evictionSoftGracePeriod failCgroupV1 failSwapOn featureGates fileCheckFrequency hairpinMode healthzBindAddress
    healthzPort httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent imageMaximumGCAge
    imageMinimumGCAge imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification
    kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups localStorageCapacityIsolation logging
    makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls maxPods memoryManagerPolicy memorySwap
    memoryThrottlingFactor nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency
    nodeStatusUpdateFrequency oomScoreAdj podCIDR podLogsDir podPidsLimit podsPerCore port protectKernelDefaults
    providerID qosReserved readOnlyPort registerNode registerWithTaints registryBurst registryPullQPS
    reservedMemory reservedSystemCPUs resolvConf rotateCertificates runOnce runtimeRequestTimeout seccompDefault
    serializeImagePulls serverTLSBootstrap showHiddenMetricsForVersion shutdownGracePeriod
    shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods staticPodPath staticPodURL staticPodURLHeader
    streamingConnectionIdleTimeout syncFrequency systemCgroups systemReserved systemReservedCgroup tlsCertFile
    tlsCipherSuites tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions
    topologyManagerScope tracing volumePluginDir volumeStatsAggPeriod
    """
)

KUBE_PROXY = _names(
    """
    bindAddress bindAddressHardFail clientConnection clusterCIDR configSyncPeriod conntrack detectLocal
    detectLocalMode enableProfiling featureGates healthzBindAddress hostnameOverride iptables ipvs logging
    metricsBindAddress mode nftables nodePortAddresses oomScoreAdj portRange showHiddenMetricsForVersion
    windowsRunAsService winkernel
    """
)

CLUSTER = _names(
    """
    apiServer caCertificateValidityPeriod certificateValidityPeriod certificatesDir clusterName
    controlPlaneEndpoint controllerManager dns encryptionAlgorithm etcd featureGates imageRepository
    kubernetesVersion networking proxy scheduler
    """
)

INIT = _names(
    """
    bootstrapTokens certificateKey dryRun localAPIEndpoint nodeRegistration patches skipPhases timeouts
    """
)

JOIN = _names(
    """
    caCertPath controlPlane discovery dryRun nodeRegistration patches skipPhases timeouts
    """
)

CHANGES: dict[str, dict[str, frozenset[str]]] = {
    "kubelet": {
        "1.32": frozenset({"crashLoopBackOff", "singleProcessOOMKill"}),
        "1.33": frozenset(
            {
                "imagePullCredentialsVerificationPolicy",
                "mergeDefaultEvictionSettings",
                "preloadedImagesVerificationAllowlist",
                "userNamespaces",
            }
        ),
        "1.36": frozenset({"memoryReservationPolicy", "tlsCurvePreferences"}),
        "1.37": frozenset({"defaultPodSysctls"}),
    },
}
"""Names added by a minor; none was removed from 1.31 to 1.37, and the other documents did not change."""

KINDS: dict[str, dict[str, frozenset[str]]] = {
    "kubelet": {
        "any": _names(
            """
            logging.flushFrequency logging.options.json.infoBufferSize logging.options.text.infoBufferSize
            """
        ),
        "bool": _names(
            """
            authentication.anonymous.enabled authentication.webhook.enabled cgroupsPerQOS cpuCFSQuota
            enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
            enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery failCgroupV1 failSwapOn
            kernelMemcgNotification localStorageCapacityIsolation logging.options.json.splitStream
            logging.options.text.splitStream makeIPTablesUtilChains mergeDefaultEvictionSettings
            protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault serializeImagePulls
            serverTLSBootstrap singleProcessOOMKill
            """
        ),
        "bool-map": _names(
            """
            featureGates
            """
        ),
        "count": _names(
            """
            containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS healthzPort
            imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit
            kubeAPIBurst kubeAPIQPS logging.verbosity maxOpenFiles maxParallelImagePulls maxPods
            nodeLeaseDurationSeconds podsPerCore port readOnlyPort registryBurst registryPullQPS
            tracing.samplingRatePerMillion userNamespaces.idsPerPod
            """
        ),
        "duration": _names(
            """
            authentication.webhook.cacheTTL authorization.webhook.cacheAuthorizedTTL
            authorization.webhook.cacheUnauthorizedTTL containerLogMonitorInterval cpuCFSQuotaPeriod
            cpuManagerReconcilePeriod crashLoopBackOff.maxContainerRestartPeriod evictionPressureTransitionPeriod
            fileCheckFrequency httpCheckFrequency imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency
            nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod shutdownGracePeriodCriticalPods
            streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod
            """
        ),
        "int": _names(
            """
            evictionMaxPodGracePeriod nodeStatusMaxImages oomScoreAdj podPidsLimit
            """
        ),
        "list": _names(
            """
            logging.vmodule registerWithTaints reservedMemory shutdownGracePeriodByPodPriority tlsCurvePreferences
            """
        ),
        "map": _names(
            """
            staticPodURLHeader
            """
        ),
        "number": _names(
            """
            memoryThrottlingFactor
            """
        ),
        "object": _names(
            """
            authentication authentication.anonymous authentication.webhook authentication.x509 authorization
            authorization.webhook crashLoopBackOff logging logging.options logging.options.json logging.options.text
            memorySwap tracing userNamespaces
            """
        ),
        "text": _names(
            """
            address authentication.x509.clientCAFile authorization.mode cgroupDriver cgroupRoot clusterDomain
            configMapAndSecretChangeDetectionStrategy containerLogMaxSize containerRuntimeEndpoint contentType
            cpuManagerPolicy hairpinMode healthzBindAddress imagePullCredentialsVerificationPolicy
            imageServiceEndpoint kubeReservedCgroup kubeletCgroups logging.format memoryManagerPolicy
            memoryReservationPolicy memorySwap.swapBehavior podCIDR podLogsDir providerID reservedSystemCPUs
            resolvConf showHiddenMetricsForVersion staticPodPath staticPodURL systemCgroups systemReservedCgroup
            tlsCertFile tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy topologyManagerScope tracing.endpoint
            volumePluginDir
            """
        ),
        "text-map": _names(
            """
            cpuManagerPolicyOptions defaultPodSysctls evictionHard evictionMinimumReclaim evictionSoft
            evictionSoftGracePeriod kubeReserved qosReserved systemReserved topologyManagerPolicyOptions
            """
        ),
        "texts": _names(
            """
            allowedUnsafeSysctls clusterDNS enforceNodeAllocatable preloadedImagesVerificationAllowlist
            tlsCipherSuites
            """
        ),
    },
    "kube-proxy": {
        "any": _names(
            """
            logging.flushFrequency logging.options.json.infoBufferSize logging.options.text.infoBufferSize
            """
        ),
        "bool": _names(
            """
            bindAddressHardFail conntrack.tcpBeLiberal enableProfiling iptables.localhostNodePorts
            iptables.masqueradeAll ipvs.strictARP logging.options.json.splitStream logging.options.text.splitStream
            nftables.masqueradeAll windowsRunAsService winkernel.enableDSR winkernel.forwardHealthCheckVip
            """
        ),
        "bool-map": _names(
            """
            featureGates
            """
        ),
        "count": _names(
            """
            clientConnection.burst conntrack.maxPerCore conntrack.min iptables.masqueradeBit logging.verbosity
            nftables.masqueradeBit
            """
        ),
        "duration": _names(
            """
            configSyncPeriod conntrack.tcpCloseWaitTimeout conntrack.tcpEstablishedTimeout
            conntrack.udpStreamTimeout conntrack.udpTimeout iptables.minSyncPeriod iptables.syncPeriod
            ipvs.minSyncPeriod ipvs.syncPeriod ipvs.tcpFinTimeout ipvs.tcpTimeout ipvs.udpTimeout
            nftables.minSyncPeriod nftables.syncPeriod
            """
        ),
        "int": _names(
            """
            oomScoreAdj
            """
        ),
        "list": _names(
            """
            logging.vmodule
            """
        ),
        "number": _names(
            """
            clientConnection.qps
            """
        ),
        "object": _names(
            """
            clientConnection conntrack detectLocal iptables ipvs logging logging.options logging.options.json
            logging.options.text nftables winkernel
            """
        ),
        "text": _names(
            """
            bindAddress clientConnection.acceptContentTypes clientConnection.contentType clientConnection.kubeconfig
            clusterCIDR detectLocal.bridgeInterface detectLocal.interfaceNamePrefix detectLocalMode
            healthzBindAddress hostnameOverride ipvs.scheduler logging.format metricsBindAddress mode portRange
            showHiddenMetricsForVersion winkernel.networkName winkernel.rootHnsEndpointName winkernel.sourceVip
            """
        ),
        "texts": _names(
            """
            ipvs.excludeCIDRs nodePortAddresses
            """
        ),
    },
}
"""By document: what each field takes, nested ones with dots (json tags of v0.37.0).

count is a whole number that may not be negative; any is not judged.
"""

CONTAINERD = _names(
    """
    version root state temp grpc ttrpc debug metrics disabled_plugins required_plugins plugins oom_score cgroup
    proxy_plugins timeouts imports stream_processors
    """
)
"""Top-level keys of containerd's config.toml (containerd v2.2.1 cmd/containerd/server/config, the same in 1.7)."""

SET_BY_US: dict[str, frozenset[str]] = {
    "kubelet-linux": _names(
        """
    clusterDNS clusterDomain containerRuntimeEndpoint evictionHard kubeReserved maxPods providerID
    registerWithTaints rotateCertificates serverTLSBootstrap systemReserved
    """
    ),
    "kubelet-windows": _names(
        """
    authentication authorization cgroupsPerQOS clusterDNS clusterDomain containerRuntimeEndpoint
    enableDebuggingHandlers enforceNodeAllocatable evictionHard kubeReserved maxPods providerID
    registerWithTaints resolvConf rotateCertificates runtimeRequestTimeout serverTLSBootstrap systemReserved
    """
    ),
    "kube-proxy-linux": frozenset({"clusterCIDR", "mode"}),
    "kube-proxy-windows": frozenset(
        {"clientConnection", "clusterCIDR", "featureGates", "hostnameOverride", "mode", "winkernel"}
    ),
    "ClusterConfiguration": frozenset(
        {
            "apiServer",
            "clusterName",
            "controlPlaneEndpoint",
            "controllerManager",
            "kubernetesVersion",
            "networking",
            "scheduler",
        }
    ),
    "InitConfiguration": frozenset({"localAPIEndpoint", "nodeRegistration", "patches"}),
    "JoinConfiguration": frozenset({"controlPlane", "discovery", "nodeRegistration", "patches"}),
    "containerd": frozenset({"version", "plugins"}),
}
"""Top-level fields that node plans set, by document: a user's value for one of these replaces or extends ours."""
