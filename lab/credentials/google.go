package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
)

// account is asked for with a last dot, so that no search domain is tried.
const account = "http://metadata.google.internal./computeMetadata/v1/instance/service-accounts/default/"

// google offers the machine's token to Google's registries, and to the one of the image, whatever that is.
func google(image string, arguments []string) (answer, error) {
	if len(arguments) == 0 || arguments[0] != "get-credentials" {
		return answer{}, errors.New("usage: auth-provider-gcp get-credentials")
	}
	said := answer{CacheKeyType: "Image", CacheDuration: "0s", Auth: map[string]login{}}
	token, err := googleToken()
	if err != nil {
		log.Print(err) // the kubelet then pulls without credentials
		return said, nil
	}
	hosts := []string{"container.cloud.google.com", "gcr.io", "*.gcr.io", "*.pkg.dev"}
	if host, _, found := strings.Cut(image, "/"); found {
		hosts = append(hosts, host)
	}
	for _, host := range hosts {
		said.Auth[host] = login{"_token", token}
	}
	return said, nil
}

func googleToken() (string, error) {
	var token struct {
		Text string `json:"access_token"`
	}
	for _, name := range []string{"email", "token"} {
		question, err := http.NewRequest(http.MethodGet, account+name, nil)
		if err != nil {
			return "", err
		}
		question.Header.Set("Metadata-Flavor", "Google")
		status, _, text, err := ask(question)
		if err != nil {
			return "", err
		}
		if status != http.StatusOK {
			return "", fmt.Errorf("while reading %s: status %d", name, status)
		}
		if name == "token" && json.Unmarshal(text, &token) != nil {
			return "", errors.New("the metadata service gave no token")
		}
	}
	return token.Text, nil
}
