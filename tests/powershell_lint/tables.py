"""Facts of Windows PowerShell 5.1 that neither catalogue has, with their sources."""

ACCELERATORS = {
    "adsi": "System.DirectoryServices.DirectoryEntry",
    "array": "System.Array", "bool": "System.Boolean", "byte": "System.Byte", "char": "System.Char",
    "cultureinfo": "System.Globalization.CultureInfo", "datetime": "System.DateTime", "decimal": "System.Decimal",
    "double": "System.Double", "float": "System.Single", "guid": "System.Guid",
    "hashtable": "System.Collections.Hashtable", "int": "System.Int32", "int16": "System.Int16",
    "int32": "System.Int32", "int64": "System.Int64", "ipaddress": "System.Net.IPAddress", "long": "System.Int64",
    "mailaddress": "System.Net.Mail.MailAddress", "nullstring": "System.Management.Automation.Language.NullString",
    "ordered": "System.Collections.Specialized.OrderedDictionary",
    "powershell": "System.Management.Automation.PowerShell",
    "pscredential": "System.Management.Automation.PSCredential",
    "pscustomobject": "System.Management.Automation.PSObject", "psobject": "System.Management.Automation.PSObject",
    "ref": "System.Management.Automation.PSReference", "regex": "System.Text.RegularExpressions.Regex",
    "runspacefactory": "System.Management.Automation.Runspaces.RunspaceFactory", "sbyte": "System.SByte",
    "scriptblock": "System.Management.Automation.ScriptBlock", "securestring": "System.Security.SecureString",
    "single": "System.Single", "string": "System.String", "switch": "System.Management.Automation.SwitchParameter",
    "timespan": "System.TimeSpan", "type": "System.Type", "uint16": "System.UInt16", "uint32": "System.UInt32",
    "uint64": "System.UInt64", "uri": "System.Uri", "version": "System.Version", "void": "System.Void",
    "x509certificate": "System.Security.Cryptography.X509Certificates.X509Certificate",
    "xml": "System.Xml.XmlDocument",
}  # fmt: skip
"""Type accelerators of 5.1 (about_Type_Accelerators); short, ushort, uint, ulong and semver came with 6 and 7."""

ATTRIBUTES = {
    "alias", "allowemptycollection", "allowemptystring", "allownull", "cmdletbinding", "outputtype", "parameter",
    "validatecount", "validatelength", "validatenotnull", "validatenotnullorempty", "validatepattern",
    "validaterange", "validatescript", "validateset",
}  # fmt: skip
"""Attributes of functions and parameters in 5.1 (about_Functions_Advanced_Parameters)."""

AUTOMATION = {
    "System.Management.Automation.Language.NullString": "Value",
    "System.Management.Automation.Language.Parser": "ParseFile ParseInput",
    "System.Management.Automation.PSCredential": "new GetNetworkCredential Password UserName",
    "System.Management.Automation.PSCustomObject": "",
    "System.Management.Automation.PSObject": "*",
    "System.Management.Automation.PSReference": "new Value",
    "System.Management.Automation.PowerShell": "Create AddArgument AddCommand AddParameter AddParameters AddScript "
    "AddStatement BeginInvoke Commands Dispose EndInvoke HadErrors Invoke Runspace Stop Streams",
    "System.Management.Automation.Runspaces.RunspaceFactory": "CreateRunspace CreateRunspacePool",
    "System.Management.Automation.ScriptBlock": "Create Ast File GetNewClosure Invoke InvokeReturnAsIs",
    "System.Management.Automation.SwitchParameter": "IsPresent Present ToBool",
    "System.DirectoryServices.DirectoryEntry": "*",
}
"""Types that the assemblies lack, and their public members; `*`: any (learn.microsoft.com, PowerShell SDK 5.1)."""

EXTENDED = {
    "System.Object": "PSObject PSBase PSAdapted PSExtended PSTypeNames ForEach Where Count Length",
    "System.Array": "Count",
    "System.DateTime": "DateTime",
    "System.Diagnostics.Process": "Name SI Handles VM WS PM NPM Path Company CPU FileVersion ProductVersion",
    "System.IO.FileSystemInfo": "Mode BaseName VersionInfo LinkType Target PSPath PSParentPath PSChildName",
    "System.Net.IPAddress": "IPAddressToString",
    "System.ServiceProcess.ServiceController": "Name RequiredServices",
    "System.Security.AccessControl.ObjectSecurity": "Path Owner Group Access Sddl AccessToString AuditToString",
    "System.Security.Cryptography.X509Certificates.X509Certificate2": "EnhancedKeyUsageList DnsNameList",
    "System.Exception": "ErrorRecord StackTrace Response",
}
"""Members that PowerShell adds to types of .NET (types.ps1xml of 5.1, about_Intrinsic_Members)."""

LOADED = {"mscorlib", "System", "System.Core", "System.Xml", "System.Management.Automation"}
"""Assemblies that powershell.exe 5.1 has loaded at its start, of [AppDomain]::CurrentDomain.GetAssemblies(). It loads
more, for instance System.Management, but not on every build."""

_COMMON = """
    Debug ErrorAction ErrorVariable InformationAction InformationVariable OutBuffer OutVariable PipelineVariable
    Verbose WarningAction WarningVariable
"""
COMMON = _COMMON.split()
"""Common parameters of 5.1 (about_CommonParameters); ProgressAction came with 7.4. WhatIf is in the catalogue."""

ALIASES = {
    "ErrorAction": "EA", "ErrorVariable": "EV", "WarningAction": "WA", "OutVariable": "OV", "Verbose": "VB",
    "Debug": "DB", "LiteralPath": "PSPath",
    "New-Item:Value": "Target",
    "Get-NetFirewallRule:Name": "ID", "Remove-NetFirewallRule:Name": "ID", "New-NetFirewallRule:Name": "ID",
    "Get-NetFirewallProfile:Name": "Profile", "Set-NetFirewallProfile:Name": "Profile",
    "Get-NetIPInterface:InterfaceIndex": "ifIndex", "Set-NetIPInterface:InterfaceIndex": "ifIndex",
    "Get-NetRoute:InterfaceIndex": "ifIndex", "Get-NetIPAddress:IPAddress": "LocalAddress",
    "New-NetRoute:InterfaceIndex": "ifIndex", "New-NetIPAddress:IPAddress": "LocalAddress",
    "Set-DnsClientServerAddress:ServerAddresses": "Addresses", "Add-Type:AssemblyName": "AN",
}  # fmt: skip
"""Aliases of parameters, by name or COMMAND:NAME (the commands' pages on learn.microsoft.com, "Aliases")."""

MODULES = {
    # ServerManager is on servers only; learn.microsoft.com, module servermanager, Windows Server 2019
    "Get-WindowsFeature": "[[-Name] <string[]>] [-Vhd <string>] [-ComputerName <string>] [-Credential <pscredential>] "
    "[-LogPath <string>]",
    "Install-WindowsFeature": "[-Name] <Feature[]> [-Restart] [-IncludeAllSubFeature] "
    "[-IncludeManagementTools] [-Source <string[]>] [-ComputerName <string>] "
    "[-Credential <pscredential>] [-LogPath <string>] [-WhatIf] [-Confirm]",
}
"""Syntax of commands that the catalogue lacks."""

_AUTOMATIC = """
    $ ? ^ _ args consolefilename error event eventargs eventsubscriber executioncontext false foreach home host
    input lastexitcode matches myinvocation nestedpromptlevel null pid profile psboundparameters pscmdlet
    pscommandpath psculture psdebugcontext pshome psitem psscriptroot pssenderinfo psuiculture psversiontable pwd
    sender shellid stacktrace switch this true confirmpreference debugpreference erroractionpreference errorview
    formatenumerationlimit informationpreference maximumerrorcount maximumhistorycount ofs outputencoding
    progresspreference psdefaultparametervalues psemailserver psmoduleautoloadingpreference verbosepreference
    warningpreference whatifpreference
"""
AUTOMATIC = _AUTOMATIC.split()
"""Variables that 5.1 sets (about_Automatic_Variables and about_Preference_Variables of 5.1), in lower case."""
_VERBS = """
    Add Approve Assert Backup Block Checkpoint Clear Close Compare Complete Compress Confirm Connect Convert
    ConvertFrom ConvertTo Copy Debug Deny Disable Disconnect Dismount Edit Enable Enter Exit Expand Export Find
    Format Get Grant Group Hide Import Initialize Install Invoke Join Limit Lock Measure Merge Mount Move New Open
    Optimize Out Ping Pop Protect Publish Push Read Receive Redo Register Remove Rename Repair Request Reset Resize
    Resolve Restart Restore Resume Revoke Save Search Select Send Set Show Skip Split Start Step Stop Submit Suspend
    Switch Sync Test Trace Unblock Undo Uninstall Unlock Unprotect Unpublish Unregister Update Use Wait Watch Write
"""
VERBS = _VERBS.split()
"""Approved verbs of 5.1 (Get-Verb); Build and Deploy came with 6."""

DOCUMENTED = {
    # Networks and endpoints of HNS: dumps in microsoft/SDN #269 and #582, microsoft/Windows-Containers #563,
    # Azure/acs-engine #1903. Some lack Subnets, ManagementIP or Policies. Answers of HNSCall have Success
    # (hnsResponse in internal/hns/hns.go of microsoft/hcsshim).
    "": "id name type virtualnetwork ipaddress addressprefix success",
    # OAuth tokens of GCP's metadata server and of Azure's IMDS
    "loader.ps1": "access_token",
    "gcp.ps1": "access_token",
    "azure.ps1": "access_token",
    # payload.data: AccessSecretVersionResponse of GCP's Secret Manager; value: SecretBundle of Azure's Key Vault
    "modules/clouds.ps1": "payload data value",
    # written by this project: machine.json, epoch.json, progress.json
    "collect-logs.ps1": "facts",
    "contact/one-file.ps1": "change",
    "modules/published-epoch.ps1": "epoch",
}
"""Properties, in lower case, that a JSON document always has, by script that reads it; "": what HNS answers."""
