package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows/registry"
)

var kubeletTexts = []string{
	"bootstrap-kubeconfig", "cert-dir", "cni-bin-dir", "cni-conf-dir", "config", "container-runtime",
	"container-runtime-endpoint", "hostname-override", "image-credential-provider-bin-dir",
	"image-credential-provider-config", "image-pull-progress-deadline", "kubeconfig", "log-file", "log-file-max-size",
	"network-plugin", "node-ip", "node-labels", "pod-infra-container-image", "register-with-taints", "resolv-conf",
	"root-dir", "v", "windows-priorityclass",
}

// kubeletConfig has the fields of KubeletConfiguration that are visible in the Node object.
type kubeletConfig struct {
	Kind       string   `json:"kind"`
	ProviderID string   `json:"providerID"`
	Taints     []object `json:"registerWithTaints"`
	HealthPort int      `json:"healthzPort"`
}

// kubelet gets a certificate by the bootstrap token and creates its Node; the Node is Ready once there is a CNI file.
func kubelet(words []string) error {
	values, given, err := flags(words, kubeletTexts, []string{"windows-service", "logtostderr"})
	if err == nil {
		err = need(values, "config", "kubeconfig", "bootstrap-kubeconfig", "cert-dir", "hostname-override", "node-ip")
	}
	if err != nil {
		return err
	}
	if !given["windows-service"] {
		return errors.New("only --windows-service is known here")
	}
	config := kubeletConfig{HealthPort: 10248}
	if err := readJSON(values["config"], &config); err != nil {
		return err
	}
	if config.Kind != "KubeletConfiguration" {
		return fmt.Errorf("%s is not a KubeletConfiguration", values["config"])
	}
	if text := values["register-with-taints"]; text != "" {
		config.Taints = taints(text)
	}
	return serve(func(_ string, stop <-chan struct{}) error {
		if err := isMine(values["node-ip"]); err != nil {
			return err
		}
		healthy(fmt.Sprintf("127.0.0.1:%d", config.HealthPort))
		return joined(values, config, stop)
	})
}

func joined(values map[string]string, config kubeletConfig, stop <-chan struct{}) error {
	var server *api
	registered := false
	for again := time.Duration(0); ; again = time.Second {
		select {
		case <-stop:
			return nil
		case <-time.After(again):
		}
		var err error
		if server == nil {
			server, err = member(values)
		}
		if err == nil && !registered {
			err = register(server, values, config)
			registered = err == nil
		}
		if err == nil {
			// a deleted Node is created again only by the next start, as the real kubelet does
			if err = report(server, values); errors.Is(err, errGone) {
				err = nil
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// member connects with the node's certificate, and requests one first if there is none.
func member(values map[string]string) (*api, error) {
	current := filepath.Join(values["cert-dir"], "kubelet-client-current.pem")
	if !isFor(current, "system:node:"+values["hostname-override"]) {
		if err := bootstrap(values["bootstrap-kubeconfig"], current, values["hostname-override"]); err != nil {
			return nil, err
		}
	}
	if err := writeKubeconfig(values["bootstrap-kubeconfig"], values["kubeconfig"], current); err != nil {
		return nil, err
	}
	return connect(values["kubeconfig"])
}

func register(server *api, values map[string]string, config kubeletConfig) error {
	name := values["hostname-override"]
	labels := object{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64",
		"node.kubernetes.io/windows-build": "10.0." + build(),
	}
	for _, pair := range strings.Split(values["node-labels"], ",") {
		if key, value, found := strings.Cut(pair, "="); found {
			labels[key] = value
		}
	}
	spec := object{"providerID": config.ProviderID, "taints": config.Taints}
	node := object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": labels}, "spec": spec,
		"status": object{"addresses": []object{{"type": "InternalIP", "address": values["node-ip"]}}},
	}
	err := server.ask(http.MethodPost, "/api/v1/nodes", node, nil)
	if errors.Is(err, errExists) {
		// only the kubelet's own labels; taints stay as they are
		return server.ask(http.MethodPatch, "/api/v1/nodes/"+name, object{"metadata": object{"labels": labels}}, nil)
	}
	return err
}

// report sets the Ready condition: the node is ready if the runtime finds a CNI file, the first by name.
func report(server *api, values map[string]string) error {
	state, why := "False", "cni plugin not initialized"
	for _, pattern := range []string{"*.conf", "*.conflist", "*.json"} {
		if found, _ := filepath.Glob(filepath.Join(cniFolder(values), pattern)); len(found) > 0 {
			state, why = "True", "kubelet is posting ready status"
		}
	}
	ready := object{"type": "Ready", "status": state, "message": why}
	status := object{"status": object{"conditions": []object{ready}, "nodeInfo": object{"kubeletVersion": version()}}}
	return server.ask(http.MethodPatch, "/api/v1/nodes/"+values["hostname-override"]+"/status", status, nil)
}

func cniFolder(values map[string]string) string {
	if folder := values["cni-conf-dir"]; folder != "" {
		return folder
	}
	return `C:\k\cni\config`
}

func taints(text string) []object {
	var found []object
	for _, each := range strings.Split(text, ",") {
		front, effect, _ := strings.Cut(each, ":")
		key, value, _ := strings.Cut(front, "=")
		found = append(found, object{"key": key, "value": value, "effect": effect})
	}
	return found
}

// version reads the end of the program's file, where each archive has its own Kubernetes version.
func version() string {
	path, _ := os.Executable()
	text, _ := os.ReadFile(path)
	_, version, _ := strings.Cut(string(text[max(0, len(text)-32):]), "\nversion=")
	return strings.TrimSpace(version)
}

// build returns the build number of Windows.
func build() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Windows NT\CurrentVersion`, registry.READ)
	if err != nil {
		return ""
	}
	defer key.Close()
	text, _, _ := key.GetStringValue("CurrentBuildNumber")
	return text
}

// healthy starts to answer health checks on an address.
func healthy(address string) {
	go func() {
		answer := http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) { fmt.Fprint(to, "ok") })
		if err := http.ListenAndServe(address, answer); err != nil {
			note("failures.jsonl", object{"name": "health", "failure": err.Error()})
		}
	}()
}
