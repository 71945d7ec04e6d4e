package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
)

const (
	identityService = "http://169.254.169.254/metadata/identity/oauth2/token"
	audience        = "https://containerregistry.azure.net"
	nobody          = "00000000-0000-0000-0000-000000000000"
)

var (
	server    = regexp.MustCompile(`^[a-zA-Z0-9-]+\.azurecr\.io(/|$)`)
	parameter = regexp.MustCompile(`(realm|service)="([^"]+)"`)
)

type cloudConfig struct {
	Cloud    string `json:"cloud"`
	Tenant   string `json:"tenantId"`
	Managed  bool   `json:"useManagedIdentityExtension"`
	Identity string `json:"userAssignedIdentityID"`
}

// azure exchanges a token of the identity in the file for one of the image's registry.
func azure(image string, arguments []string) (answer, error) {
	if len(arguments) != 1 {
		return answer{}, errors.New("config file is not specified")
	}
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return answer{}, err
	}
	var config cloudConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return answer{}, err
	}
	if config.Cloud != "AzurePublicCloud" || !config.Managed {
		return answer{}, errors.New("imitated only for the public cloud and managed identities")
	}
	host := strings.TrimSuffix(server.FindString(image), "/")
	if host == "" {
		return answer{CacheKeyType: "Registry", CacheDuration: "0s", Auth: map[string]login{}}, nil
	}
	token, err := entraToken(config.Identity)
	if err != nil {
		return answer{}, err
	}
	refresh, err := exchanged(host, token, config.Tenant)
	if err != nil {
		return answer{}, err
	}
	auth := map[string]login{"*.azurecr.*": {}, host: {nobody, refresh}}
	return answer{CacheKeyType: "Registry", CacheDuration: "1h0m0s", Auth: auth}, nil
}

func entraToken(identity string) (string, error) {
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {audience}, "client_id": {identity}}
	question, err := http.NewRequest(http.MethodGet, identityService+"?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	question.Header.Set("Metadata", "true")
	return field("access_token", question)
}

// exchanged asks the registry who gives its tokens, and exchanges the identity's token there.
func exchanged(host, token, tenant string) (string, error) {
	question, err := http.NewRequest(http.MethodGet, "https://"+host+"/v2/", nil)
	if err != nil {
		return "", err
	}
	status, headers, _, err := ask(question)
	if err != nil {
		return "", err
	}
	challenge := map[string]string{}
	for _, found := range parameter.FindAllStringSubmatch(headers.Get("Www-Authenticate"), -1) {
		challenge[found[1]] = found[2]
	}
	realm, err := url.Parse(challenge["realm"])
	if err != nil || status != http.StatusUnauthorized || challenge["service"] == "" {
		return "", fmt.Errorf("registry did not issue a valid challenge, status: %d", status)
	}
	form := url.Values{
		"grant_type": {"access_token_refresh_token"}, "service": {challenge["service"]}, "tenant": {tenant},
		"access_token": {token}, "refresh_token": {token},
	}
	place := realm.Scheme + "://" + realm.Host + "/oauth2/exchange"
	question, err = http.NewRequest(http.MethodPost, place, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	question.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return field("refresh_token", question)
}

func field(name string, question *http.Request) (string, error) {
	status, _, text, err := ask(question)
	if err != nil {
		return "", err
	}
	var given map[string]any
	if status != http.StatusOK || json.Unmarshal(text, &given) != nil {
		return "", fmt.Errorf("%s responded with status code %d", question.URL.Host, status)
	}
	value, _ := given[name].(string)
	return value, nil
}
