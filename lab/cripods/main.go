// cripods ADDRESS CONFIGURATIONS PLUGINS serves CRI v1 on a TCP address of a Windows machine, as a runtime whose pods
// have a network. The folders are conf_dir and bin_dirs of containerd's configuration.
//
// It imitates only containers: Kubernetes' own fake runtime (cri-api/pkg/apis/testing) keeps them in memory, and each
// runs from its start on. A pod's network is that of containerd: containerd's package makes the namespace in HNS, and
// its library go-cni reads the configuration and calls the plug-ins with the arguments of containerd
// (internal/cri/server/sandbox_run.go and service_windows.go).
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sync"

	"github.com/containerd/containerd/v2/pkg/netns"
	gocni "github.com/containerd/go-cni"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	fake "k8s.io/cri-api/pkg/apis/testing"
)

type runtime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
	pods   *fake.FakeRuntimeService
	images *fake.FakeImageService
	cni    gocni.CNI

	lock     sync.Mutex
	networks map[string]network
}

// network is what a pod has of the network until it is stopped.
type network struct {
	namespace *netns.NetNS
	options   []gocni.NamespaceOpts
}

func (r *runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{
		Version: "0.1.0", RuntimeName: "cripods", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
	}, nil
}

func (r *runtime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	conditions := []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}
	if err := r.loaded(); err != nil {
		conditions[1] = &cri.RuntimeCondition{Type: cri.NetworkReady, Reason: "Lab", Message: err.Error()}
	}
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: conditions}}, nil
}

// loaded reads the network configuration unless it has been read; the node's plan writes it last.
func (r *runtime) loaded() error {
	if r.cni.Status() == nil {
		return nil
	}
	return r.cni.Load(gocni.WithDefaultConf)
}

func (r *runtime) RunPodSandbox(
	ctx context.Context, asked *cri.RunPodSandboxRequest,
) (*cri.RunPodSandboxResponse, error) {
	config := asked.GetConfig()
	id, err := r.pods.RunPodSandbox(ctx, config, asked.GetRuntimeHandler())
	if err != nil {
		return nil, err
	}
	address, err := r.connect(ctx, id, config)
	if err != nil {
		_ = r.pods.RemovePodSandbox(ctx, id)
		return nil, fmt.Errorf("the network of pod %s: %w", config.GetMetadata().GetName(), err)
	}
	r.pods.Lock()
	r.pods.Sandboxes[id].Network = &cri.PodSandboxNetworkStatus{Ip: address}
	r.pods.Unlock()
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, nil
}

// connect makes the pod's namespace and adds it to the network; it returns the pod's address.
func (r *runtime) connect(ctx context.Context, id string, config *cri.PodSandboxConfig) (string, error) {
	if err := r.loaded(); err != nil {
		return "", err
	}
	namespace, err := netns.NewNetNS("")
	if err != nil {
		return "", err
	}
	options := of(id, config)
	result, err := r.cni.Setup(ctx, id, namespace.GetPath(), options...)
	if err != nil {
		_ = namespace.Remove()
		return "", err
	}
	r.lock.Lock()
	r.networks[id] = network{namespace, options}
	r.lock.Unlock()
	for _, known := range result.Interfaces {
		for _, each := range known.IPConfigs {
			return each.IP.String(), nil
		}
	}
	return "", fmt.Errorf("the plug-in gave no address: %+v", result)
}

func of(id string, config *cri.PodSandboxConfig) []gocni.NamespaceOpts {
	metadata, dns := config.GetMetadata(), config.GetDnsConfig()
	options := []gocni.NamespaceOpts{gocni.WithLabels(map[string]string{
		"K8S_POD_NAMESPACE":          metadata.GetNamespace(),
		"K8S_POD_NAME":               metadata.GetName(),
		"K8S_POD_INFRA_CONTAINER_ID": id,
		"K8S_POD_UID":                metadata.GetUid(),
		"IgnoreUnknown":              "1",
	})}
	if dns == nil {
		return options
	}
	servers := gocni.DNS{Servers: dns.GetServers(), Searches: dns.GetSearches(), Options: dns.GetOptions()}
	return append(options, gocni.WithCapabilityDNS(servers))
}

func (r *runtime) StopPodSandbox(
	ctx context.Context, asked *cri.StopPodSandboxRequest,
) (*cri.StopPodSandboxResponse, error) {
	id := asked.GetPodSandboxId()
	r.lock.Lock()
	known, found := r.networks[id]
	r.lock.Unlock()
	if found {
		if err := r.cni.Remove(ctx, id, known.namespace.GetPath(), known.options...); err != nil {
			return nil, err
		}
		if err := known.namespace.Remove(); err != nil {
			return nil, err
		}
		r.lock.Lock()
		delete(r.networks, id)
		r.lock.Unlock()
	}
	return &cri.StopPodSandboxResponse{}, r.pods.StopPodSandbox(ctx, id)
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: cripods HOST:PORT CONFIGURATIONS PLUGINS")
	}
	known, err := gocni.New(
		gocni.WithMinNetworkCount(1), gocni.WithPluginConfDir(os.Args[2]), gocni.WithPluginDir(os.Args[3:]),
	)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	made := &runtime{
		pods: fake.NewFakeRuntimeService(), images: fake.NewFakeImageService(), cni: known, networks: map[string]network{},
	}
	made.images.SetFakeImageSize(1) // the kubelet refuses an image without a size
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, made)
	cri.RegisterImageServiceServer(server, made)
	log.Fatal(server.Serve(listener))
}
