package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// isFor returns whether the file has a valid certificate for the name.
func isFor(path, name string) bool {
	content, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			one, err := x509.ParseCertificate(block.Bytes)
			return err == nil && one.Subject.CommonName == name && time.Now().Before(one.NotAfter)
		}
	}
	return false
}

// bootstrap requests a certificate with the kubeconfig's token, and writes certificate and key into one file.
func bootstrap(kubeconfig, current, name string) error {
	server, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return err
	}
	asked := object{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
		"metadata": object{"name": fmt.Sprintf("node-csr-%d", time.Now().UnixNano())},
		"spec": object{
			"request":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
			"signerName": "kubernetes.io/kube-apiserver-client-kubelet",
			"usages":     []string{"digital signature", "client auth"},
		},
	}
	issued, err := wait(server, asked)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	whole := append(issued, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...)
	if err := os.MkdirAll(filepath.Dir(current), 0o700); err != nil {
		return err
	}
	return replace(current, whole)
}

// wait returns the certificate once the request is approved.
func wait(server *api, asked object) ([]byte, error) {
	var made struct {
		Metadata struct{ Name string }
		Status   struct{ Certificate []byte }
	}
	if err := server.ask(http.MethodPost, requests, asked, &made); err != nil {
		return nil, err
	}
	for range 100 {
		if len(made.Status.Certificate) > 0 {
			return made.Status.Certificate, nil
		}
		time.Sleep(100 * time.Millisecond)
		if err := server.ask(http.MethodGet, requests+"/"+made.Metadata.Name, nil, &made); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("nobody approves the certificate signing request")
}

// writeKubeconfig copies the bootstrap kubeconfig with the certificate as its user.
func writeKubeconfig(from, to, current string) error {
	var config object
	if err := readJSON(from, &config); err != nil {
		// the bootstrap kubeconfig may be deleted once the node has joined
		if _, gone := os.Stat(to); gone == nil {
			return nil
		}
		return err
	}
	user := object{"client-certificate": current, "client-key": current}
	config["users"] = []object{{"name": "node", "user": user}}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return replace(to, text)
}

// replace replaces a file atomically; it tries again, because Windows refuses while another process reads the file.
func replace(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	err := os.Rename(path+".new", path)
	for left := 100; err != nil && left > 0; left-- {
		time.Sleep(20 * time.Millisecond)
		err = os.Rename(path+".new", path)
	}
	return err
}
