package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"
)

var tomlVersion = regexp.MustCompile(`(?m)^version = ([234])$`)

// containerd requires a version in its configuration; the real containerd judges the rest in other tests.
func containerd(words []string) error {
	values, given, err := flags(words, []string{"config", "log-file"}, []string{"run-service"})
	if err == nil {
		err = need(values, "config", "log-file")
	}
	if err != nil {
		return err
	}
	if !given["run-service"] {
		return errors.New("only --run-service is known here")
	}
	text, err := os.ReadFile(values["config"])
	if err != nil {
		return err
	}
	if !tomlVersion.Match(text) {
		return fmt.Errorf("%s has no version", values["config"])
	}
	return serve(idle)
}

// dockerd is Docker's service.
func dockerd(words []string) error {
	values, given, err := flags(words, []string{"config-file"}, []string{"run-service"})
	if err == nil {
		err = need(values, "config-file")
	}
	if err != nil {
		return err
	}
	if !given["run-service"] {
		return errors.New("only --run-service is known here")
	}
	var settings map[string]any
	if err := readJSON(values["config-file"], &settings); err != nil {
		return err
	}
	return serve(idle)
}

// criDockerd runs under a wrapper: like the original it is no Windows service.
func criDockerd(words []string) error {
	texts := []string{"container-runtime-endpoint", "docker-endpoint", "network-plugin", "cni-bin-dir", "cni-conf-dir",
		"image-pull-progress-deadline", "pod-infra-container-image"}
	values, _, err := flags(words, texts, nil)
	if err == nil {
		err = need(values, texts...)
	}
	if err != nil {
		return err
	}
	forever()
	return nil
}

// forever blocks; a select without cases is a fatal error when no other goroutine runs.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// idle does nothing until it is stopped.
func idle(_ string, stop <-chan struct{}) error {
	<-stop
	return nil
}
