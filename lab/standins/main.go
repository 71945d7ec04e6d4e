// Stand-ins for programs of a Windows node that cannot be built or cannot run on the machines of the tests. One program
// under all their names: it takes their flags, files and environment, refuses wrong ones, and does what a node plan can
// observe of the original. Waits between tries are a twentieth of the original's.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const pace = 20

// run is a stand-in; it gets the arguments after the program's name.
type run func(words []string) error

var programs = map[string]run{
	"containerd":      containerd,
	"cri-dockerd":     criDockerd,
	"crictl":          crictl,
	"docker":          docker,
	"dockerd":         dockerd,
	"flanneld":        flanneld,
	"host-local":      hostLocal,
	"kube-log-runner": logRunner,
	"kube-proxy":      kubeProxy,
	"kubectl":         kubectl,
	"kubelet":         kubelet,
	"nssm":            nssm,
}

func main() {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	program, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "there is no stand-in for %s\n", name)
		os.Exit(2)
	}
	note("programs.jsonl", map[string]any{"name": name, "words": os.Args[1:]})
	if err := program(os.Args[1:]); err != nil {
		note("failures.jsonl", map[string]any{"name": name, "failure": err.Error()})
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// note appends a line to a file that tests read.
func note(file string, what any) {
	line, _ := json.Marshal(what)
	place, err := os.OpenFile(filepath.Join(books, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, _ = place.Write(append(line, '\n'))
		_ = place.Close()
	}
}

// flags parses texts and switches; other flags and arguments are errors, as in the originals.
func flags(words, texts, switches []string) (map[string]string, map[string]bool, error) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	text, given := map[string]*string{}, map[string]*bool{}
	for _, name := range texts {
		text[name] = set.String(name, "", "")
	}
	for _, name := range switches {
		given[name] = set.Bool(name, false, "")
	}
	if err := set.Parse(words); err != nil {
		return nil, nil, err
	}
	if set.NArg() > 0 {
		return nil, nil, fmt.Errorf("unknown command %q", set.Arg(0))
	}
	values, truths := map[string]string{}, map[string]bool{}
	set.Visit(func(each *flag.Flag) { values[each.Name] = each.Value.String() })
	for name, is := range given {
		truths[name] = *is
		delete(values, name)
	}
	return values, truths, nil
}

// need returns an error that names a missing flag.
func need(values map[string]string, names ...string) error {
	for _, name := range names {
		if values[name] == "" {
			return fmt.Errorf("--%s is missing", name)
		}
	}
	return nil
}

// readJSON decodes a file; a byte order mark is an error, as in Go's decoders.
func readJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
