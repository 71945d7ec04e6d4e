# Functions of Windows libraries, called without a compiler.

# .SYNOPSIS
# Return a type with static methods for functions of a library: @{ name = return type, parameter types }.
function New-NativeType {
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
