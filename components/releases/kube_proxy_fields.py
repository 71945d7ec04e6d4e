"""Fields of KubeProxyConfiguration, from the json tags of k8s.io/kube-proxy config/v1alpha1, 0.20.15 to 0.37.1."""

from components.releases.spans import spans

KUBE_PROXY = spans(
    """
any 1.28-: logging.flushFrequency logging.options.json.infoBufferSize
any 1.30-: logging.options.text.infoBufferSize
bool -: bindAddressHardFail enableProfiling iptables.masqueradeAll ipvs.strictARP winkernel.enableDSR
bool 1.24-: winkernel.forwardHealthCheckVip
bool 1.26-: iptables.localhostNodePorts
bool 1.28-: logging.options.json.splitStream
bool 1.29-: conntrack.tcpBeLiberal nftables.masqueradeAll
bool 1.30-: logging.options.text.splitStream
bool 1.31-: windowsRunAsService
bool-map -: featureGates
count -: clientConnection.burst conntrack.maxPerCore conntrack.min iptables.masqueradeBit
count 1.28-: logging.verbosity
count 1.29-: nftables.masqueradeBit
duration -: configSyncPeriod conntrack.tcpCloseWaitTimeout conntrack.tcpEstablishedTimeout iptables.minSyncPeriod
  iptables.syncPeriod ipvs.minSyncPeriod ipvs.syncPeriod ipvs.tcpFinTimeout ipvs.tcpTimeout ipvs.udpTimeout
duration -1.25: udpIdleTimeout
duration 1.29-: conntrack.udpStreamTimeout conntrack.udpTimeout nftables.minSyncPeriod nftables.syncPeriod
int -: oomScoreAdj
list 1.28-: logging.vmodule
number -: clientConnection.qps
object -: clientConnection conntrack iptables ipvs winkernel
object 1.24-: detectLocal
object 1.28-: logging logging.options logging.options.json
object 1.29-: nftables
object 1.30-: logging.options.text
text -: bindAddress clientConnection.acceptContentTypes clientConnection.contentType clientConnection.kubeconfig
  clusterCIDR detectLocalMode healthzBindAddress hostnameOverride ipvs.scheduler metricsBindAddress mode portRange
  showHiddenMetricsForVersion winkernel.networkName winkernel.sourceVip
text 1.24-: detectLocal.bridgeInterface detectLocal.interfaceNamePrefix winkernel.rootHnsEndpointName
text 1.28-: logging.format
texts -: ipvs.excludeCIDRs nodePortAddresses
"""
)
