// The cluster of stacks/Pulumi.aws-dev.yaml. docs/languages.md says how to run it.
import * as pulumi from "@pulumi/pulumi";

class MixedCluster extends pulumi.ComponentResource {
    declare readonly endpoint: pulumi.Output<string>;
    declare readonly kubeconfig: pulumi.Output<string>;
    declare readonly machines: pulumi.Output<Record<string, string>>;

    constructor(name: string, args: pulumi.Inputs, opts?: pulumi.ComponentResourceOptions) {
        const outputs = { endpoint: undefined, kubeconfig: undefined, machines: undefined };
        super("mullion:index:MixedCluster", name, { ...args, ...outputs }, opts, true);
    }
}

// Pulumi calls the function that a program exports; what it returns are the stack's outputs.
export = async () => {
    const config = new pulumi.Config();
    const { endpoint, kubeconfig, machines } = new MixedCluster("aws-dev", {
        cloud: "aws",
        kubernetes: config.get("kubernetes") ?? "1.36.4",
        owner: "platform-team",
        network: { mode: "overlay", pods: "10.244.0.0/16", services: "10.96.0.0/12", nodes: "10.20.0.0/16" },
        controlPlane: { count: 1, size: "m6i.large" },
        pools: {
            linux: { os: "ubuntu-22.04", count: 1, size: "m6i.large" },
            web: {
                os: "windows-2022",
                runtime: "containerd",
                count: config.getNumber("windowsWorkers") ?? 1,
                size: "m6i.xlarge",
                labels: { team: "web" },
            },
        },
    });
    return { endpoint, kubeconfig, machines };
};
