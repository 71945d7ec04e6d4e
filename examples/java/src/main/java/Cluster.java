import com.pulumi.Context;
import com.pulumi.Pulumi;
import com.pulumi.automation.LocalWorkspace;
import com.pulumi.automation.LocalWorkspaceOptions;
import com.pulumi.automation.PreviewOptions;
import com.pulumi.automation.UpOptions;
import com.pulumi.automation.WorkspaceStack;
import com.pulumi.core.Output;
import com.pulumi.core.annotations.Export;
import com.pulumi.core.annotations.Import;
import com.pulumi.resources.ComponentResource;
import com.pulumi.resources.ResourceArgs;
import java.nio.file.Path;
import java.util.Map;

/** The cluster of stacks/Pulumi.aws-dev.yaml. docs/languages.md says how to run it. */
public final class Cluster {
    static final class Args extends ResourceArgs {
        @Import(required = true) Output<String> cloud = Output.of("aws");
        @Import(required = true) Output<String> kubernetes;
        @Import Output<String> owner = Output.of("platform-team");
        @Import Output<Map<String, Object>> network = Output.of(Map.of(
            "mode", "overlay", "pods", "10.244.0.0/16", "services", "10.96.0.0/12", "nodes", "10.20.0.0/16"));
        @Import Output<Map<String, Object>> controlPlane = Output.of(Map.of("count", 1, "size", "m6i.large"));
        @Import Output<Map<String, Object>> pools;

        Args(String kubernetes, int windowsWorkers) {
            this.kubernetes = Output.of(kubernetes);
            this.pools = Output.of(Map.of(
                "linux", Map.of("os", "ubuntu-22.04", "count", 1, "size", "m6i.large"),
                "web", Map.of("os", "windows-2022", "runtime", "containerd", "count", windowsWorkers,
                    "size", "m6i.xlarge", "labels", Map.of("team", "web"))));
        }
    }

    static final class MixedCluster extends ComponentResource {
        @Export(refs = {String.class}, tree = "[0]") Output<String> endpoint;
        @Export(refs = {String.class}, tree = "[0]") Output<String> kubeconfig;

        MixedCluster(String name, Args args) {
            super("mullion:index:MixedCluster", name, args, null, true);
        }
    }

    static void program(Context context) {
        var config = context.config();
        var kubernetes = config.get("kubernetes").orElse("1.36.4");
        var cluster = new MixedCluster("aws-dev", new Args(kubernetes, config.getInteger("windowsWorkers").orElse(1)));
        context.export("endpoint", cluster.endpoint);
        context.export("kubeconfig", cluster.kubeconfig);
        // up() of the Automation API fails if an output of the stack is a map, so machines is not exported.
    }

    /** Runs the program by the Automation API, which needs no language host. */
    static void run(String operation) throws Exception {
        var options = LocalWorkspaceOptions.builder().workDir(Path.of(".")).program(Cluster::program).build();
        try (var stack = WorkspaceStack.createOrSelect("dev", LocalWorkspace.create(options))) {
            switch (operation) {
                case "preview" -> stack.preview(PreviewOptions.builder().onStandardOutput(System.out::println).build());
                case "up" -> stack.up(UpOptions.builder().onStandardOutput(System.out::println).build());
                // The cluster's hooks before deletions need the program; destroy() of this API cannot run it.
                case "destroy" -> throw new IllegalArgumentException("run pulumi destroy --run-program");
                default -> throw new IllegalArgumentException("write preview or up, not " + operation);
            }
        }
    }

    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            Pulumi.run(Cluster::program); // started by `pulumi up`
            return;
        }
        try {
            run(arguments[0]);
        } catch (Exception error) {
            System.err.println(error);
            System.exit(1);
        }
    }
}
