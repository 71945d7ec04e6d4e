# Functions of Windows libraries.

# .SYNOPSIS
# Return a type with static methods for functions of a library: @{ name = return type, parameter types }. The type is
# made in memory; if security software blocks that, by the compiler. Throw code-blocked if it blocks both.
function New-NativeType {
    [CmdletBinding()]
    param([string] $Name, [string] $Library, [hashtable] $Functions)
    try { New-EmittedType $Name $Library $Functions }
    catch {
        $why = $_.Exception.GetBaseException().Message
        try { New-CompiledType $Name $Library $Functions }
        catch {
            $also = $_.Exception.GetBaseException().Message
            throw (New-Failure 'code-blocked' "no functions of ${Library}: $why; compiled: $also")
        }
    }
}

# .SYNOPSIS
# Make the type in memory, without a compiler.
function New-EmittedType {
    [CmdletBinding()]
    param([string] $Name, [string] $Library, [hashtable] $Functions)
    $assembly = [Reflection.Emit.AssemblyBuilder]::DefineDynamicAssembly([Reflection.AssemblyName]::new($Name), 'Run')
    $type = $assembly.DefineDynamicModule('native').DefineType($Name, 'Public, Class')
    foreach ($each in $Functions.Keys) {
        $returns, $takes = $Functions[$each]
        $words = 'Public, Static, PinvokeImpl', 'Standard', $returns, [type[]] $takes, 'Winapi', 'Unicode'
        $type.DefinePInvokeMethod.Invoke(@($each, $Library) + $words).SetImplementationFlags('PreserveSig')
    }
    $type.CreateType()
}

# .SYNOPSIS
# Make the type with the C# compiler, as most administrators' scripts do.
function New-CompiledType {
    [CmdletBinding()]
    param([string] $Name, [string] $Library, [hashtable] $Functions)
    $lines = foreach ($each in $Functions.Keys) {
        $returns, $takes = $Functions[$each]
        $number = 0
        $words = foreach ($type in $takes) {
            $word = if ($type.IsByRef) { "ref $($type.GetElementType().FullName)" } else { $type.FullName }
            "$word p$number"
            $number++
        }
        "[DllImport(`"$Library`", CharSet = CharSet.Unicode)]"
        "public static extern $($returns.FullName) $each($($words -join ', '));"
    }
    Add-Type -Namespace 'Mullion.Compiled' -Name ($Name -replace '.*\.') -MemberDefinition ($lines -join "`n") -PassThru
}
