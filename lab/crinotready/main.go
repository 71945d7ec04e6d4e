// crinotready ADDRESS serves CRI v1 on a TCP address, as a container runtime that never becomes ready.
//
// A Windows kubelet registers its Node only after a runtime answers. Under Wine there is no runtime, and a kubelet whose
// runtime is ready ends because AF_UNIX is missing. With this runtime the Node registers and stays NotReady.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type runtime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
}

func (runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{
		Version: "0.1.0", RuntimeName: "crinotready", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
	}, nil
}

func (runtime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	why := func(kind string) *cri.RuntimeCondition {
		return &cri.RuntimeCondition{Type: kind, Status: false, Reason: "Lab", Message: "no containers run here"}
	}
	conditions := []*cri.RuntimeCondition{why(cri.RuntimeReady), why(cri.NetworkReady)}
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: conditions}}, nil
}

func (runtime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	return &cri.RuntimeConfigResponse{}, nil
}

func (runtime) UpdateRuntimeConfig(
	context.Context, *cri.UpdateRuntimeConfigRequest,
) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (runtime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{}, nil
}

func (runtime) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	return &cri.ListContainersResponse{}, nil
}

func (runtime) ListContainerStats(
	context.Context, *cri.ListContainerStatsRequest,
) (*cri.ListContainerStatsResponse, error) {
	return &cri.ListContainerStatsResponse{}, nil
}

func (runtime) ListPodSandboxStats(
	context.Context, *cri.ListPodSandboxStatsRequest,
) (*cri.ListPodSandboxStatsResponse, error) {
	return &cri.ListPodSandboxStatsResponse{}, nil
}

func (runtime) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{}, nil
}

func (runtime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: crinotready HOST:PORT")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, runtime{})
	cri.RegisterImageServiceServer(server, runtime{})
	log.Fatal(server.Serve(listener))
}
