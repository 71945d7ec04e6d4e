# Becoming a node: the kubelet's credentials, the Node object, container images that fit the build.

$BootstrapService = 'kubelet'

# .SYNOPSIS
# Whether the kubelet holds a certificate of this node that is not over.
function Test-NodeCertificate {
    [CmdletBinding()]
    param($Step)
    if (-not [IO.File]::Exists($Step['certificate'])) { return $false }
    $found = ConvertFrom-Pem ([IO.File]::ReadAllText($Step['certificate']))
    if (-not $found.Count) { return $false }
    $name = $found[0].GetNameInfo('SimpleName', $false)
    $last, $now = $found[0].NotAfter.ToUniversalTime(), ([DateTime]::UtcNow + $Site.Offset)
    $name -eq "system:node:$($Step['node'])" -and $last -gt $now
}

# .SYNOPSIS
# The bootstrap kubeconfig with the token as the store has it now.
function Get-BootstrapContent {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $token = (Get-Secret $Run $Step['secret']).Trim()
    $Step['kubeconfig']['users'][0]['user'] = @{ token = $token }
    , $Utf8.GetBytes((ConvertTo-JsonText $Step['kubeconfig']) + "`n")
}

# .SYNOPSIS
# With a good certificate, whether the file with the token is gone; else whether it is there.
function Test-KubeletBootstrapStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Test-NodeCertificate $Step) { return -not [IO.File]::Exists($Step['path']) }
    Test-Content $Step['path'] (Get-BootstrapContent $Run $Step) $Access.private
}

# .SYNOPSIS
# Takes the token away that is no longer needed, or lets the kubelet begin anew with one.
function Set-KubeletBootstrapStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Test-NodeCertificate $Step) { return [IO.File]::Delete($Step['path']) }
    $content = Get-BootstrapContent $Run $Step
    if ((Get-ServiceState $BootstrapService) -notin '', 'Stopped') { Stop-PlannedService $Run $BootstrapService }
    # A link of the kubelet's own; what it leads to stays. It would be taken for good where only its name is wrong.
    try { [IO.File]::Delete($Step['certificate']) } catch [IO.DirectoryNotFoundException] { [void] 'there is none' }
    Write-Content $Step['path'] $content $Access.private
}

# .SYNOPSIS
# What of the Node object is not as planned; empty: nothing.
function Get-NodeDifference {
    [CmdletBinding()]
    param($Step, $Node)
    $rows = @(
        , @('providerID', $Step['provider_id'], @('spec', 'providerID'))
        , @('kubeletVersion', $Step['kubelet'], @('status', 'nodeInfo', 'kubeletVersion'))
    )
    if ($Step['labels']) {
        $rows += @($Step['labels'].Keys | ForEach-Object { , @($_, $Step['labels'][$_], @('metadata', 'labels', $_)) })
    }
    @(foreach ($row in $rows) {
            $found = $Node
            foreach ($name in $row[2]) { if ($null -ne $found) { $found = $found[$name] } }
            if ($row[1] -and $row[1] -cne $found) { "$($row[0]) is '$found', not '$($row[1])'" }
        }) -join '; '
}

# .SYNOPSIS
# Whether the Node object is in the state.
function Test-NodeObjectStep {
    [CmdletBinding()]
    param($Run, $Step)
    $words = "--kubeconfig=$($Step['kubeconfig'])", 'get', 'node', $Step['node'], '--output=json'
    # the step that asks whether it is registered has just seen what the one that asks whether it is ready wants to see
    $said = if ($Run.Shown.Words -eq "$words") { $Run.Shown.Said } else { Invoke-Kubectl $Run $Step['kubectl'] $words }
    $Run.Shown = @{ Words = '' }
    if ($said -notmatch '(?s)\{.*\}') {
        $Run.Seen = "the API shows no Node $($Step['node'])"
        return $false
    }
    $node = ConvertFrom-JsonText $Matches[0]    # without what kubectl may warn of before and after it
    $Run.Seen = "Node $($Step['node']): " + (Get-NodeDifference $Step $node)
    if (-not $Run.Seen.EndsWith(': ')) { return $false }
    if ($Step['state'] -eq 'registered') {
        $Run.Shown = @{ Words = "$words"; Said = $said }
        return $true
    }
    $ready = @($node['status'] | Where-Object { $_ } | ForEach-Object { $_['conditions'] } |
            Where-Object { $_ -and $_['type'] -eq 'Ready' })
    if (-not $ready) {
        $Run.Seen += 'no condition Ready'
        return $false
    }
    $Run.Seen += "Ready is $($ready[0]['status']): $($ready[0]['message'])"
    $ready[0]['status'] -eq 'True'
}

# .SYNOPSIS
# Asks until it is.
function Set-NodeObjectStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name = if ($Step['state'] -eq 'ready') { 'node-not-ready' } else { 'node-unregistered' }
    Wait-Asked $Run $Step 'NodeObject' $name
}

# .SYNOPSIS
# The os.version of the image in the runtime; empty where it says none, $null where the image is not there.
function Get-ImageVersion {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $docker = $Step['client'] -eq 'docker'
    $words = if ($docker) { 'image', 'inspect', $Step['image'] } else { 'inspecti', '--output=json', $Step['image'] }
    $asked = @{
        Program = $Step['program']; Arguments = $words; AllowFailure = $true; TimeoutSeconds = Get-SecondsLeft $Run
    }
    $answer = Invoke-Program @asked
    if ($answer.Code) { return $null }
    # docker: [{"OsVersion": ...}]; crictl: {"info": {"imageSpec": {"os.version": ...}}}
    if ($answer.Output -match '"(?:OsVersion|os\.version)":\s*"([^"]*)"') { $Matches[1] } else { '' }
}

# .SYNOPSIS
# Whether the runtime has the image; one for another build ends the run.
function Test-ContainerImageStep {
    [CmdletBinding()]
    param($Run, $Step)
    $version = Get-ImageVersion $Run $Step
    if (-not $version) { return $null -ne $version }
    $build = "$(Get-RegistryValue $CurrentVersion 'CurrentBuildNumber')"
    if ("$version.0.0".Split('.')[2] -ne $build) {
        throw (New-Failure 'image-refused' "$($Step['image']) is made for $version, this machine runs 10.0.$build")
    }
    $true
}

# .SYNOPSIS
# Pulls it.
function Set-ContainerImageStep {
    [CmdletBinding()]
    param($Run, $Step)
    $words = @{
        Program = $Step['program']; Arguments = 'pull', $Step['image']; TimeoutSeconds = Get-SecondsLeft $Run
    }
    [void](Invoke-Program @words)
}
