"""A lint that judges PowerShell scripts by Windows PowerShell 5.1 and .NET Framework 4.7.2."""
