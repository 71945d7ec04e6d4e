"""Fields of kubeadm's documents, and its own feature gates.

From k8s.io/kubernetes cmd/kubeadm/app/apis/kubeadm (v1beta2 to 1.21, v1beta3 to 1.30, then v1beta4) and
cmd/kubeadm/app/features, 1.20.15 to 1.37.1.
"""

from components.releases.spans import spans

CLUSTER = spans(
    """
bool -1.21: useHyperKubeImage
bool 1.31-: dns.disabled proxy.disabled
bool-map -: featureGates
duration -1.30: apiServer.timeoutForControlPlane
duration 1.31-: caCertificateValidityPeriod certificateValidityPeriod
list -: apiServer.extraVolumes controllerManager.extraVolumes scheduler.extraVolumes
list 1.31-: apiServer.extraArgs apiServer.extraEnvs controllerManager.extraArgs controllerManager.extraEnvs
  etcd.local.extraArgs etcd.local.extraEnvs scheduler.extraArgs scheduler.extraEnvs
object -: apiServer controllerManager dns etcd etcd.external etcd.local networking scheduler
object 1.31-: proxy
text -: certificatesDir clusterName controlPlaneEndpoint dns.imageRepository dns.imageTag etcd.external.caFile
  etcd.external.certFile etcd.external.keyFile etcd.local.dataDir etcd.local.imageRepository etcd.local.imageTag
  imageRepository kubernetesVersion networking.dnsDomain networking.podSubnet networking.serviceSubnet
text -1.21: dns.type
text 1.31-: encryptionAlgorithm
text-map -1.30: apiServer.extraArgs controllerManager.extraArgs etcd.local.extraArgs scheduler.extraArgs
texts -: apiServer.certSANs etcd.external.endpoints etcd.local.peerCertSANs etcd.local.serverCertSANs
texts 1.35-: etcd.external.httpEndpoints
"""
)

INIT = spans(
    """
bool 1.31-: dryRun nodeRegistration.imagePullSerial
count -: localAPIEndpoint.bindPort
duration 1.31-: timeouts.controlPlaneComponentHealthCheck timeouts.discovery timeouts.etcdAPICall
  timeouts.kubeletHealthCheck timeouts.kubernetesAPICall timeouts.tlsBootstrap timeouts.upgradeManifests
list -: bootstrapTokens nodeRegistration.taints
list 1.31-: nodeRegistration.kubeletExtraArgs
object -: localAPIEndpoint nodeRegistration
object 1.22-: patches
object 1.31-: timeouts
text -: certificateKey localAPIEndpoint.advertiseAddress nodeRegistration.criSocket nodeRegistration.name
text 1.22-: nodeRegistration.imagePullPolicy patches.directory
text-map -1.30: nodeRegistration.kubeletExtraArgs
texts -: nodeRegistration.ignorePreflightErrors
texts 1.22-: skipPhases
"""
)

JOIN = spans(
    """
bool -: discovery.bootstrapToken.unsafeSkipCAVerification
bool 1.31-: dryRun nodeRegistration.imagePullSerial
count -: controlPlane.localAPIEndpoint.bindPort
duration -1.30: discovery.timeout
duration 1.31-: timeouts.controlPlaneComponentHealthCheck timeouts.discovery timeouts.etcdAPICall
  timeouts.kubeletHealthCheck timeouts.kubernetesAPICall timeouts.tlsBootstrap timeouts.upgradeManifests
list -: nodeRegistration.taints
list 1.31-: nodeRegistration.kubeletExtraArgs
object -: controlPlane controlPlane.localAPIEndpoint discovery discovery.bootstrapToken discovery.file
  nodeRegistration
object 1.22-: patches
object 1.31-: timeouts
text -: caCertPath controlPlane.certificateKey controlPlane.localAPIEndpoint.advertiseAddress
  discovery.bootstrapToken.apiServerEndpoint discovery.bootstrapToken.token discovery.file.kubeConfigPath
  discovery.tlsBootstrapToken nodeRegistration.criSocket nodeRegistration.name
text 1.22-: nodeRegistration.imagePullPolicy patches.directory
text-map -1.30: nodeRegistration.kubeletExtraArgs
texts -: discovery.bootstrapToken.caCertHashes nodeRegistration.ignorePreflightErrors
texts 1.22-: skipPhases
"""
)

GATES = spans(
    """
-1.23: IPv6DualStack
-1.36: PublicKeysECDSA
1.22-: RootlessControlPlane
1.23-1.25: UnversionedKubeletConfigMap
1.27-1.32: EtcdLearnerMode
1.28-1.30: UpgradeAddonsBeforeControlPlane
1.30-1.34: WaitForAllControlPlaneComponents
1.31-1.35: ControlPlaneKubeletLocalMode
1.32-1.36: NodeLocalCRISocket
"""
)
