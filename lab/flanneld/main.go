// flanneld stands in for flannel's daemon on Linux, which cannot be built from the Go module proxies.
//
// Like flanneld --kube-subnet-mgr it reads /etc/kube-flannel/net-conf.json and the podCIDR of its Node, and writes
// /run/flannel/subnet.env. It sets plain routes to other nodes' addresses instead of VXLAN: the lab's machines share
// one network segment.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	account  = "/var/run/secrets/kubernetes.io/serviceaccount"
	settings = "/etc/kube-flannel/net-conf.json"
	written  = "/run/flannel/subnet.env"
	ours     = netlink.RouteProtocol(83) // marks our routes, so that those of nodes that are gone go too
	headers  = 50                        // bytes that VXLAN adds to a packet
)

var masquerade = flag.Bool("ip-masq", false, "translate what leaves the pod network")

type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		PodCIDR string `json:"podCIDR"`
	} `json:"spec"`
	Status struct {
		Addresses []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
	} `json:"status"`
}

type network struct {
	Network string `json:"Network"`
	Backend struct {
		Type string `json:"Type"`
		MTU  int    `json:"MTU"`
	} `json:"Backend"`
}

func main() {
	flag.Bool("kube-subnet-mgr", false, "ranges come from the nodes' podCIDR; nothing else is known here")
	flag.Parse()
	log.Print("flanneld: a stand-in of the lab: plain routes instead of VXLAN")
	conf := network{}
	text, err := os.ReadFile(settings)
	if err == nil {
		err = json.Unmarshal(text, &conf)
	}
	if err != nil {
		log.Fatalf("%s: %v", settings, err)
	}
	for name := ""; ; time.Sleep(2 * time.Second) {
		if err := tick(&conf, &name); err != nil {
			log.Print(err)
		}
	}
}

// tick updates routes and subnet.env from the cluster's Nodes.
func tick(conf *network, name *string) error {
	if *name == "" {
		pod := struct {
			Spec struct {
				NodeName string `json:"nodeName"`
			} `json:"spec"`
		}{}
		path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME"))
		if err := get(path, &pod); err != nil {
			return err
		}
		*name = pod.Spec.NodeName
	}
	nodes := struct {
		Items []node `json:"items"`
	}{}
	if err := get("/api/v1/nodes", &nodes); err != nil {
		return err
	}
	if conf.Backend.Type != "alloc" { // there the cloud routes
		if err := route(*name, nodes.Items); err != nil {
			return err
		}
	}
	for _, each := range nodes.Items {
		if each.Metadata.Name == *name && each.Spec.PodCIDR != "" {
			return write(conf, each.Spec.PodCIDR)
		}
	}
	return fmt.Errorf("node %s has no podCIDR yet", *name)
}

// get reads an object from the API with the pod's service account.
func get(path string, into any) error {
	token, err := os.ReadFile(account + "/token")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(account + "/ca.crt")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequest(http.MethodGet, "https://"+host+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("GET %s: %s: %s", path, answer.Status, said)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// route sets a route for the pod range of every other node, and removes our routes of nodes that are gone.
func route(name string, nodes []node) error {
	wanted := map[string]net.IP{}
	for _, each := range nodes {
		for _, address := range each.Status.Addresses {
			if address.Type == "InternalIP" && each.Metadata.Name != name && each.Spec.PodCIDR != "" {
				wanted[each.Spec.PodCIDR] = net.ParseIP(address.Address)
			}
		}
	}
	present, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: ours}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return err
	}
	for index := range present {
		if to, found := wanted[present[index].Dst.String()]; !found || !to.Equal(present[index].Gw) {
			if err := netlink.RouteDel(&present[index]); err != nil {
				return err
			}
		}
	}
	for subnet, gateway := range wanted {
		_, destination, err := net.ParseCIDR(subnet)
		if err != nil {
			return err
		}
		if err := netlink.RouteReplace(&netlink.Route{Dst: destination, Gw: gateway, Protocol: ours}); err != nil {
			return fmt.Errorf("route to %s by %s: %w", subnet, gateway, err)
		}
	}
	return nil
}

// write writes subnet.env atomically, where flannel's CNI plug-in reads it.
func write(conf *network, subnet string) error {
	address, mask, err := net.ParseCIDR(subnet)
	if err != nil {
		return err
	}
	first := address.To4()
	first[3]++
	ones, _ := mask.Mask.Size()
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	packet := conf.Backend.MTU
	if packet == 0 {
		packet = link.Attrs().MTU
	}
	text := fmt.Sprintf(
		"FLANNEL_NETWORK=%s\nFLANNEL_SUBNET=%s/%d\nFLANNEL_MTU=%d\nFLANNEL_IPMASQ=%t\n",
		conf.Network, first, ones, packet-headers, *masquerade,
	)
	if present, err := os.ReadFile(written); err == nil && string(present) == text {
		return nil
	}
	if *masquerade {
		rule := []string{"POSTROUTING", "-s", conf.Network, "!", "-d", conf.Network, "-j", "MASQUERADE"}
		if exec.Command("iptables", append([]string{"-w", "-t", "nat", "-C"}, rule...)...).Run() != nil {
			if said, err := exec.Command("iptables", append([]string{"-w", "-t", "nat", "-A"}, rule...)...).CombinedOutput(); err != nil {
				return fmt.Errorf("iptables: %w: %s", err, said)
			}
		}
	}
	beside := filepath.Join(filepath.Dir(written), ".subnet.env")
	if err := os.WriteFile(beside, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(beside, written)
}
