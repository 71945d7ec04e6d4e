// flannel stands in for flannel's CNI plug-in (flannel-io/cni-plugin), whose module is in no Go module proxy.
//
// Like the original it reads subnet.env, makes a configuration of bridge and host-local, and passes each call on to
// bridge. It keeps the configuration of each container, so that DEL works after subnet.env has changed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

type configuration struct {
	types.NetConf
	SubnetFile    string         `json:"subnetFile"`
	DataDir       string         `json:"dataDir"`
	Delegate      map[string]any `json:"delegate"`
	RuntimeConfig map[string]any `json:"runtimeConfig,omitempty"`
}

func main() {
	calls := skel.CNIFuncs{Add: add, Del: del, Check: func(*skel.CmdArgs) error { return nil }}
	skel.PluginMainFuncs(calls, version.All, "flannel: a stand-in of the lab")
}

func read(stdin []byte) (*configuration, error) {
	conf := &configuration{SubnetFile: "/run/flannel/subnet.env", DataDir: "/var/lib/cni/flannel"}
	if err := json.Unmarshal(stdin, conf); err != nil {
		return nil, fmt.Errorf("the network configuration: %w", err)
	}
	return conf, nil
}

func add(args *skel.CmdArgs) error {
	conf, err := read(args.StdinData)
	if err != nil {
		return err
	}
	values, err := subnet(conf.SubnetFile)
	if err != nil {
		return err
	}
	made, err := delegate(conf, values)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(conf.DataDir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(conf.DataDir, args.ContainerID), made, 0o600); err != nil {
		return err
	}
	result, err := invoke.DelegateAdd(context.Background(), kind(conf), made, nil)
	if err != nil {
		return err
	}
	return types.PrintResult(result, conf.CNIVersion)
}

func del(args *skel.CmdArgs) error {
	conf, err := read(args.StdinData)
	if err != nil {
		return err
	}
	kept := filepath.Join(conf.DataDir, args.ContainerID)
	made, err := os.ReadFile(kept)
	if errors.Is(err, os.ErrNotExist) {
		return nil // taken away already
	}
	if err != nil {
		return err
	}
	if err := invoke.DelegateDel(context.Background(), kind(conf), made, nil); err != nil {
		return err
	}
	return os.Remove(kept)
}

func kind(conf *configuration) string {
	if name, ok := conf.Delegate["type"].(string); ok {
		return name
	}
	return "bridge"
}

// delegate returns the configuration for bridge: the user's fields, and those of subnet.env for all others.
func delegate(conf *configuration, values map[string]string) ([]byte, error) {
	mtu, err := strconv.Atoi(values["FLANNEL_MTU"])
	if err != nil {
		return nil, fmt.Errorf("FLANNEL_MTU in %s: %w", conf.SubnetFile, err)
	}
	// the node's own pod address, with its prefix
	_, subnet, err := net.ParseCIDR(values["FLANNEL_SUBNET"])
	if err != nil {
		return nil, fmt.Errorf("FLANNEL_SUBNET in %s: %w", conf.SubnetFile, err)
	}
	made := map[string]any{
		"type": kind(conf), "name": conf.Name, "cniVersion": conf.CNIVersion,
		"mtu": mtu, "ipMasq": values["FLANNEL_IPMASQ"] != "true", "isGateway": true,
		"ipam": map[string]any{
			"type":   "host-local",
			"ranges": []any{[]any{map[string]any{"subnet": subnet.String()}}},
			"routes": []any{map[string]any{"dst": values["FLANNEL_NETWORK"]}},
		},
	}
	for name, value := range conf.Delegate {
		made[name] = value
	}
	if conf.RuntimeConfig != nil {
		made["runtimeConfig"] = conf.RuntimeConfig
	}
	return json.Marshal(made)
}

// subnet reads subnet.env, which flanneld writes once the node has a pod range.
func subnet(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), "="); found {
			values[name] = value
		}
	}
	for _, name := range []string{"FLANNEL_NETWORK", "FLANNEL_SUBNET", "FLANNEL_MTU", "FLANNEL_IPMASQ"} {
		if values[name] == "" {
			return nil, fmt.Errorf("%s has no %s", path, name)
		}
	}
	return values, nil
}
