# Commands that take back what steps set; they are written to undo.ps1 and shown in the result.

# .SYNOPSIS
# Return a text as a literal of PowerShell.
function ConvertTo-Literal {
    [CmdletBinding()]
    param([string] $Text)
    "'$($Text.Replace("'", "''"))'"
}

# .SYNOPSIS
# Return the command that gives a registry value back its present data, or removes it.
function Get-RegistryUndo {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Key.Substring($Machine.Length + 1))
    $data = if ($open) { $open.GetValue($Name, $null, 'DoNotExpandEnvironmentNames') }
    $path, $value = (ConvertTo-Literal $Key), (ConvertTo-Literal $Name)
    if ($null -eq $data) { return "Remove-ItemProperty -LiteralPath 'Registry::$Key' -Name $value -ErrorAction Ignore" }
    $kind = "$($open.GetValueKind($Name))"
    $text = switch ($kind) {
        'MultiString' { "[string[]] @($(@($data | ForEach-Object { ConvertTo-Literal $_ }) -join ', '))" }
        'Binary' { "[byte[]] @($($data -join ', '))" }
        { $_ -in 'DWord', 'QWord' } { "$data" }
        default { ConvertTo-Literal $data }
    }
    "[Microsoft.Win32.Registry]::SetValue($path, $value, $text, '$kind')"
}

# .SYNOPSIS
# Return the command that removes a new file or folder, or gives an existing one back its content and access rules.
function Get-PathUndo {
    [CmdletBinding()]
    param([string] $Path)
    $place = ConvertTo-Literal $Path
    if (-not (Test-There $Path)) { return "Remove-Item -LiteralPath $place -Recurse -Force -ErrorAction Ignore" }
    if ([IO.File]::Exists($Path)) {
        $copy = "$Contact\saved\$($Path.Replace(':', '').Replace('\', '_'))"
        [void][IO.Directory]::CreateDirectory("$Contact\saved")
        if (-not [IO.File]::Exists($copy)) { [IO.File]::Copy($Path, $copy) }
        "Copy-Item -LiteralPath $(ConvertTo-Literal $copy) -Destination $place -Force"
    }
    $rules = (Get-Acl -LiteralPath $Path).GetSecurityDescriptorSddlForm('Access')
    "`$acl = Get-Acl -LiteralPath $place; `$acl.SetSecurityDescriptorSddlForm('$rules', 'Access'); " +
    "Set-Acl -LiteralPath $place -AclObject `$acl"
}

# .SYNOPSIS
# Return the commands for settings that belong to no path: tasks, features, ports, Defender, services, firewall.
function Get-SettingUndo {
    [CmdletBinding()]
    param($Step)
    switch ($Step['kind']) {
        'task' { "Unregister-ScheduledTask -TaskName $(ConvertTo-Literal (Get-TaskName $Step)) -Confirm:`$false" }
        'feature' { "Uninstall-WindowsFeature -Name $(ConvertTo-Literal $Step['feature'])    # takes a restart" }
        'port-range' {
            $start, $count = Get-PortRange $Step['protocol']
            "netsh.exe int ipv4 set dynamicportrange $($Step['protocol']) start=$start num=$count"
        }
        'defender-exclusion' {
            $added = (Get-MissingExclusion $Step)['ExclusionProcess']
            $names = @($added | ForEach-Object { ConvertTo-Literal $_ }) -join ', '
            if ($names) { "Remove-MpPreference -ExclusionProcess $names" }
        }
        'system-service' { Get-RegistryUndo "$ServiceRoot\$($Step['service'])" 'Start' }
        'firewall-rule' { "Remove-NetFirewallRule -Name $(ConvertTo-Literal $Step['rule']) -ErrorAction Ignore" }
        'firewall-profiles' {
            foreach ($one in Get-NetFirewallProfile) {
                "Set-NetFirewallProfile -Profile $($one.Name) -Enabled $($one.Enabled) " +
                "-DefaultInboundAction $($one.DefaultInboundAction)"
            }
        }
        'local-user' { "Enable-LocalUser -Name $(ConvertTo-Literal $Step['user'])" }
        'metadata-route' {
            foreach ($address in $Step['addresses']) {
                "Get-NetRoute -DestinationPrefix '$address/32' -ErrorAction Ignore | Remove-NetRoute -Confirm:`$false"
            }
        }
    }
}

# .SYNOPSIS
# Return the commands that take back a resolved step, as they would be before it is set; a comment where there is none.
function Get-Undo {
    [CmdletBinding()]
    param($Step)
    $kind = $Step['kind']
    $found = @(switch ($kind) {
            'registry' { Get-RegistryUndo (Get-RegistryKey $Step) $Step['value'] }
            'pagefile' { Get-RegistryUndo $Memory 'PagingFiles' }
            { $_ -in 'directory', 'file', 'artifact', 'access', 'link' } { Get-PathUndo $Step['path'] }
            'environment' {
                $now = [Environment]::GetEnvironmentVariable($Step['variable'], 'Machine')
                $text = if ($null -eq $now) { '[NullString]::Value' } else { ConvertTo-Literal $now }
                "[Environment]::SetEnvironmentVariable($(ConvertTo-Literal $Step['variable']), $text, 'Machine')"
            }
            'service' {
                $name = ConvertTo-Literal $Step['service']
                if (Get-ServiceState $Step['service']) { "# the service $name was there before, and was changed" }
                else { "sc.exe stop $name"; 'Start-Sleep -Seconds 5'; "sc.exe delete $name" }
            }
            { $_ -in 'archive', 'container-image', 'source-vip' } {
                "# $($Step['name']) ($kind): its files go with their folder"
            }
            default { Get-SettingUndo $Step }
        })
    if ($found) { $found } else { "# $($Step['name']) ($kind): cannot be undone; only a new machine lacks it" }
}

# .SYNOPSIS
# Write the script that takes back all changes, the last one first.
function Write-Undo {
    [CmdletBinding()]
    param()
    $lines = [Collections.ArrayList] @(
        '# Takes back what first contact changed on this machine, the last change first. A machine that nobody needs'
        '# is better deleted: image layers, and what Windows itself notes about features, stay.'
    )
    for ($place = $Progress['changes'].Count - 1; $place -ge 0; $place--) {
        foreach ($command in $Progress['changes'][$place]['undo']) {
            if ($command.StartsWith('#')) { [void]$lines.Add($command) }
            else { [void]$lines.Add("try { $($command -replace '\s+#.*$') } catch { Write-Warning `"`$_`" }") }
        }
    }
    Set-WholeFile "$Contact\undo.ps1" $Utf8.GetBytes(($lines -join "`r`n") + "`r`n")
}
