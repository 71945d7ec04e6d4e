"""Flags of kubelet and kube-proxy, by the system they exist on, and of the control plane.

From the option structs of k8s.io/kubernetes (cmd/*/app, pkg/kubelet/config, pkg/kubeapiserver, pkg/controlplane),
k8s.io/apiserver, k8s.io/component-base and k8s.io/cloud-provider, 1.20.15 to 1.37.1. A flag that the minor does not
know ends the program (SRV-09).
"""

from components.releases.spans import spans

KUBELET = spans(
    """
all -: address allowed-unsafe-sysctls anonymous-auth authentication-token-webhook
  authentication-token-webhook-cache-ttl authorization-mode authorization-webhook-cache-authorized-ttl
  authorization-webhook-cache-unauthorized-ttl bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root
  cgroups-per-qos client-ca-file cloud-provider cluster-dns cluster-domain config container-log-max-files
  container-log-max-size container-runtime-endpoint contention-profiling cpu-cfs-quota cpu-cfs-quota-period
  cpu-manager-policy cpu-manager-reconcile-period enable-controller-attach-detach enable-debugging-handlers
  enable-server enforce-node-allocatable event-burst event-qps eviction-hard eviction-max-pod-grace-period
  eviction-minimum-reclaim eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
  exit-on-lock-contention experimental-allocatable-ignore-eviction experimental-mounter-path fail-swap-on
  feature-gates file-check-frequency hairpin-mode healthz-bind-address healthz-port hostname-override
  http-check-frequency image-credential-provider-bin-dir image-credential-provider-config image-gc-high-threshold
  image-gc-low-threshold image-service-endpoint kernel-memcg-notification kube-api-burst kube-api-content-type
  kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file make-iptables-util-chains
  manifest-url manifest-url-header max-open-files max-pods maximum-dead-containers
  maximum-dead-containers-per-container minimum-container-ttl-duration minimum-image-ttl-duration node-ip
  node-labels node-status-max-images node-status-update-frequency oom-score-adj pod-cidr pod-manifest-path
  pod-max-pids pods-per-core port protect-kernel-defaults provider-id qos-reserved read-only-port register-node
  register-with-taints registry-burst registry-qps reserved-cpus resolv-conf root-dir rotate-certificates
  rotate-server-certificates runonce runtime-cgroups runtime-request-timeout serialize-image-pulls
  streaming-connection-idle-timeout sync-frequency system-cgroups system-reserved system-reserved-cgroup
  tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file topology-manager-policy
  topology-manager-scope volume-plugin-dir volume-stats-agg-period
all -1.20: enable-cadvisor-json-endpoints
all -1.21: chaos-chance redirect-container-streaming
all -1.22: experimental-bootstrap-kubeconfig seccomp-profile-root
all -1.23: cni-bin-dir cni-cache-dir cni-conf-dir docker-endpoint dynamic-config-dir
  experimental-check-node-capabilities-before-mount experimental-dockershim-root-directory
  experimental-logging-sanitization image-pull-progress-deadline network-plugin network-plugin-mtu non-masquerade-cidr
  really-crash-for-testing
all -1.24: experimental-kernel-memcg-notification
all -1.26: container-runtime master-service-namespace
all -1.30: iptables-drop-bit iptables-masquerade-bit keep-terminated-pod-volumes
all -1.33: cloud-config register-schedulable
all -1.34: pod-infra-container-image
all 1.21-: memory-manager-policy reserved-memory
all 1.22-: cpu-manager-policy-options seccomp-default
all 1.25-: local-storage-capacity-isolation
all 1.26-: topology-manager-policy-options
all 1.28-: config-dir
all 1.31-: fail-cgroupv1
all -: logging-format
all 1.23-: log-json-info-buffer-size log-json-split-stream
all 1.30-: log-text-info-buffer-size log-text-split-stream
windows -: windows-priorityclass windows-service
"""
)

KUBE_PROXY = spans(
    """
all -: bind-address bind-address-hard-fail cleanup cluster-cidr config config-sync-period conntrack-max-per-core
  conntrack-min conntrack-tcp-timeout-close-wait conntrack-tcp-timeout-established detect-local-mode feature-gates
  healthz-bind-address healthz-port hostname-override iptables-masquerade-bit iptables-min-sync-period
  iptables-sync-period ipvs-exclude-cidrs ipvs-min-sync-period ipvs-scheduler ipvs-strict-arp ipvs-sync-period
  ipvs-tcp-timeout ipvs-tcpfin-timeout ipvs-udp-timeout kube-api-burst kube-api-content-type kube-api-qps kubeconfig
  masquerade-all master metrics-bind-address metrics-port nodeport-addresses oom-score-adj profiling proxy-mode
  show-hidden-metrics-for-version write-config-to
all -1.20: cleanup-ipvs
all -1.25: udp-timeout
all -1.30: proxy-port-range
all 1.24-: pod-bridge-interface pod-interface-name-prefix
all 1.26-: iptables-localhost-nodeports
all 1.29-: conntrack-tcp-be-liberal conntrack-udp-timeout conntrack-udp-timeout-stream init-only
windows -: enable-dsr network-name source-vip windows-service
windows 1.24-: forward-healthcheck-vip root-hnsendpoint-name
all 1.28-: log-json-info-buffer-size log-json-split-stream logging-format
all 1.30-: log-text-info-buffer-size log-text-split-stream
"""
)

LOGGING = spans(
    """
all -: help log-flush-frequency v version vmodule
all -1.25: add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size logtostderr one-output
  skip-headers skip-log-headers stderrthreshold
"""
)
"""Logging flags of kubelet and kube-proxy; 1.26 removed --log-dir and similar ones."""

CONTROL_PLANE = spans(
    """
-: admission-control admission-control-config-file advertise-address allocate-node-cidrs allow-privileged
  allow-untagged-cloud anonymous-auth api-audiences apiserver-count attach-detach-reconcile-sync-period
  audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst
  audit-log-batch-throttle-enable audit-log-batch-throttle-qps audit-log-compress audit-log-format audit-log-maxage
  audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path audit-log-truncate-enabled
  audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version audit-policy-file
  audit-webhook-batch-buffer-size audit-webhook-batch-initial-backoff audit-webhook-batch-max-size
  audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable
  audit-webhook-batch-throttle-qps audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode
  audit-webhook-truncate-enabled audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size
  audit-webhook-version authentication-kubeconfig authentication-skip-lookup authentication-token-webhook-cache-ttl
  authentication-token-webhook-config-file authentication-token-webhook-version authentication-tolerate-lookup-failure
  authorization-always-allow-paths authorization-kubeconfig authorization-mode authorization-policy-file
  authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
  authorization-webhook-config-file authorization-webhook-version bind-address cert-dir cidr-allocator-type
  client-ca-file cloud-config cloud-provider cluster-cidr cluster-name cluster-signing-cert-file
  cluster-signing-duration cluster-signing-key-file cluster-signing-kube-apiserver-client-cert-file
  cluster-signing-kube-apiserver-client-key-file cluster-signing-kubelet-client-cert-file
  cluster-signing-kubelet-client-key-file cluster-signing-kubelet-serving-cert-file
  cluster-signing-kubelet-serving-key-file cluster-signing-legacy-unknown-cert-file
  cluster-signing-legacy-unknown-key-file concurrent-deployment-syncs concurrent-endpoint-syncs concurrent-gc-syncs
  concurrent-namespace-syncs concurrent-replicaset-syncs concurrent-resource-quota-syncs
  concurrent-service-endpoint-syncs concurrent-serviceaccount-token-syncs concurrent-statefulset-syncs
  concurrent-ttl-after-finished-syncs concurrent-rc-syncs concurrent_rc_syncs config configure-cloud-routes
  contention-profiling controller-start-interval controllers cors-allowed-origins default-not-ready-toleration-seconds
  default-unreachable-toleration-seconds default-watch-cache-size delete-collection-workers disable-admission-plugins
  disable-attach-detach-reconcile-sync egress-selector-config-file enable-admission-plugins enable-aggregator-routing
  enable-bootstrap-token-auth enable-dynamic-provisioning enable-garbage-collector enable-hostpath-provisioner
  enable-logs-handler enable-priority-and-fairness encryption-provider-config endpoint-reconciler-type
  endpoint-updates-batch-period endpointslice-updates-batch-period etcd-cafile etcd-certfile etcd-compaction-interval
  etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-keyfile etcd-prefix
  etcd-servers etcd-servers-overrides event-ttl external-cloud-volume-plugin external-hostname feature-gates
  flex-volume-plugin-dir goaway-chance help horizontal-pod-autoscaler-cpu-initialization-period
  horizontal-pod-autoscaler-downscale-stabilization horizontal-pod-autoscaler-initial-readiness-delay
  horizontal-pod-autoscaler-sync-period horizontal-pod-autoscaler-tolerance http2-max-streams-per-connection
  kube-api-burst kube-api-content-type kube-api-qps kubeconfig kubelet-certificate-authority
  kubelet-client-certificate kubelet-client-key kubelet-port kubelet-preferred-address-types kubelet-read-only-port
  kubelet-timeout kubernetes-service-node-port large-cluster-size-threshold leader-elect leader-elect-lease-duration
  leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace
  leader-elect-retry-period lease-reuse-duration-seconds livez-grace-period log-flush-frequency logging-format master
  max-connection-bytes-per-sec max-endpoints-per-slice max-mutating-requests-inflight max-requests-inflight
  min-request-timeout min-resync-period mirroring-concurrent-service-endpoint-syncs
  mirroring-endpointslice-updates-batch-period mirroring-max-endpoints-per-subset namespace-sync-period
  node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-eviction-rate node-monitor-grace-period
  node-monitor-period node-startup-grace-period node-sync-period oidc-ca-file oidc-client-id oidc-groups-claim
  oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs oidc-username-claim oidc-username-prefix
  permit-port-sharing profiling proxy-client-cert-file proxy-client-key-file pv-recycler-increment-timeout-nfs
  pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs pv-recycler-pod-template-filepath-hostpath
  pv-recycler-pod-template-filepath-nfs pv-recycler-timeout-increment-hostpath pvclaimbinder-sync-period
  request-timeout requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
  requestheader-group-headers requestheader-username-headers resource-quota-sync-period root-ca-file
  route-reconciliation-period runtime-config secondary-node-eviction-rate secure-port
  service-account-extend-token-expiration service-account-issuer service-account-jwks-uri service-account-key-file
  service-account-lookup service-account-max-token-expiration service-account-private-key-file
  service-account-signing-key-file service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version
  shutdown-delay-duration storage-backend storage-media-type terminated-pod-gc-threshold tls-cert-file
  tls-cipher-suites tls-min-version tls-private-key-file tls-sni-cert-key token-auth-file unhealthy-zone-threshold
  use-service-account-credentials version watch-cache watch-cache-sizes write-config-to
-1.21: algorithm-provider hard-pod-affinity-symmetric-weight kubelet-https scheduler-name ssh-keyfile ssh-user
-1.22: policy-config-file policy-configmap policy-configmap-namespace use-legacy-policy-config
-1.23: address deployment-controller-sync-period deserialization-cache-size enable-swagger-ui
  experimental-encryption-provider-config experimental-logging-sanitization horizontal-pod-autoscaler-use-rest-clients
  insecure-bind-address insecure-port port target-ram-mb
-1.24: deleting-pods-burst deleting-pods-qps experimental-cluster-signing-duration register-retry-count
  service-account-api-audiences
-1.25: identity-lease-duration-seconds identity-lease-renew-interval-seconds
-1.26: enable-taint-manager master-service-namespace pod-eviction-timeout
-1.27: lock-object-name lock-object-namespace
-1.30: cloud-provider-gce-l7lb-src-cidrs cloud-provider-gce-lb-src-cidrs horizontal-pod-autoscaler-downscale-delay
  horizontal-pod-autoscaler-upscale-delay volume-host-allow-local-loopback volume-host-cidr-denylist
-1.36: concurrent-service-syncs
1.21-: allow-metric-labels disabled-metrics enable-leader-migration leader-migration-config permit-address-sharing
  strict-transport-security-directives
1.22-: aggregator-reject-forwarding-redirect tracing-config-file
1.23-: concurrent-ephemeralvolume-syncs log-json-info-buffer-size log-json-split-stream shutdown-send-retry-after v
  vmodule
1.24-: pod-max-in-unschedulable-pods-duration
1.25-: etcd-readycheck-timeout
1.26-: concurrent-horizontal-pod-autoscaler-syncs encryption-provider-config-automatic-reload
1.27-: debug-socket-path shutdown-watch-termination-grace-period
1.28-: concurrent-cron-job-syncs concurrent-job-syncs concurrent-validating-admission-policy-status-syncs
  legacy-service-account-token-clean-up-period peer-advertise-ip peer-advertise-port peer-ca-file
1.29-: allow-metric-labels-manifest authentication-config authorization-config
1.30-: disable-force-detach-on-timeout log-text-info-buffer-size log-text-split-stream
1.31-: disable-http2-serving emulated-version storage-initialization-timeout
1.32-: concurrent-daemonset-syncs requestheader-uid-headers service-account-signing-endpoint
1.33-: emulation-forward-compatible runtime-config-emulation-forward-compatible
1.34-: coordinated-leadership-lease-duration coordinated-leadership-renew-deadline coordinated-leadership-retry-period
1.35-: concurrent-device-taint-eviction-syncs controller-shutdown-timeout min-compatibility-version
1.36-: concurrent-resourceclaim-syncs tls-curve-preferences
1.37-: concurrent-disruption-syncs
"""
)
"""Flags of kube-apiserver, kube-controller-manager and kube-scheduler together: a flag that is missing here exists in
none of them. Flags of cloud-controller-manager alone (k8s.io/cloud-provider's node controller and webhooks) are left
out."""
