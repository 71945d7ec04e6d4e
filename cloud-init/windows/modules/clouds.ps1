# What each cloud knows of this machine and keeps for it; how a request gets the machine's identity, the loader says.

# Instance: the machine's own id, which no other ever has. ProviderId: the machine as Kubernetes writes it.
# Secret: the text of a secret of that name, of the service at that place.
$Clouds = @{
    aws   = @{
        Instance   = { Get-AwsMetadata '/latest/meta-data/instance-id' }
        ProviderId = {
            $zone = Get-AwsMetadata '/latest/meta-data/placement/availability-zone'
            "aws:///$zone/$(Get-Instance)"
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
        ProviderId = {
            $zone = (Get-GcpMetadata 'instance/zone').Split('/')[-1]
            "gce://$(Get-GcpMetadata 'project/project-id')/$zone/$(Get-GcpMetadata 'instance/name')"
        }
        Secret     = {
            param([string] $Place, [string] $Name)
            $said = Invoke-SignedRequest -Url "$Place/secrets/$Name/versions/latest:access" -Service 'secrets'
            $Utf8.GetString([Convert]::FromBase64String((ConvertFrom-Json $Utf8.GetString($said)).payload.data))
        }
    }
    azure = @{
        Instance   = { Get-AzureMetadata 'vmId' }
        # the group in lower case, as Azure's own cloud controller manager has it
        ProviderId = {
            $parts = (Get-AzureMetadata 'resourceId').Split('/')
            $parts[4] = $parts[4].ToLowerInvariant()
            'azure://' + ($parts -join '/')
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
# Return the machine's providerID.
function Get-ProviderId {
    [CmdletBinding()]
    param()
    & $Clouds[$Site.Facts.cloud].ProviderId
}
