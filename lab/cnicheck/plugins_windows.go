package main

import (
	"encoding/json"
	"fmt"

	"github.com/Microsoft/hcsshim"
	"github.com/Microsoft/hcsshim/hcn"
	"github.com/containernetworking/plugins/pkg/hns"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/allocator"
)

// overlay has the fields of win-overlay, bridge those of win-bridge: their types are in packages main.
type overlay struct {
	hns.NetConf
	IPMasq            bool   `json:"ipMasq"`
	EndpointMacPrefix string `json:"endpointMacPrefix,omitempty"`
}

type bridge struct {
	hns.NetConf
	IPMasqNetwork string `json:"ipMasqNetwork,omitempty"`
}

// route is HNS' ROUTE policy; hcsshim exports no type for it.
type route struct {
	Type              string
	DestinationPrefix string
	NextHop           string
	NeedEncap         bool
}

var settings = map[hcn.EndpointPolicyType]func() any{
	hcn.OutBoundNAT:            func() any { return &hcn.OutboundNatPolicySetting{} },
	hcn.SDNRoute:               func() any { return &hcn.SDNRoutePolicySetting{} },
	hcn.NetworkProviderAddress: func() any { return &hcn.ProviderAddressEndpointPolicySetting{} },
	hcn.ACL:                    func() any { return &hcn.AclPolicySetting{} },
}

var policies = map[string]func() any{
	"OutBoundNAT": func() any { return &hcsshim.OutboundNatPolicy{} },
	"ROUTE":       func() any { return &route{} },
	"PA":          func() any { return &hcsshim.PaPolicy{} },
	"ACL":         func() any { return &hcsshim.ACLPolicy{} },
}

// checkWindows decodes the configuration of win-overlay or win-bridge, and the part for host-local.
func checkWindows(text []byte) error {
	var kind struct {
		Type string          `json:"type"`
		IPAM json.RawMessage `json:"ipam"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	if kind.IPAM != nil {
		var ipam allocator.IPAMConfig
		if err := strict(kind.IPAM, &ipam); err != nil {
			return fmt.Errorf("ipam: %w", err)
		}
		if _, _, err := allocator.LoadIPAMConfig(text, ""); err != nil {
			return fmt.Errorf("ipam: %w", err)
		}
	}
	confs := map[string]any{"win-overlay": &overlay{}, "win-bridge": &bridge{}}
	conf, known := confs[kind.Type]
	if !known {
		return fmt.Errorf("type %q is neither win-overlay nor win-bridge", kind.Type)
	}
	if err := strict(withoutIPAM(text), conf); err != nil {
		return err
	}
	var common hns.NetConf
	if err := json.Unmarshal(text, &common); err != nil {
		return err
	}
	return checkPolicies(&common)
}

// withoutIPAM removes the section that the plug-in passes to the IPAM plug-in unchanged.
func withoutIPAM(text []byte) []byte {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(text, &fields)
	delete(fields, "ipam")
	rest, _ := json.Marshal(fields)
	return rest
}

func checkPolicies(conf *hns.NetConf) error {
	for _, each := range conf.Policies {
		if each.Name != "EndpointPolicy" {
			return fmt.Errorf("the plug-in ignores a policy with the name %q", each.Name)
		}
		var err error
		if conf.ApiVersion == 2 {
			err = checkSetting(each.Value)
		} else {
			err = checkPolicy(each.Value)
		}
		if err != nil {
			return fmt.Errorf("policy %s: %w", each.Value, err)
		}
	}
	return nil
}

// checkSetting decodes a policy of HCN, the second version of the API.
func checkSetting(text []byte) error {
	var policy hcn.EndpointPolicy
	if err := strict(text, &policy); err != nil {
		return err
	}
	setting, known := settings[policy.Type]
	if !known {
		return fmt.Errorf("type %q is not known", policy.Type)
	}
	return strict(policy.Settings, setting())
}

// checkPolicy decodes a policy of HNS, the first version of the API.
func checkPolicy(text []byte) error {
	var kind struct{ Type string }
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	policy, known := policies[kind.Type]
	if !known {
		return fmt.Errorf("type %q is not known", kind.Type)
	}
	return strict(text, policy())
}
