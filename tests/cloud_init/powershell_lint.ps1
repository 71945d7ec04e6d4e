# Lists, one per line, what Windows PowerShell 5.1 lacks and what the rules forbid in the scripts below C:\scripts.
# PowerShell's own parser reads them. C:\lint.json holds operators and members that 5.1 lacks, forbidden commands, the
# commands and parameters that scripts may use, and types by the .NET Framework assembly that has them ("loaded": in an
# assembly that powershell.exe 5.1 has loaded at its start).
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

# Names of the types that a type name is made of: Func[int, string[]] is made of Func, int and string.
function Get-PlainName($Name) {
    if ($Name -is [Management.Automation.Language.ArrayTypeName]) { return Get-PlainName $Name.ElementType }
    if ($Name -isnot [Management.Automation.Language.GenericTypeName]) { return $Name.FullName -replace '^System\.' }
    Get-PlainName $Name.TypeName
    foreach ($argument in $Name.GenericArguments) { Get-PlainName $argument }
}

function Get-Function($Node) {
    for ($above = $Node; $above; $above = $above.Parent) {
        if ($above -is [Management.Automation.Language.FunctionDefinitionAst]) { return $above }
    }
}

# Assemblies that a file adds outside of functions.
function Get-AddedAssembly($Tree) {
    foreach ($call in $Tree.FindAll({ $args[0] -is [Management.Automation.Language.CommandAst] }, $true)) {
        if ($call.GetCommandName() -eq 'Add-Type' -and -not (Get-Function $call)) { "$($call.CommandElements[-1])" }
    }
}

# A type whose assembly 5.1 does not load at its start needs Add-Type: in the function before it, or outside of
# functions in this file or (for modules and kinds, which node.ps1 reads in the order of their names) in an earlier one.
function Test-Type($File, $Node, $Added) {
    foreach ($name in Get-PlainName $Node.TypeName) {
        $assembly = @($rules.types.Keys | Where-Object { $name -in $rules.types[$_] })[0]
        if (-not $assembly) { Add-Finding $File $Node "type $name is not in the table of types" }
        if (-not $assembly -or $assembly -eq 'loaded' -or $assembly -in $Added) { continue }
        $function = Get-Function $Node
        $before = if ($function) {
            $function.FindAll({ $args[0] -is [Management.Automation.Language.CommandAst] }, $true) | Where-Object {
                "$_" -eq "Add-Type -AssemblyName $assembly" -and $_.Extent.StartOffset -lt $Node.Extent.StartOffset
            }
        }
        if (-not $before) { Add-Finding $File $Node "$name needs Add-Type -AssemblyName $assembly before it" }
    }
}

# -join, -eq and their like have one precedence and group from the left: A -join ',' -eq B -join ',' joins a truth.
function Test-Operator($File, $Node) {
    $compares = 'Ieq', 'Ine', 'Ceq', 'Cne', 'Imatch', 'Inotmatch', 'Cmatch', 'Cnotmatch', 'Ilike', 'Inotlike', 'Iin',
        'Inotin', 'Icontains', 'Inotcontains', 'Cin', 'Cnotin', 'Ccontains', 'Cnotcontains', 'Igt', 'Ige', 'Ilt', 'Ile'
    foreach ($side in $Node.Left, $Node.Right) {
        if ($side -isnot [Management.Automation.Language.BinaryExpressionAst]) { continue }
        $both = "$($Node.Operator)", "$($side.Operator)"
        if ($both -contains 'Join' -and @($both | Where-Object { $_ -in $compares })) {
            Add-Finding $File $Node '-join beside a comparison needs parentheses'
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
$executor = @()
$order = @{ modules = 1; kinds = 2 }
foreach ($each in $trees | Sort-Object { [int] $order[$_.file.Directory.Name] }, { $_.file.Name }) {
    $added = @(Get-AddedAssembly $each.tree)
    if ($order[$each.file.Directory.Name]) { $added = $executor = $executor + $added }
    foreach ($node in $each.tree.FindAll({ $true }, $true)) {
        switch ($node.GetType().Name) {
            'TernaryExpressionAst' { Add-Finding $each.file $node '?: is not in 5.1' }
            'PipelineChainAst' { Add-Finding $each.file $node '&& and || are not in 5.1' }
            'FunctionDefinitionAst' { Test-Function $each.file $node }
            'CommandAst' { Test-Call $each.file $node }
            'BinaryExpressionAst' { Test-Operator $each.file $node }
            { $_ -in 'TypeExpressionAst', 'TypeConstraintAst' } { Test-Type $each.file $node $added }
            { $_ -in 'InvokeMemberExpressionAst', 'MemberExpressionAst' } {
                if ("$($node.Member)" -in $rules.members) { Add-Finding $each.file $node "$($node.Member) is not in .NET Framework" }
            }
        }
    }
}
$found -join "`n"
