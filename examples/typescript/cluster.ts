// Builds the cluster of stacks/Pulumi.aws-dev.yaml, gives it a second Windows worker, and removes it.
// Run it by `node cluster.js` after `npx tsc`; WORK names an empty folder for the engine's files.
import * as pulumi from "@pulumi/pulumi";
import { LocalWorkspace } from "@pulumi/pulumi/automation";

class MixedCluster extends pulumi.ComponentResource {
    declare readonly endpoint: pulumi.Output<string>;
    declare readonly kubeconfig: pulumi.Output<string>;
    declare readonly machines: pulumi.Output<Record<string, string>>;

    constructor(name: string, args: pulumi.Inputs, opts?: pulumi.ComponentResourceOptions) {
        const outputs = { endpoint: undefined, kubeconfig: undefined, machines: undefined };
        super("mullion:index:MixedCluster", name, { ...args, ...outputs }, opts, true);
    }
}

function program(windowsWorkers: number) {
    return async () => {
        const cluster = new MixedCluster("aws-dev", {
            cloud: "aws",
            kubernetes: "1.36.4",
            owner: "platform-team",
            network: { mode: "overlay", pods: "10.244.0.0/16", services: "10.96.0.0/12", nodes: "10.20.0.0/16" },
            controlPlane: { count: 1, size: "m6i.large" },
            pools: {
                linux: { os: "ubuntu-22.04", count: 1, size: "m6i.large" },
                web: {
                    os: "windows-2022", runtime: "containerd", count: windowsWorkers, size: "m6i.xlarge",
                    labels: { team: "web" },
                },
            },
        });
        return { endpoint: cluster.endpoint, kubeconfig: cluster.kubeconfig, machines: cluster.machines };
    };
}

async function main() {
    const named = { stackName: "dev", projectName: "shop", program: program(1) };
    const stack = await LocalWorkspace.createOrSelectStack(named, { workDir: process.env.WORK });
    await stack.setConfig("aws:region", { value: "eu-west-1" });
    await stack.setConfig("mullion:world", { value: "sandbox" });
    for (const workers of [1, 2]) {
        stack.workspace.program = program(workers);
        const { outputs, summary } = await stack.up();
        const { resources } = (await stack.exportStack()).deployment;
        const urns = resources.map((each: { urn: string }) => each.urn);
        const { machines, kubeconfig } = outputs;
        const changes = summary.resourceChanges;
        console.log(JSON.stringify({ changes, machines: machines.value, secret: kubeconfig.secret, urns }));
    }
    // The cluster's hooks before deletions need the program.
    await stack.destroy({ runProgram: true });
    const left = (await stack.exportStack()).deployment.resources ?? [];
    console.log(JSON.stringify({ left: left.map((each: { urn: string }) => each.urn) }));
}

main().catch((error) => {
    console.error(String(error));
    process.exit(1);
});
