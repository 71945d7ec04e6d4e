package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

var kubectlTexts = []string{
	"certificate-authority", "kubeconfig", "o", "output", "password", "raw", "request-timeout", "server", "token",
	"username",
}

// kubectl supports `get --raw PATH`, and `get node NAME` as JSON or by a JSONPath template.
func kubectl(words []string) error {
	options, names := apart(words)
	values, _, err := flags(options, kubectlTexts, []string{"ignore-not-found"})
	if err != nil {
		return err
	}
	server, err := chosen(values)
	if err != nil {
		return err
	}
	path := values["raw"]
	switch {
	case len(names) == 0 || names[0] != "get":
		return fmt.Errorf("%q: only get is known here", names)
	case path != "" && len(names) == 1:
	case path == "" && len(names) == 3 && (names[1] == "node" || names[1] == "nodes"):
		path = "/api/v1/nodes/" + names[2]
	default:
		return fmt.Errorf("%q: only a path, or one node, is known here", names)
	}
	var found any
	if err := server.ask(http.MethodGet, path, nil, &found); err != nil {
		if errors.Is(err, errGone) {
			return fmt.Errorf("Error from server (NotFound): %w", err)
		}
		return err
	}
	format := values["output"] + values["o"]
	if template, chosen := strings.CutPrefix(format, "jsonpath="); chosen {
		return filled(template, found)
	}
	if format != "json" && values["raw"] == "" {
		return fmt.Errorf("output %q is not known here", format)
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// apart separates options from names, in any order; an option with a value is --name value or --name=value.
func apart(words []string) (options, names []string) {
	for place := 0; place < len(words); place++ {
		word := words[place]
		if !strings.HasPrefix(word, "-") {
			names = append(names, word)
			continue
		}
		options = append(options, word)
		if !strings.Contains(word, "=") && !strings.HasPrefix(word, "--ignore") && place+1 < len(words) {
			place++
			options = append(options, words[place])
		}
	}
	return options, names
}

func chosen(values map[string]string) (*api, error) {
	if values["kubeconfig"] != "" {
		return connect(values["kubeconfig"])
	}
	if err := need(values, "server", "certificate-authority"); err != nil {
		return nil, err
	}
	// the real kubectl would ask for a user name on the console, which does not exist here
	if values["username"] == "" || values["password"] == "" {
		return nil, errors.New("Please enter Username: error: EOF")
	}
	return anonymous(values["server"], values["certificate-authority"])
}

// filled prints a JSONPath template with the fields of an object, as kubectl does: a missing field is empty.
func filled(template string, found any) error {
	fields := jsonpath.New("output").AllowMissingKeys(true)
	if err := fields.Parse(template); err != nil {
		return err
	}
	return fields.Execute(os.Stdout, found)
}
