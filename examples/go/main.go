// The cluster of stacks/Pulumi.aws-dev.yaml. docs/languages.md says how to run it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

// MixedCluster has the outputs of the component that the program uses.
type MixedCluster struct {
	pulumi.ResourceState

	Endpoint   pulumi.StringOutput    `pulumi:"endpoint"`
	Kubeconfig pulumi.StringOutput    `pulumi:"kubeconfig"`
	Machines   pulumi.StringMapOutput `pulumi:"machines"`
}

func cluster(ctx *pulumi.Context, name string, args pulumi.Map, opts ...pulumi.ResourceOption) (*MixedCluster, error) {
	made := &MixedCluster{}
	return made, ctx.RegisterRemoteComponentResource("mullion:index:MixedCluster", name, args, made, opts...)
}

func text(value string) pulumi.String { return pulumi.String(value) }

func program(ctx *pulumi.Context) error {
	kubernetes, workers := config.Get(ctx, "kubernetes"), config.GetInt(ctx, "windowsWorkers")
	if kubernetes == "" {
		kubernetes = "1.36.4"
	}
	if workers == 0 {
		workers = 1
	}
	made, err := cluster(ctx, "aws-dev", pulumi.Map{
		"cloud":      text("aws"),
		"kubernetes": text(kubernetes),
		"owner":      text("platform-team"),
		"network": pulumi.Map{
			"mode": text("overlay"), "pods": text("10.244.0.0/16"), "services": text("10.96.0.0/12"),
			"nodes": text("10.20.0.0/16"),
		},
		"controlPlane": pulumi.Map{"count": pulumi.Int(1), "size": text("m6i.large")},
		"pools": pulumi.Map{
			"linux": pulumi.Map{"os": text("ubuntu-22.04"), "count": pulumi.Int(1), "size": text("m6i.large")},
			"web": pulumi.Map{
				"os": text("windows-2022"), "runtime": text("containerd"), "count": pulumi.Int(workers),
				"size": text("m6i.xlarge"), "labels": pulumi.Map{"team": text("web")},
			},
		},
	})
	if err != nil {
		return err
	}
	ctx.Export("endpoint", made.Endpoint)
	ctx.Export("kubeconfig", made.Kubeconfig)
	ctx.Export("machines", made.Machines)
	return nil
}

// run runs the program by the Automation API, which needs no language host.
func run(ctx context.Context, operation string) error {
	stack, err := auto.UpsertStackInlineSource(ctx, "dev", "shop", program, auto.WorkDir("."))
	if err != nil {
		return err
	}
	switch operation {
	case "preview":
		_, err = stack.Preview(ctx, optpreview.ProgressStreams(os.Stdout))
	case "up":
		_, err = stack.Up(ctx, optup.ProgressStreams(os.Stdout))
	case "destroy":
		// The cluster's hooks before deletions need the program.
		_, err = stack.Destroy(ctx, optdestroy.ProgressStreams(os.Stdout), optdestroy.RunProgram(true))
	default:
		err = fmt.Errorf("write preview, up or destroy behind the program's name, not %q", operation)
	}
	return err
}

func main() {
	if len(os.Args) < 2 {
		pulumi.Run(program) // started by `pulumi up`
		return
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
