// Runs index.ts by the Automation API: `node run.js preview`, `up` or `destroy`. It needs no language host.
import { LocalWorkspace } from "@pulumi/pulumi/automation";
import program = require("./index");

async function main(operation: string) {
    const named = { stackName: "dev", projectName: "shop", program };
    const stack = await LocalWorkspace.createOrSelectStack(named, { workDir: __dirname });
    const onOutput = (text: string) => void process.stdout.write(text);
    if (operation === "preview") {
        await stack.preview({ onOutput });
    } else if (operation === "up") {
        await stack.up({ onOutput });
    } else if (operation === "destroy") {
        // The cluster's hooks before deletions need the program.
        await stack.destroy({ onOutput, runProgram: true });
    } else {
        throw new Error("write preview, up or destroy behind `node run.js`");
    }
}

main(process.argv[2]).catch((error) => {
    console.error(String(error));
    process.exit(1);
});
