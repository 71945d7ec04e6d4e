// Writes the SDKs of a package's schema for Go and Node.js, as `pulumi package gen-sdk` does: sdks SCHEMA FOLDER.
// It calls the engine's own generators, so it needs no language host.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sdks SCHEMA FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(source, folder string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	// each generator changes the names in the package that it gets, so each gets its own
	forGo, err := bound(spec)
	if err != nil {
		return err
	}
	inGo, err := gogen.GeneratePackage("mullion", forGo, nil)
	if err != nil {
		return err
	}
	forNode, err := bound(spec)
	if err != nil {
		return err
	}
	inNode, err := nodejs.GeneratePackage("mullion", forNode, nil, nil, false, nil)
	if err != nil {
		return err
	}
	for language, files := range map[string]map[string][]byte{"go": inGo, "nodejs": inNode} {
		for name, content := range files {
			place := filepath.Join(folder, language, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(place, content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func bound(spec schema.PackageSpec) (*schema.Package, error) {
	pkg, found, err := schema.BindSpec(spec, nil, schema.ValidationOptions{})
	if err == nil && found.HasErrors() {
		err = found
	}
	return pkg, err
}
