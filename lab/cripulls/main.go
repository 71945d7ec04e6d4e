// cripulls NETWORK ADDRESS serves CRI v1 (unix SOCKET, or tcp HOST:PORT), as a runtime that is ready and has no images. It
// prints each pull as a line of JSON, with the credentials that the kubelet passes, and refuses it, so no container is made.
//
// Kubernetes' own fake runtime (cri-api/pkg/apis/testing) keeps the pods in memory.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	fake "k8s.io/cri-api/pkg/apis/testing"
)

type runtime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
	pods   *fake.FakeRuntimeService
	prints *json.Encoder
}

func (runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{
		Version: "0.1.0", RuntimeName: "cripulls", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
	}, nil
}

func (runtime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	ready := []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: ready}}, nil
}

func (runtime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	driver := &cri.LinuxRuntimeConfiguration{CgroupDriver: cri.CgroupDriver_CGROUPFS}
	return &cri.RuntimeConfigResponse{Linux: driver}, nil
}

func (runtime) UpdateRuntimeConfig(
	context.Context, *cri.UpdateRuntimeConfigRequest,
) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (r runtime) RunPodSandbox(
	ctx context.Context, asked *cri.RunPodSandboxRequest,
) (*cri.RunPodSandboxResponse, error) {
	id, err := r.pods.RunPodSandbox(ctx, asked.GetConfig(), asked.GetRuntimeHandler())
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, err
}

func (r runtime) PodSandboxStatus(
	ctx context.Context, asked *cri.PodSandboxStatusRequest,
) (*cri.PodSandboxStatusResponse, error) {
	return r.pods.PodSandboxStatus(ctx, asked.GetPodSandboxId(), asked.GetVerbose())
}

func (r runtime) ListPodSandbox(
	ctx context.Context, asked *cri.ListPodSandboxRequest,
) (*cri.ListPodSandboxResponse, error) {
	items, err := r.pods.ListPodSandbox(ctx, asked.GetFilter())
	return &cri.ListPodSandboxResponse{Items: items}, err
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

func (runtime) ImageStatus(context.Context, *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	return &cri.ImageStatusResponse{}, nil
}

func (runtime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, nil
}

func (r runtime) PullImage(_ context.Context, asked *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	auth := asked.GetAuth()
	err := r.prints.Encode(map[string]string{
		"image": asked.GetImage().GetImage(), "username": auth.GetUsername(), "password": auth.GetPassword(),
	})
	return nil, errors.Join(errors.New("cripulls has no registry"), err)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: cripulls NETWORK ADDRESS")
	}
	listener, err := net.Listen(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	made := runtime{pods: fake.NewFakeRuntimeService(), prints: json.NewEncoder(os.Stdout)}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, made)
	cri.RegisterImageServiceServer(server, made)
	log.Fatal(server.Serve(listener))
}
