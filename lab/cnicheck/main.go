// cnicheck reads CNI files as container runtimes do (libcni); built for Windows, also as the plug-ins do.
//
// For each file it prints one line of JSON, or an error to stderr and exits with 1:
//
//	{"name": "flannel.4096", "cniVersion": "1.0.0", "plugins": ["flannel", "portmap"]}
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

// flannel has the fields of flannel's plug-in (flannel-io/cni-plugin, NetConf), whose module is in no Go module proxy.
type flannel struct {
	types.NetConf
	SubnetFile string          `json:"subnetFile"`
	DataDir    string          `json:"dataDir"`
	Delegate   json.RawMessage `json:"delegate"`
}

type summary struct {
	Name       string   `json:"name"`
	CNIVersion string   `json:"cniVersion"`
	Plugins    []string `json:"plugins"`
}

func main() {
	failed := false
	for _, file := range os.Args[1:] {
		found, err := check(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			failed = true
			continue
		}
		line, _ := json.Marshal(found)
		fmt.Println(string(line))
	}
	if failed {
		os.Exit(1)
	}
}

func check(file string) (*summary, error) {
	list, err := libcni.ConfListFromFile(file)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(version.All.SupportedVersions(), list.CNIVersion) {
		return nil, fmt.Errorf("libcni does not know cniVersion %q", list.CNIVersion)
	}
	found := &summary{Name: list.Name, CNIVersion: list.CNIVersion}
	for _, plugin := range list.Plugins {
		found.Plugins = append(found.Plugins, plugin.Network.Type)
		text := []byte(plugin.Bytes)
		if plugin.Network.Type == "flannel" {
			var conf flannel
			if err := strict(text, &conf); err != nil {
				return nil, fmt.Errorf("flannel: %w", err)
			}
			text = conf.Delegate
		}
		if err := checkWindows(text); err != nil {
			return nil, fmt.Errorf("%s: %w", plugin.Network.Type, err)
		}
	}
	return found, nil
}

// strict decodes JSON; a field that the target does not have is an error.
func strict(text []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(target)
}
