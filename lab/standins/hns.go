package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var hnsCall = windows.NewLazySystemDLL("vmcompute.dll").NewProc("HNSCall")

// askHNS calls the first API of the Host Networking Service and reads the answer's output (hcsshim internal/hns).
func askHNS(method, path string, body, output any) error {
	if err := hnsCall.Find(); err != nil {
		return err
	}
	text := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	words := make([]*uint16, 0, 3)
	for _, each := range []string{method, path, text} {
		word, err := windows.UTF16PtrFromString(each)
		if err != nil {
			return err
		}
		words = append(words, word)
	}
	var said *uint16
	code, _, _ := hnsCall.Call(uintptr(unsafe.Pointer(words[0])), uintptr(unsafe.Pointer(words[1])),
		uintptr(unsafe.Pointer(words[2])), uintptr(unsafe.Pointer(&said)))
	if code != 0 {
		return fmt.Errorf("HNSCall %s %s: 0x%x", method, path, code)
	}
	defer windows.CoTaskMemFree(unsafe.Pointer(said))
	var answer struct {
		Success bool
		Error   string
		Output  json.RawMessage
	}
	if err := json.Unmarshal([]byte(windows.UTF16PtrToString(said)), &answer); err != nil {
		return err
	}
	if !answer.Success {
		return errors.New(answer.Error)
	}
	if output == nil {
		return nil
	}
	return json.Unmarshal(answer.Output, output)
}

type hnsNetwork struct {
	ID, Name, Type string
	Flags          int
	Subnets        []hnsSubnet
}

type hnsSubnet struct {
	AddressPrefix, GatewayAddress string
	Policies                      []object
}

func hnsNetworks() ([]hnsNetwork, error) {
	var found []hnsNetwork
	return found, askHNS("GET", "/networks", nil, &found)
}
