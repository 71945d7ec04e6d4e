package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

type ipamAsked struct {
	CNIVersion, Name string
	IPAM             struct {
		Type, DataDir string
		Ranges        [][]struct{ Subnet string }
	}
}

// hostLocal reserves an address for a holder: one file per address in the network's folder, as the CNI plug-in does.
func hostLocal([]string) error {
	var asked ipamAsked
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	holder, device := os.Getenv("CNI_CONTAINERID"), os.Getenv("CNI_IFNAME")
	for _, name := range []string{"CNI_COMMAND", "CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("required env variables [%s] missing", name)
		}
	}
	if asked.IPAM.Type != "host-local" || asked.Name == "" || len(asked.IPAM.Ranges) != 1 {
		return errors.New("no ipam of type host-local with one range")
	}
	folder := filepath.Join(asked.IPAM.DataDir, asked.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	own := fmt.Sprintf("%s\r\n%s", holder, device)
	held := heldBy(folder, own)
	switch os.Getenv("CNI_COMMAND") {
	case "DEL":
		if held != "" {
			return os.Remove(filepath.Join(folder, held))
		}
		return nil
	case "ADD":
		if held != "" {
			return fmt.Errorf("%s has been allocated to %s, duplicate allocation is not allowed", held, holder)
		}
		return reserve(folder, own, asked)
	}
	return fmt.Errorf("unknown CNI_COMMAND: %s", os.Getenv("CNI_COMMAND"))
}

func heldBy(folder, own string) string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.*.*.*"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == own {
			return filepath.Base(file)
		}
	}
	return ""
}

func reserve(folder, own string, asked ipamAsked) error {
	_, subnet, err := net.ParseCIDR(asked.IPAM.Ranges[0][0].Subnet)
	if err != nil {
		return err
	}
	address := gateway(subnet)
	for address[3]++; subnet.Contains(address) && address[3] < 255; address[3]++ {
		file := filepath.Join(folder, address.String())
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
			return err
		}
		bits, _ := subnet.Mask.Size()
		answer := object{
			"cniVersion": asked.CNIVersion,
			"ips":        []object{{"address": fmt.Sprintf("%s/%d", address, bits), "gateway": gateway(subnet).String()}},
		}
		return json.NewEncoder(os.Stdout).Encode(answer)
	}
	return fmt.Errorf("no IP addresses available in range set: %s", subnet)
}
