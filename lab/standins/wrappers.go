package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// logRunner is kube-log-runner: it runs a program with its output in a file; that program answers the service manager.
func logRunner(words []string) error {
	texts := []string{"log-file", "log-file-size", "log-file-age"}
	rest := len(words)
	for place, word := range words {
		if word == "" || word[0] != '-' {
			rest = place
			break
		}
	}
	values, _, err := flags(words[:rest], texts, []string{"also-stdout", "redirect-stderr"})
	if err == nil {
		err = need(values, "log-file")
	}
	if err != nil {
		return err
	}
	if rest == len(words) {
		return errors.New("missing arguments: not told what to run")
	}
	command := exec.Command(words[rest], words[rest+1:]...)
	end, err := start(command, values["log-file"])
	if err != nil {
		return err
	}
	return <-end
}

// nssm runs the program of its service's Parameters, and restarts it (nssm.cc "Usage", registry.cpp).
func nssm(words []string) error {
	if len(words) > 0 {
		return fmt.Errorf("%q: only what the service manager starts is known here", words)
	}
	return serve(func(name string, stop <-chan struct{}) error {
		key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\`+name+`\Parameters`,
			registry.READ)
		if err != nil {
			return fmt.Errorf("service %s has no Parameters: %w", name, err)
		}
		defer key.Close()
		for {
			end, command, err := wrapped(key)
			if err != nil {
				return err
			}
			select {
			case <-stop:
				_ = command.Process.Kill()
				<-end
				return nil
			case <-end:
			}
			delay, _, _ := key.GetIntegerValue("AppRestartDelay")
			select {
			case <-stop:
				return nil
			case <-time.After(time.Duration(delay/pace) * time.Millisecond):
			}
		}
	})
}

// wrapped starts the program that the service's Parameters name.
func wrapped(key registry.Key) (<-chan error, *exec.Cmd, error) {
	text := map[string]string{}
	for _, name := range []string{"Application", "AppParameters", "AppDirectory", "AppStdout", "AppStderr"} {
		value, _, err := key.GetStringValue(name)
		if err != nil {
			return nil, nil, fmt.Errorf("Parameters\\%s: %w", name, err)
		}
		text[name] = value
	}
	if text["AppStdout"] != text["AppStderr"] {
		return nil, nil, errors.New("AppStdout and AppStderr are not one file")
	}
	command := exec.Command(text["Application"])
	command.Dir = text["AppDirectory"]
	if strings.EqualFold(filepath.Base(text["Application"]), "powershell.exe") {
		command.Dir = `C:\` // PowerShell on .NET does not start in its own folder (hostfxr, detect_operating_mode)
	}
	line := `"` + text["Application"] + `" ` + text["AppParameters"]
	// as nssm does unless AppNoConsole is set; PowerShell ends at once without a console
	command.SysProcAttr = &syscall.SysProcAttr{CmdLine: line, CreationFlags: windows.CREATE_NEW_CONSOLE}
	extra, _, _ := key.GetStringsValue("AppEnvironmentExtra")
	command.Env = append(os.Environ(), extra...)
	end, err := start(command, text["AppStdout"])
	return end, command, err
}

// start starts a program with its output in the file.
func start(command *exec.Cmd, log string) (<-chan error, error) {
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	command.Stdout, command.Stderr = file, file
	if err := command.Start(); err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	go func() {
		end <- command.Wait()
		_ = file.Close()
	}()
	return end, nil
}
