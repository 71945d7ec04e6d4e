package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

type object = map[string]any

// kubeconfig has the fields of kubeconfigs that plans write: one cluster, one user, certificates as files.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Token       string `json:"token"`
			Certificate string `json:"client-certificate"`
			Key         string `json:"client-key"`
		} `json:"user"`
	} `json:"users"`
}

// api is a connection to the API server that trusts only the kubeconfig's CA.
type api struct {
	server, token string
	client        *http.Client
}

func connect(path string) (*api, error) {
	var config kubeconfig
	if err := readJSON(path, &config); err != nil {
		return nil, err
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, fmt.Errorf("%s: %d clusters and %d users, not one each", path, len(config.Clusters), len(config.Users))
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	security, err := trusting(cluster.CA)
	if err != nil {
		return nil, err
	}
	if user.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(user.Certificate, user.Key)
		if err != nil {
			return nil, err
		}
		security.Certificates = []tls.Certificate{pair}
	} else if user.Token == "" {
		return nil, fmt.Errorf("%s: the user has neither token nor certificate", path)
	}
	return reach(cluster.Server, user.Token, security), nil
}

func reach(server, token string, security *tls.Config) *api {
	transport := &http.Transport{TLSClientConfig: security, DisableKeepAlives: true}
	return &api{server, token, &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// anonymous connects without a user.
func anonymous(server, authority string) (*api, error) {
	security, err := trusting(authority)
	if err != nil {
		return nil, err
	}
	return reach(server, "", security), nil
}

// trusting returns a TLS configuration that trusts only the certificates of one file.
func trusting(path string) (*tls.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return &tls.Config{RootCAs: roots}, nil
}

var (
	errGone   = errors.New("not found")
	errExists = errors.New("already exists")
)

// ask sends a request and decodes the answer into `into`, unless that is nil.
func (one *api) ask(method, path string, body any, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, one.server+path, sent)
	if err != nil {
		return err
	}
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	request.Header.Set("Content-Type", kind)
	if one.token != "" {
		request.Header.Set("Authorization", "Bearer "+one.token)
	}
	answer, err := one.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", path, errGone)
	case answer.StatusCode == http.StatusConflict:
		return fmt.Errorf("%s: %w", path, errExists)
	case answer.StatusCode >= 300:
		return fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
	case into != nil:
		return json.Unmarshal(text, into)
	}
	return nil
}
