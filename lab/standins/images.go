package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// An image has the Windows build of the machine, unless the state file image-builds names another.

// crictl supports `pull IMAGE` and `inspecti --output=json IMAGE`.
func crictl(words []string) error {
	if os.Getenv("CONTAINER_RUNTIME_ENDPOINT") == "" {
		return errors.New("no runtime endpoint is set, and the defaults are gone")
	}
	switch {
	case len(words) == 2 && words[0] == "pull":
		return pull(words[1])
	case len(words) == 3 && words[0] == "inspecti" && words[1] == "--output=json":
		build, err := pulled(words[2])
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(object{"info": object{"imageSpec": object{"os.version": build}}})
	}
	return fmt.Errorf("%q is not known here", words)
}

// docker supports `pull IMAGE` and `image inspect IMAGE`.
func docker(words []string) error {
	switch {
	case len(words) == 2 && words[0] == "pull":
		return pull(words[1])
	case len(words) == 3 && slices.Equal(words[:2], []string{"image", "inspect"}):
		build, err := pulled(words[2])
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode([]object{{"OsVersion": build}})
	}
	return fmt.Errorf("%q is not known here", words)
}

func pull(image string) error {
	if !strings.Contains(image, "/") || !strings.Contains(image, ":") {
		return fmt.Errorf("%q names no registry, or no tag", image)
	}
	images := readBook("images")
	images[image] = "10.0." + build() + ".1"
	if other, told := readBook("image-builds")[image]; told {
		images[image] = other
	}
	return writeBook("images", images)
}

func pulled(image string) (string, error) {
	version, there := readBook("images")[image].(string)
	if !there {
		return "", fmt.Errorf("no such image %q present", image)
	}
	return version, nil
}
