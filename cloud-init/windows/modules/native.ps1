# Functions of Windows' own libraries, without a compiler.

# .SYNOPSIS
# A type with static methods for functions of a library: @{ name = returned type, taken types }.
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
