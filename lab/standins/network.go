package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// books is the folder with the state of the stand-ins of Windows' modules, such as the routing table.
const books = `C:\fakes`

const metadata = "169.254.169.254/32"

// nonPersistent is a flag of HNS networks: a reboot removes the network (hcsshim hcn.EnableNonPersistent).
const nonPersistent = 8

func readBook(name string) object {
	kept := object{}
	_ = readJSON(filepath.Join(books, name+".json"), &kept)
	return kept
}

func writeBook(name string, kept object) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return replace(filepath.Join(books, name+".json"), text)
}

func isMine(address string) error {
	mine, err := net.InterfaceAddrs()
	for left := 50; err != nil && left > 0; left-- { // Wine's own start: its services come before its network
		time.Sleep(100 * time.Millisecond)
		mine, err = net.InterfaceAddrs()
	}
	if err != nil {
		return err
	}
	for _, each := range mine {
		if own, ok := each.(*net.IPNet); ok && own.IP.String() == address {
			return nil
		}
	}
	return fmt.Errorf("Interface not found: %s", address)
}

type netConf struct {
	Network string
	Backend struct {
		Type      string
		VNI, Port int
	}
}

// flanneld takes the podCIDR of the Node, creates the overlay network and writes the subnet file.
func flanneld(words []string) error {
	texts := []string{"kubeconfig-file", "net-config-path", "subnet-file", "iface"}
	values, given, err := flags(words, texts, []string{"kube-subnet-mgr", "ip-masq", "iptables-forward-rules"})
	if err == nil {
		err = need(values, texts...)
	}
	if err != nil {
		return err
	}
	if !given["kube-subnet-mgr"] {
		return errors.New("only --kube-subnet-mgr is known here")
	}
	faults := readBook("flanneld")
	if left, _ := faults["hangs"].(float64); left > 0 {
		faults["hangs"] = left - 1
		if err := writeBook("flanneld", faults); err != nil {
			return err
		}
		forever()
	}
	var config netConf
	if err := readJSON(values["net-config-path"], &config); err != nil {
		return err
	}
	backend := config.Backend
	if backend.Type != "vxlan" || backend.VNI < 4096 || backend.Port != 4789 {
		return fmt.Errorf("backend %+v: Windows has vxlan with a VNI from 4096 on port 4789 only", backend)
	}
	node := os.Getenv("NODE_NAME")
	if node == "" {
		return errors.New("NODE_NAME is not set")
	}
	if err := isMine(values["iface"]); err != nil {
		return err
	}
	subnet, err := lease(values["kubeconfig-file"], node, values["iface"], config.Network, backend.VNI)
	if err != nil {
		return err
	}
	if err := makeNetwork(fmt.Sprintf("flannel.%d", backend.VNI), backend.VNI, subnet); err != nil {
		return err
	}
	if err := writeSubnet(values["subnet-file"], config.Network, subnet, given["ip-masq"]); err != nil {
		return err
	}
	forever()
	return nil
}

// lease writes flannel's annotations to the Node, and returns its pod range.
func lease(kubeconfig, name, address, whole string, vni int) (*net.IPNet, error) {
	server, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := server.ask(http.MethodGet, "/api/v1/nodes", nil, nil); err != nil {
		return nil, err
	}
	var node struct{ Spec struct{ PodCIDR string } }
	if err := server.ask(http.MethodGet, "/api/v1/nodes/"+name, nil, &node); err != nil {
		return nil, err
	}
	if node.Spec.PodCIDR == "" {
		return nil, fmt.Errorf("node %q pod cidr not assigned", name)
	}
	_, subnet, err := net.ParseCIDR(node.Spec.PodCIDR)
	if err != nil {
		return nil, err
	}
	if _, all, err := net.ParseCIDR(whole); err != nil || !all.Contains(subnet.IP) {
		return nil, fmt.Errorf("subnet %s specified in the flannel net config doesn't contain %s", whole, subnet)
	}
	said := object{
		"flannel.alpha.coreos.com/backend-data":        fmt.Sprintf(`{"VNI":%d,"VtepMAC":"0e:2a:00:00:00:01"}`, vni),
		"flannel.alpha.coreos.com/backend-type":        "vxlan",
		"flannel.alpha.coreos.com/kube-subnet-manager": "true",
		"flannel.alpha.coreos.com/public-ip":           address,
	}
	patch := object{"metadata": object{"annotations": said}}
	return subnet, server.ask(http.MethodPatch, "/api/v1/nodes/"+name+"/status", patch, nil)
}

func gateway(subnet *net.IPNet) net.IP {
	first := append(net.IP{}, subnet.IP.To4()...)
	first[3]++
	return first
}

// makeNetwork creates the network unless it exists as planned; the first network removes the metadata route.
func makeNetwork(name string, vni int, subnet *net.IPNet) error {
	networks, err := hnsNetworks()
	if err != nil {
		return err
	}
	first := len(networks) == 0
	for _, known := range networks {
		if known.Name != name {
			continue
		}
		if len(known.Subnets) > 0 && known.Subnets[0].AddressPrefix == subnet.String() {
			return nil
		}
		if err := askHNS("DELETE", "/networks/"+known.ID, nil, nil); err != nil {
			return err
		}
	}
	wanted := hnsNetwork{Name: name, Type: "Overlay", Flags: nonPersistent, Subnets: []hnsSubnet{{
		AddressPrefix: subnet.String(), GatewayAddress: gateway(subnet).String(),
		Policies: []object{{"Type": "VSID", "VSID": vni}},
	}}}
	if err := askHNS("POST", "/networks", wanted, nil); err != nil || !first {
		return err
	}
	routes := readBook("routes")
	delete(routes, metadata)
	return writeBook("routes", routes)
}

func writeSubnet(path, whole string, subnet *net.IPNet, masquerade bool) error {
	bits, _ := subnet.Mask.Size()
	text := fmt.Sprintf("FLANNEL_NETWORK=%s\nFLANNEL_SUBNET=%s/%d\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=%t\n",
		whole, gateway(subnet), bits, masquerade)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replace(path, []byte(text))
}
