"""Fields of KubeletConfiguration, from the json tags of k8s.io/kubelet config/v1beta1, 0.20.15 to 0.37.1."""

from components.releases.spans import spans

KUBELET = spans(
    """
any 1.23-: logging.flushFrequency logging.options.json.infoBufferSize
any 1.30-: logging.options.text.infoBufferSize
bool -: authentication.anonymous.enabled authentication.webhook.enabled cgroupsPerQOS cpuCFSQuota
  enableContentionProfiling enableControllerAttachDetach enableDebuggingHandlers enableServer enableSystemLogHandler
  failSwapOn kernelMemcgNotification makeIPTablesUtilChains protectKernelDefaults rotateCertificates runOnce
  serializeImagePulls serverTLSBootstrap
bool -1.23: logging.sanitization
bool 1.21-: enableDebugFlagsHandler enableProfilingHandler
bool 1.22-: seccompDefault
bool 1.23-: logging.options.json.splitStream registerNode
bool 1.25-: localStorageCapacityIsolation
bool 1.27-: enableSystemLogQuery
bool 1.30-: logging.options.text.splitStream
bool 1.31-: failCgroupV1
bool 1.32-: singleProcessOOMKill
bool 1.33-: mergeDefaultEvictionSettings
bool-map -: featureGates
count -: containerLogMaxFiles eventBurst eventRecordQPS healthzPort imageGCHighThresholdPercent
  imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst kubeAPIQPS maxOpenFiles maxPods
  nodeLeaseDurationSeconds podsPerCore port readOnlyPort registryBurst registryPullQPS
count 1.23-: logging.verbosity
count 1.25-: tracing.samplingRatePerMillion
count 1.27-: maxParallelImagePulls
count 1.30-: containerLogMaxWorkers
count 1.33-: userNamespaces.idsPerPod
duration -: authentication.webhook.cacheTTL authorization.webhook.cacheAuthorizedTTL
  authorization.webhook.cacheUnauthorizedTTL cpuCFSQuotaPeriod cpuManagerReconcilePeriod
  evictionPressureTransitionPeriod fileCheckFrequency httpCheckFrequency imageMinimumGCAge nodeStatusReportFrequency
  nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod shutdownGracePeriodCriticalPods
  streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod
duration 1.29-: imageMaximumGCAge
duration 1.30-: containerLogMonitorInterval
duration 1.32-: crashLoopBackOff.maxContainerRestartPeriod
int -: evictionMaxPodGracePeriod nodeStatusMaxImages oomScoreAdj podPidsLimit
list 1.21-: reservedMemory
list 1.23-: logging.vmodule registerWithTaints shutdownGracePeriodByPodPriority
list 1.36-: tlsCurvePreferences
map -: staticPodURLHeader
number 1.22-: memoryThrottlingFactor
object -: authentication authentication.anonymous authentication.webhook authentication.x509 authorization
  authorization.webhook logging
object 1.22-: memorySwap
object 1.23-: logging.options logging.options.json
object 1.25-: tracing
object 1.30-: logging.options.text
object 1.32-: crashLoopBackOff
object 1.33-: userNamespaces
text -: address authentication.x509.clientCAFile authorization.mode cgroupDriver cgroupRoot clusterDomain
  configMapAndSecretChangeDetectionStrategy containerLogMaxSize contentType cpuManagerPolicy hairpinMode
  healthzBindAddress kubeReservedCgroup kubeletCgroups logging.format podCIDR providerID reservedSystemCPUs
  resolvConf showHiddenMetricsForVersion staticPodPath staticPodURL systemCgroups systemReservedCgroup tlsCertFile
  tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy topologyManagerScope volumePluginDir
text 1.21-: memoryManagerPolicy
text 1.22-: memorySwap.swapBehavior
text 1.25-: tracing.endpoint
text 1.27-: containerRuntimeEndpoint imageServiceEndpoint
text 1.30-: podLogsDir
text 1.33-: imagePullCredentialsVerificationPolicy
text 1.36-: memoryReservationPolicy
text-map -: evictionHard evictionMinimumReclaim evictionSoft evictionSoftGracePeriod kubeReserved qosReserved
  systemReserved
text-map 1.22-: cpuManagerPolicyOptions
text-map 1.26-: topologyManagerPolicyOptions
text-map 1.37-: defaultPodSysctls
texts -: allowedUnsafeSysctls clusterDNS enforceNodeAllocatable tlsCipherSuites
texts 1.33-: preloadedImagesVerificationAllowlist
"""
)
