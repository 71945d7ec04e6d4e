// credentials imitates the credential providers of Azure and Google, so that the lab needs the sources of neither: their
// command lines, what they ask, and the form of their answers. Its file name chooses one.
//
// azure-acr-credential-provider FILE: kubernetes-sigs/cloud-provider-azure 1.36.3, cmd/acr-credential-provider.
// auth-provider-gcp get-credentials: kubernetes/cloud-provider-gcp 35.1.0, cmd/auth-provider-gcp.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const api = "credentialprovider.kubelet.k8s.io/v1"

type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

type request struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Image      string `json:"image"`
}

type answer struct {
	Kind          string           `json:"kind"`
	APIVersion    string           `json:"apiVersion"`
	CacheKeyType  string           `json:"cacheKeyType"`
	CacheDuration string           `json:"cacheDuration"`
	Auth          map[string]login `json:"auth"`
}

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	provider, known := map[string]func(string, []string) (answer, error){
		"azure-acr-credential-provider": azure,
		"auth-provider-gcp":             google,
	}[name]
	if !known {
		log.Fatalf("no provider %s", name)
	}
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatalf("the request cannot be read: %v", err)
	}
	if asked.APIVersion != api || asked.Kind != "CredentialProviderRequest" {
		log.Fatalf("unknown request %s %s", asked.APIVersion, asked.Kind)
	}
	said, err := provider(asked.Image, os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	said.Kind, said.APIVersion = "CredentialProviderResponse", api
	text, err := json.Marshal(said)
	if err != nil {
		log.Fatal("the answer cannot be written") // without the error, which may hold credentials
	}
	fmt.Println(string(text))
}

var client = http.Client{Timeout: 60 * time.Second}

// ask returns status, headers and body of an answer.
func ask(question *http.Request) (int, http.Header, []byte, error) {
	reply, err := client.Do(question)
	if err != nil {
		return 0, nil, nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, reply.Header, text, err
}
