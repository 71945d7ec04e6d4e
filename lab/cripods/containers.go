package main

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Calls about pods, containers and images that Kubernetes' fake runtime answers.

func (r *runtime) RemovePodSandbox(
	ctx context.Context, asked *cri.RemovePodSandboxRequest,
) (*cri.RemovePodSandboxResponse, error) {
	return &cri.RemovePodSandboxResponse{}, r.pods.RemovePodSandbox(ctx, asked.GetPodSandboxId())
}

func (r *runtime) PodSandboxStatus(
	ctx context.Context, asked *cri.PodSandboxStatusRequest,
) (*cri.PodSandboxStatusResponse, error) {
	return r.pods.PodSandboxStatus(ctx, asked.GetPodSandboxId(), asked.GetVerbose())
}

func (r *runtime) ListPodSandbox(
	ctx context.Context, asked *cri.ListPodSandboxRequest,
) (*cri.ListPodSandboxResponse, error) {
	items, err := r.pods.ListPodSandbox(ctx, asked.GetFilter())
	return &cri.ListPodSandboxResponse{Items: items}, err
}

func (r *runtime) CreateContainer(
	ctx context.Context, asked *cri.CreateContainerRequest,
) (*cri.CreateContainerResponse, error) {
	id, err := r.pods.CreateContainer(ctx, asked.GetPodSandboxId(), asked.GetConfig(), asked.GetSandboxConfig())
	return &cri.CreateContainerResponse{ContainerId: id}, err
}

func (r *runtime) StartContainer(
	ctx context.Context, asked *cri.StartContainerRequest,
) (*cri.StartContainerResponse, error) {
	return &cri.StartContainerResponse{}, r.pods.StartContainer(ctx, asked.GetContainerId())
}

func (r *runtime) StopContainer(
	ctx context.Context, asked *cri.StopContainerRequest,
) (*cri.StopContainerResponse, error) {
	return &cri.StopContainerResponse{}, r.pods.StopContainer(ctx, asked.GetContainerId(), asked.GetTimeout())
}

func (r *runtime) RemoveContainer(
	ctx context.Context, asked *cri.RemoveContainerRequest,
) (*cri.RemoveContainerResponse, error) {
	return &cri.RemoveContainerResponse{}, r.pods.RemoveContainer(ctx, asked.GetContainerId())
}

func (r *runtime) ListContainers(
	ctx context.Context, asked *cri.ListContainersRequest,
) (*cri.ListContainersResponse, error) {
	items, err := r.pods.ListContainers(ctx, asked.GetFilter())
	return &cri.ListContainersResponse{Containers: items}, err
}

func (r *runtime) ContainerStatus(
	ctx context.Context, asked *cri.ContainerStatusRequest,
) (*cri.ContainerStatusResponse, error) {
	return r.pods.ContainerStatus(ctx, asked.GetContainerId(), asked.GetVerbose())
}

func (r *runtime) ListContainerStats(
	context.Context, *cri.ListContainerStatsRequest,
) (*cri.ListContainerStatsResponse, error) {
	return &cri.ListContainerStatsResponse{}, nil
}

func (r *runtime) ListPodSandboxStats(
	context.Context, *cri.ListPodSandboxStatsRequest,
) (*cri.ListPodSandboxStatsResponse, error) {
	return &cri.ListPodSandboxStatsResponse{}, nil
}

func (r *runtime) RuntimeConfig(
	context.Context, *cri.RuntimeConfigRequest,
) (*cri.RuntimeConfigResponse, error) {
	return &cri.RuntimeConfigResponse{}, nil
}

func (r *runtime) UpdateRuntimeConfig(
	context.Context, *cri.UpdateRuntimeConfigRequest,
) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (r *runtime) ListImages(
	ctx context.Context, asked *cri.ListImagesRequest,
) (*cri.ListImagesResponse, error) {
	images, err := r.images.ListImages(ctx, asked.GetFilter())
	return &cri.ListImagesResponse{Images: images}, err
}

func (r *runtime) ImageStatus(
	ctx context.Context, asked *cri.ImageStatusRequest,
) (*cri.ImageStatusResponse, error) {
	return r.images.ImageStatus(ctx, asked.GetImage(), asked.GetVerbose())
}

func (r *runtime) PullImage(
	ctx context.Context, asked *cri.PullImageRequest,
) (*cri.PullImageResponse, error) {
	ref, err := r.images.PullImage(ctx, asked.GetImage(), asked.GetAuth(), asked.GetSandboxConfig())
	return &cri.PullImageResponse{ImageRef: ref}, err
}

func (r *runtime) ImageFsInfo(
	context.Context, *cri.ImageFsInfoRequest,
) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, nil
}
