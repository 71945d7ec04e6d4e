"""Changes of the project's own scripts: arguments that 5.1 does not accept, properties that an object lacks."""

from tests.powershell_lint.mutation import Mutation

ARGUMENTS = [
    Mutation("modules/forwarding.ps1", "-Forwarding Enabled", "-Forwarding On", "-Forwarding does not accept 'On'"),
    Mutation(
        "image/bake.ps1", "-LogonType ServiceAccount", "-LogonType Service", "-LogonType does not accept 'Service'"
    ),
    Mutation("kinds/tasks.ps1", "'IgnoreNew'", "'StopExisting'", "-MultipleInstances does not accept 'StopExisting'"),
    Mutation("kinds/network.ps1", "-DefaultInboundAction 'Block'", "-DefaultInboundAction 'Deny'", "not accept 'Deny'"),
    Mutation("kinds/tasks.ps1", "= Get-TaskLimit $Step", "= 3600", "3600 is read as ticks"),
    Mutation("image/bake.ps1", "-ExecutionTimeLimit 0:0", "-ExecutionTimeLimit PT0S", "'PT0S' is no System.TimeSpan"),
    Mutation("image/bake.ps1", "-Priority 4", "-Priority normal", "'normal' is no System.Int32"),
    Mutation("modules/steps.ps1", "-Seconds $wait", "-Seconds '5s'", "'5s' is no System.Int32"),
    Mutation("collect-logs.ps1", "-TimeoutSeconds $Seconds", "-TimeoutSeconds 'long'", "'long' is no System.Int32"),
    Mutation("collect-logs.ps1", "(New-Run $known $false)", "(New-Run $known 'false')", "converts no text to bool"),
    Mutation(
        "loader.ps1", "Receive-Bundle $told.bundle.url", "Receive-Bundle @('a', 'b')", "takes one value and no list"
    ),
    Mutation(
        "loader.ps1", "@{ Metadata = 'true' }", "'Metadata: true'", "System.String is no System.Collections.Hashtable"
    ),
    Mutation(
        "modules/programs.ps1", "WaitForExit(1000 * $TimeoutSeconds)", "WaitForExit('10s')", "'10s' is no System.Int32"
    ),
]
DOCUMENTS = [
    Mutation(
        "kinds/pods.ps1",
        "if ($Network.PSObject.Properties['Subnets']) { $Network.Subnets }",
        "$Network.Subnets",
        "may lack Subnets",
    ),
    Mutation("modules/clouds.ps1", ".payload.data", ".payload.secret", "may lack secret"),
    Mutation("kinds/hns.ps1", "-Id $old.ID", "-Id $old.SwitchGuid", "may lack SwitchGuid"),
    Mutation("modules/secrets.ps1", "$Run.Stored[$Name]", "$Run.Saved[$Name]", "has the key Saved"),
    Mutation(
        "kinds/services.ps1",
        "if ($null -ne $Step['restart_seconds'])",
        "if ($null -ne $Step.restart_seconds)",
        "$Step['restart_seconds'] is $null",
    ),
]
