# What Windows PowerShell 5.1 lacks, and what our own rules forbid, in all scripts below C:\scripts; one line each.
# The parser is PowerShell's own. C:\lint.json: operators, parameters, commands, members that 5.1 does not have, and the
# commands and parameters that a script may use.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$rules = ConvertFrom-Json ([IO.File]::ReadAllText('C:\lint.json')) -AsHashtable
$verbs = @((Get-Verb).Verb)
$aliases = @((Get-Alias).Name)
$own = @{}
$found = [Collections.ArrayList]::new()

function Add-Finding($File, $Node, [string] $Text) {
    [void]$found.Add("$($File.Name):$($Node.Extent.StartLineNumber): $Text")
}

function Test-Function($File, $Node) {
    if ($Node.Name.Split('-')[0] -cnotin $verbs) { Add-Finding $File $Node "$($Node.Name) has no approved verb" }
    $binding = if ($Node.Body.ParamBlock) { @($Node.Body.ParamBlock.Attributes | ForEach-Object { "$($_.TypeName)" }) }
    if ($binding -notcontains 'CmdletBinding') { Add-Finding $File $Node "$($Node.Name) has no CmdletBinding" }
    $help = $Node.GetHelpContent()
    if (-not $help -or -not $help.Synopsis) { Add-Finding $File $Node "$($Node.Name) has no comment help" }
}

function Test-Call($File, $Node) {
    $name = $Node.GetCommandName()
    if (-not $name) { return }
    if ($name -in $aliases) { Add-Finding $File $Node "alias $name" }
    if ($name -in $rules.forbidden) { Add-Finding $File $Node "$name is forbidden or not in 5.1" }
    $known = $rules.commands[$name]
    if ($null -eq $known -and -not $own.ContainsKey($name)) { Add-Finding $File $Node "$name is not in the table of commands" }
    if ($null -eq $known) { return }
    foreach ($part in $Node.CommandElements) {
        if ($part -is [Management.Automation.Language.CommandParameterAst] -and $part.ParameterName -notin $known) {
            Add-Finding $File $part "$name -$($part.ParameterName) is not in the table of commands"
        }
    }
}

$trees = foreach ($file in Get-ChildItem C:\scripts -Recurse -Filter *.ps1) {
    $errors = $null; $tokens = $null
    $tree = [Management.Automation.Language.Parser]::ParseFile($file.FullName, [ref] $tokens, [ref] $errors)
    foreach ($each in $errors) { Add-Finding $file $each "$each" }
    foreach ($token in $tokens) {
        if ("$($token.Kind)" -in $rules.operators) { Add-Finding $file $token "$($token.Text) is not in 5.1" }
    }
    foreach ($node in $tree.FindAll({ $args[0] -is [Management.Automation.Language.FunctionDefinitionAst] }, $true)) { $own[$node.Name] = $true }
    @{ file = $file; tree = $tree }
}
foreach ($each in $trees) {
    foreach ($node in $each.tree.FindAll({ $true }, $true)) {
        switch ($node.GetType().Name) {
            'TernaryExpressionAst' { Add-Finding $each.file $node '?: is not in 5.1' }
            'PipelineChainAst' { Add-Finding $each.file $node '&& and || are not in 5.1' }
            'FunctionDefinitionAst' { Test-Function $each.file $node }
            'CommandAst' { Test-Call $each.file $node }
            { $_ -in 'InvokeMemberExpressionAst', 'MemberExpressionAst' } {
                if ("$($node.Member)" -in $rules.members) { Add-Finding $each.file $node "$($node.Member) is not in .NET Framework" }
            }
        }
    }
}
$found -join "`n"
