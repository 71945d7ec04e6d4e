# Becoming a node: the kubelet's credentials, the Node object, container images that fit the build.

$BootstrapService = 'kubelet'
$NodeCertificate = 'C:\var\lib\kubelet\pki\kubelet-client-current.pem'

# .SYNOPSIS
# Return whether the kubelet has a certificate of this node that has not expired. Authorities that the machine trusts
# must have signed it and the serving certificate, if there is one.
function Test-NodeCertificate {
    [CmdletBinding()]
    param($Step)
    if (-not [IO.File]::Exists($Step['certificate'])) { return $false }
    $found = ConvertFrom-Pem ([IO.File]::ReadAllText($Step['certificate']))
    if (-not $found.Count) { return $false }
    $name = $found[0].GetNameInfo('SimpleName', $false)
    $last, $now = $found[0].NotAfter.ToUniversalTime(), ([DateTime]::UtcNow + $Site.Offset)
    if ($name -ne "system:node:$($Step['node'])" -or $last -le $now) { return $false }
    $serving = $Step['certificate'].Replace('-client-', '-server-')
    $served = if ([IO.File]::Exists($serving)) { (ConvertFrom-Pem ([IO.File]::ReadAllText($serving)))[0] }
    Test-TrustedIssuer @($found[0], $served | Where-Object { $_ })
}

# .SYNOPSIS
# Return the bootstrap kubeconfig with the machine's token: derived from the secret, or the secret itself.
function Get-BootstrapContent {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $token = if ($Step['token'] -eq 'stored') { (Get-Secret $Run $Step['secret']).Trim() }
    else { Get-JoinToken $Run $Step['secret'] }
    $Step['kubeconfig']['users'][0]['user'] = @{ token = $token }
    , $Utf8.GetBytes((ConvertTo-JsonText $Step['kubeconfig']) + "`n")
}

# .SYNOPSIS
# With a valid certificate, return whether the bootstrap kubeconfig is deleted; else whether it is current.
function Test-KubeletBootstrapStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Test-NodeCertificate $Step) { return -not [IO.File]::Exists($Step['path']) }
    Test-Content $Step['path'] (Get-BootstrapContent $Run $Step) $Access.private
}

# .SYNOPSIS
# With a valid certificate, delete the bootstrap kubeconfig; else stop the kubelet and write it, so it joins again.
function Set-KubeletBootstrapStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Test-NodeCertificate $Step) { return [IO.File]::Delete($Step['path']) }
    $content = Get-BootstrapContent $Run $Step
    if ((Get-ServiceState $BootstrapService) -notin '', 'Stopped') { Stop-PlannedService $Run $BootstrapService }
    # The kubelet's own link; its target stays. The kubelet would use a certificate with the wrong node name.
    # A removed authority may have signed the serving certificate too.
    foreach ($file in $Step['certificate'], $Step['certificate'].Replace('-client-', '-server-')) {
        try { [IO.File]::Delete($file) } catch [IO.DirectoryNotFoundException] { [void] 'there is none' }
    }
    Write-Content $Step['path'] $content $Access.private
}

# .SYNOPSIS
# Start the executor if the certificate has ended or lost its authority while the machine runs: the kubelet cannot renew
# it, and the executor joins again. Before the first certificate the executor needs no start.
function Start-Rejoin {
    [CmdletBinding()]
    param([string] $Node)
    $step = @{ certificate = $NodeCertificate; node = $Node }
    if ([IO.File]::Exists($NodeCertificate) -and -not (Test-NodeCertificate $step)) {
        Start-ScheduledTask -TaskName 'mullion'
    }
}

# .SYNOPSIS
# Return the names of the labels that a step needs.
function Get-LabelName {
    [CmdletBinding()]
    param($Step)
    if ($Step['labels']) { $Step['labels'].Keys }
}

# .SYNOPSIS
# Return the names and JSONPaths of the Node object's fields that a step needs.
function Get-NodePath {
    [CmdletBinding()]
    param($Step)
    $paths = [ordered] @{
        node = '.metadata.name'; providerID = '.spec.providerID'; kubeletVersion = '.status.nodeInfo.kubeletVersion'
        taints = '.spec.taints[*].key'; ready = ".status.conditions[?(@.type=='Ready')].status"
    }
    foreach ($key in Get-LabelName $Step) { $paths["label $key"] = '.metadata.labels.' + $key.Replace('.', '\.') }
    $paths['message'] = ".status.conditions[?(@.type=='Ready')].message"    # the last one, because it may have lines
    $paths
}

# .SYNOPSIS
# Return those fields by name; none if the API shows no such Node. kubectl picks them: ConvertFrom-Json of Windows
# PowerShell refuses an object with keys that differ only in case, and labels and annotations may have such.
function Get-NodeField {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $paths, $node = (Get-NodePath $Step), "$($Step['kubeconfig']) $($Step['node'])"
    # reuse the answer that the step before (state registered) has just read
    $shown, $Run.Shown = $Run.Shown, @{ Node = '' }
    if ($shown.Node -eq $node -and -not @($paths.Keys | Where-Object { $_ -notin $shown.Fields.Keys })) {
        return $shown.Fields
    }
    $lines = -join @($paths.Keys | ForEach-Object { "$_={$($paths[$_])}{'\n'}" })
    $words = "--kubeconfig=$($Step['kubeconfig'])", 'get', 'node', $Step['node'], "--output=jsonpath={'\n'}$lines"
    $fields = [Collections.Hashtable]::new()    # names that differ only in case stay apart
    foreach ($line in (Invoke-Kubectl $Run $Step['kubectl'] $words) -split "`r?`n") {
        $name, $value = $line.Split([char[]] '=', 2)
        if ($name -cin $paths.Keys -and -not $fields.ContainsKey($name)) { $fields[$name] = "$value".Trim() }
    }
    $fields
}

# .SYNOPSIS
# Return the differences between the Node object and the plan as text; empty if there are none.
function Get-NodeDifference {
    [CmdletBinding()]
    param($Step, [hashtable] $Fields)
    $wanted = [ordered] @{ providerID = $Step['provider_id']; kubeletVersion = $Step['kubelet'] }
    foreach ($key in Get-LabelName $Step) { $wanted["label $key"] = $Step['labels'][$key] }
    @(foreach ($name in $wanted.Keys) {
            $found = $Fields[$name]
            if (-not $wanted[$name] -or $wanted[$name] -ceq $found) { continue }
            "$($name -creplace '^label ') is '$found', not '$($wanted[$name])'"
        }) -join '; '
}

# .SYNOPSIS
# Return whether the Node object exists as planned and, for state ready, is Ready.
function Test-NodeObjectStep {
    [CmdletBinding()]
    param($Run, $Step)
    $fields = Get-NodeField $Run $Step
    if (-not $fields.ContainsKey('node')) {
        $Run.Seen = "the API shows no Node $($Step['node'])"
        return $false
    }
    $Run.Seen = "Node $($Step['node']): " + (Get-NodeDifference $Step $fields)
    if (-not $Run.Seen.EndsWith(': ')) { return $false }
    if ($Step['state'] -eq 'registered') {
        $Run.Shown = @{ Node = "$($Step['kubeconfig']) $($Step['node'])"; Fields = $fields }
        return $true
    }
    if (-not $fields['ready']) {
        $Run.Seen += 'no condition Ready'
        return $false
    }
    $Run.Seen += "Ready is $($fields['ready']): $($fields['message'])"
    if ($fields['ready'] -ne 'True') { return $false }
    # the kubelet sets this taint if it runs with --cloud-provider=external; no pod is scheduled until it goes
    $uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized'
    if ($fields['taints'].Split(' ') -contains $uninitialized) {
        $Run.Seen = "Node $($Step['node']): the cloud controller has not initialised it (taint $uninitialized)"
        return $false
    }
    $true
}

# .SYNOPSIS
# Poll until the Node object is in the state.
function Set-NodeObjectStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name = if ($Step['state'] -eq 'ready') { 'node-not-ready' } else { 'node-unregistered' }
    Wait-Asked $Run $Step 'NodeObject' $name
}

# .SYNOPSIS
# Return os.version of the image in the runtime; empty if it has none, $null if the image is missing.
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
# Return whether the runtime has the image, or need not have it any more; throw image-refused if it is for another
# build.
function Test-ContainerImageStep {
    [CmdletBinding()]
    param($Run, $Step)
    $version = Get-ImageVersion $Run $Step
    if ($null -eq $version) { return $Step['until'] -and [IO.File]::Exists($Step['until']) }
    if (-not $version) { return $true }
    $build = "$(Get-RegistryValue $CurrentVersion 'CurrentBuildNumber')"
    if ("$version.0.0".Split('.')[2] -ne $build) {
        throw (New-Failure 'image-refused' "$($Step['image']) is made for $version, this machine runs 10.0.$build")
    }
    $true
}

# .SYNOPSIS
# Pull the image.
function Set-ContainerImageStep {
    [CmdletBinding()]
    param($Run, $Step)
    $words = @{
        Program = $Step['program']; Arguments = 'pull', $Step['image']; TimeoutSeconds = Get-SecondsLeft $Run
    }
    [void](Invoke-Program @words)
}
