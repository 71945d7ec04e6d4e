# Kinds of step: seconds of one try, and fields with their types; ? marks an optional field, commas separate choices.
# kinds\ has the functions Test-<Kind>Step and Set-<Kind>Step of each kind.

$Kinds = @{
    'access'                = 120, 'path:text access:private,public readers:list?'
    'api-version'           = 1800, 'url:text ca:text version:text kubectl:text?'
    'archive'               = 600, 'source:text target:text strip:number? members:list?'
    'artifact'              = 900, 'url:text digest:text path:text size:number? fallbacks:list?'
    'build'                 = 120, 'build:text minimum_ubr:number?'
    'certificate-authority' = 120, 'url:text hash:text path:text'
    'command'               = 600, 'argv:list creates:text? requires:text? environment:map?'
    'container-image'       = 900, 'image:text client:crictl,docker program:text until:text?'
    'defender-exclusion'    = 120, 'processes:list paths:list'
    'directory'             = 120, 'path:text access:private,public? writers:list? only:list?'
    'environment'           = 120, 'variable:text value:text'
    'feature'               = 1800, 'feature:text'
    'file'                  = 120, 'path:text content:any format:json,documents? access:private,public?'
    'firewall-profiles'     = 120, ''
    'firewall-rule'         = 120, 'rule:text protocol:tcp,udp ports:list sources:list?'
    'hns-network'           = 300, 'network:text subnet:text endpoint:text'
    'hostname'              = 120, 'value:text restart:flag?'
    'hypervisor'            = 120, ''
    'kubelet-bootstrap'     = 120, ('path:text kubeconfig:any secret:text certificate:text node:text ' +
        'token:derived,stored?')
    'link'                  = 120, 'path:text target:text'
    'local-user'            = 120, 'user:text'
    'metadata-route'        = 120, 'addresses:list hold_seconds:number?'
    'node-object'           = 600, ('node:text kubeconfig:text kubectl:text state:registered,ready provider_id:text? ' +
        'kubelet:text? labels:map?')
    'overlay-network'       = 600, 'network:text subnet:text pods:text subnet_file:text service:text address:text'
    'pagefile'              = 120, 'initial_mb:number maximum_mb:number other_drive:flag?'
    'partition'             = 300, 'drive:text free_mb:number'
    'pod-range'             = 900, 'node:text kubeconfig:text kubectl:text'
    'port-range'            = 120, 'protocol:tcp,udp start:number count:number'
    'probe'                 = 120, 'argv:list message:text expect:text? records:mtu,os_version?'
    'reboot'                = 120, ''
    'registry'              = 120, ('key:text value:text data:any bits:flag? restart:flag? owned:flag? ' +
        'type:DWord,QWord,String,ExpandString,MultiString,Binary')
    'secret'                = 120, 'secret:text path:text member:text?'
    'service'               = 120, ('service:text command:list depends:list? environment:map? restarts_on:list? ' +
        'log:text? restart_seconds:number? start:auto,boot? wrapper:text? description:text? demand:flag?')
    'source-vip'            = 120, 'network:text subnet:text plugin:text data_directory:text'
    'stale-network'         = 120, ('network:text data_directory:text services:list ' +
        'subnet:text? subnet_file:text? runtime_networks:list? cni_file:text?')
    'system-service'        = 120, 'service:text start:auto,disabled'
    'task'                  = 120, 'task:text command:list schedule:map description:text?'
    'wait'                  = 300, ('condition:map ' +
        'error:runtime-down,kubelet-down,flanneld-down,proxy-down,node-unregistered?')
}

$KindNouns = @{}

# .SYNOPSIS
# Return the noun of a kind's functions: metadata-route has Test-MetadataRouteStep.
function Get-KindNoun {
    [CmdletBinding()]
    param([string] $Kind)
    if (-not $KindNouns[$Kind]) {
        $words = $Kind.Split('-') | ForEach-Object { $_.Substring(0, 1).ToUpperInvariant() + $_.Substring(1) }
        $KindNouns[$Kind] = -join $words
    }
    $KindNouns[$Kind]
}

# .SYNOPSIS
# Return whether a value has the type.
function Test-FieldType {
    [CmdletBinding()]
    param($Value, [string] $Type)
    switch ($Type) {
        'text' { $Value -is [string] }
        'number' { ($Value -is [int] -or $Value -is [long]) -and $Value -ge 0 }
        'flag' { $Value -is [bool] }
        'list' { $Value -is [Collections.IList] }
        'map' { $Value -is [Collections.IDictionary] }
        'any' { $true }
        default { $Value -is [string] -and $Value -cin $Type.Split(',') }
    }
}

$KindFields = @{}

# .SYNOPSIS
# Return the fields of a kind as name, type, optional; cached.
function Get-KindField {
    [CmdletBinding()]
    param([string] $Kind)
    if (-not $KindFields.ContainsKey($Kind)) {
        $all = @($Kinds[$Kind][1].Split(' ') | Where-Object { $_ }) + 'timeout_seconds:number?', 'retries:number?'
        $KindFields[$Kind] = @($all | ForEach-Object { , ($_.TrimEnd('?').Split(':') + $_.EndsWith('?')) })
    }
    $KindFields[$Kind]
}

# .SYNOPSIS
# Throw step-invalid if the step lacks a required field or a value has another type.
function Assert-Field {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    foreach ($field in Get-KindField $Step['kind']) {
        $name, $type, $mayLack = $field
        if (-not $Step.Contains($name)) {
            if ($mayLack) { continue }
            throw (New-Failure 'step-invalid' "kind $($Step['kind']) needs $name")
        }
        if ($type -eq 'text' -and $Step[$name] -is [string]) { continue }
        if (-not (Test-FieldType $Step[$name] $type)) {
            throw (New-Failure 'step-invalid' "$name of kind $($Step['kind']) is not of type $type")
        }
    }
}
