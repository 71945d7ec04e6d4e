# Whether kube-proxy is still making load balancers. Its first sync makes one for each port of each Service, one after
# the other, and HNS takes a while for each: with many Services it lasts minutes. /healthz does not tell: some releases
# answer 503 until the first sync is done, others 200 (Kubernetes, pkg/proxy/healthcheck/proxier_health.go).

$ProgressSeconds = 60    # within which a kube-proxy that is still making load balancers makes at least one
$ProgressPoll = 5    # seconds between two counts

# .SYNOPSIS
# Return whether the number of HNS's load balancers grows within $ProgressSeconds while kube-proxy runs.
function Test-ProxyProgress {
    [CmdletBinding()]
    param()
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $first = @(Send-HnsRequest 'GET' 'policylists').Count
    while ($watch.Elapsed.TotalSeconds -lt $ProgressSeconds -and (Get-ServiceState 'kube-proxy') -eq 'Running') {
        Start-Sleep -Seconds $ProgressPoll
        if (@(Send-HnsRequest 'GET' 'policylists').Count -gt $first) { return $true }
    }
    $false
}
