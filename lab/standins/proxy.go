package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

type proxyConfig struct {
	Kind             string `json:"kind"`
	HostnameOverride string
	ClientConnection struct{ Kubeconfig string }
	Winkernel        struct{ NetworkName, SourceVip string }
}

// kubeProxy waits for its network, and on an overlay requires a source VIP, as the original does.
func kubeProxy(words []string) error {
	texts := []string{"config", "v", "log-file", "log-file-max-size", "windows-priorityclass"}
	values, given, err := flags(words, texts, []string{"windows-service", "logtostderr"})
	if err == nil {
		err = need(values, "config")
	}
	if err != nil {
		return err
	}
	if !given["windows-service"] {
		return errors.New("only --windows-service is known here")
	}
	var config proxyConfig
	if err := readJSON(values["config"], &config); err != nil {
		return err
	}
	if config.Kind != "KubeProxyConfiguration" {
		return fmt.Errorf("%s is not a KubeProxyConfiguration", values["config"])
	}
	return serve(func(_ string, stop <-chan struct{}) error {
		for again := time.Duration(0); ; again = time.Second / pace {
			select {
			case <-stop:
				return nil
			case <-time.After(again):
			}
			kind, found := networkType(config.Winkernel.NetworkName)
			if !found {
				continue
			}
			if kind == "Overlay" && config.Winkernel.SourceVip == "" {
				return errors.New("source-vip flag not set")
			}
			break
		}
		server, err := connect(config.ClientConnection.Kubeconfig)
		if err != nil {
			return err
		}
		for _, path := range []string{"services", "endpoints", "nodes/" + config.HostnameOverride} {
			if err := server.ask(http.MethodGet, "/api/v1/"+path, nil, nil); err != nil {
				return err
			}
		}
		healthy(":10256")
		<-stop
		return nil
	})
}

func networkType(name string) (string, bool) {
	networks, err := hnsNetworks()
	for _, known := range networks {
		if err == nil && known.Name == name {
			return known.Type, true
		}
	}
	return "", false
}
