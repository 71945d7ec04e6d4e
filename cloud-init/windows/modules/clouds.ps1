# A cloud's metadata and secrets as the machine uses them; the loader signs the requests.

# Instance: the machine's id, never reused. ProviderId: spec.providerID of its Node. Secret: the text of the secret
# Name at the service Place. Interrupted: whether the cloud has announced that it takes this machine back.
# Proof: fields that prove to the agent that this machine announced the number.
$Clouds = @{
    aws   = @{
        Instance   = { Get-AwsMetadata '/latest/meta-data/instance-id' }
        ProviderId = {
            $zone = Get-AwsMetadata '/latest/meta-data/placement/availability-zone'
            "aws:///$zone/$(Get-Instance)"
        }
        # 404 until two minutes before the end
        Interrupted = {
            try { [bool] (Get-AwsMetadata '/latest/meta-data/spot/instance-action') }
            catch { if ((Get-HttpStatus $_) -eq 404) { $false } else { throw } }
        }
        Secret     = {
            param([string] $Place, [string] $Name)
            $asked = @{
                Url = $Place; Service = 'secrets'; Method = 'POST'; Body = ConvertTo-JsonText @{ SecretId = $Name }
                Headers = @{
                    'content-type' = 'application/x-amz-json-1.1'; 'x-amz-target' = 'secretsmanager.GetSecretValue'
                }
            }
            $said = ConvertFrom-Json $Utf8.GetString((Invoke-SignedRequest @asked))
            $found = $said.PSObject.Properties['SecretString']
            if ($found) { $found.Value } else { '' }
        }
    }
    gcp   = @{
        Instance   = { Get-GcpMetadata 'instance/id' }
        # machines of a pool may write each other's announcements
        Proof      = {
            param([string] $Number)
            $query = "audience=$([Uri]::EscapeDataString("urn:mullion:join:$Number"))&format=full"
            @{ identity = Get-GcpMetadata "instance/service-accounts/default/identity?$query" }
        }
        ProviderId = {
            $zone = (Get-GcpMetadata 'instance/zone').Split('/')[-1]
            "gce://$(Get-GcpMetadata 'project/project-id')/$zone/$(Get-GcpMetadata 'instance/name')"
        }
        Interrupted = { (Get-GcpMetadata 'instance/preempted') -eq 'TRUE' }
        Secret     = {
            param([string] $Place, [string] $Name)
            $said = Invoke-SignedRequest -Url "$Place/secrets/$Name/versions/latest:access" -Service 'secrets'
            $Utf8.GetString([Convert]::FromBase64String((ConvertFrom-Json $Utf8.GetString($said)).payload.data))
        }
    }
    azure = @{
        Instance   = { Get-AzureMetadata 'vmId' }
        # the right to write the announcement stays with the name, so a token of an earlier machine has it for a day:
        # a token of the system-assigned identity, which ends with the machine. A machine without this identity gets one
        # of the other identity, which must not leave it
        Proof      = {
            $asked = '/metadata/identity/oauth2/token?api-version=2018-02-01&resource={0}'
            $asked = $asked -f [Uri]::EscapeDataString('https://management.azure.com/')
            $given = Get-Metadata $asked @{ Metadata = 'true' } | ConvertFrom-Json
            $token = $given.PSObject.Properties['access_token'].Value
            $claims = $token.Split('.')[1].Replace('-', '+').Replace('_', '/')
            $claims += '=' * ((4 - $claims.Length % 4) % 4)
            $said = ConvertFrom-Json $Utf8.GetString([Convert]::FromBase64String($claims))
            $client = $said.PSObject.Properties['appid']
            if (-not $client -or $client.Value -eq $Site.Facts.identity) { @{} } else { @{ identity = $token } }
        }
        # the group in lower case, like Azure's cloud controller manager
        ProviderId = {
            $parts = (Get-AzureMetadata 'resourceId').Split('/')
            $parts[4] = $parts[4].ToLowerInvariant()
            'azure://' + ($parts -join '/')
        }
        # the first question turns the events on, and may take two minutes
        Interrupted = {
            $path = '/metadata/scheduledevents?api-version=2020-07-01'
            $said = ConvertFrom-JsonText (Get-Metadata $path @{ Metadata = 'true' })
            $ends = @($said['Events'] | Where-Object { $_['EventType'] -eq 'Preempt' })
            [bool] ($ends -and @($ends | ForEach-Object { $_['Resources'] }) -contains (Get-AzureMetadata 'name'))
        }
        Secret     = {
            param([string] $Place, [string] $Name)
            $said = Invoke-SignedRequest -Url "$Place/secrets/${Name}?api-version=7.4" -Service 'secrets'
            (ConvertFrom-Json $Utf8.GetString($said)).value
        }
    }
}

# .SYNOPSIS
# Read a value of Google's metadata server.
function Get-GcpMetadata {
    [CmdletBinding()]
    param([string] $Path)
    Get-Metadata "/computeMetadata/v1/$Path" @{ 'Metadata-Flavor' = 'Google' }
}

# .SYNOPSIS
# Read a value of the machine in Azure's metadata service.
function Get-AzureMetadata {
    [CmdletBinding()]
    param([string] $Name)
    Get-Metadata "/metadata/instance/compute/${Name}?api-version=2021-02-01&format=text" @{ Metadata = 'true' }
}

# .SYNOPSIS
# Return the machine's id in its cloud.
function Get-Instance {
    [CmdletBinding()]
    param()
    & $Clouds[$Site.Facts.cloud].Instance
}

# .SYNOPSIS
# Return fields that prove to the agent that this machine announced the number; empty where rights suffice.
function Get-Proof {
    [CmdletBinding()]
    param([string] $Number)
    $proof = $Clouds[$Site.Facts.cloud]['Proof']
    if ($proof) { & $proof $Number } else { @{} }
}

# .SYNOPSIS
# Return the machine's providerID.
function Get-ProviderId {
    [CmdletBinding()]
    param()
    & $Clouds[$Site.Facts.cloud].ProviderId
}

# .SYNOPSIS
# Return the HTTP status of a refused request; 0 if the error is another one.
function Get-HttpStatus {
    [CmdletBinding()]
    param($Caught)
    for ($each = $Caught.Exception; $each; $each = $each.InnerException) {
        if ($each -is [Net.WebException] -and $each.Response) { return [int] $each.Response.StatusCode }
    }
    0
}
