# Writes the syntax trees of the scripts below C:\scripts to C:\trees.json, by path: nodes (kind, parent's index, start,
# end, line, two values), parse errors (line, text) and tokens of operators (line, kind, text). PowerShell's own parser
# reads the scripts; the rules are in Python.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Values = @{
    BinaryExpressionAst      = { "$($args[0].Operator)" }
    UnaryExpressionAst       = { "$($args[0].TokenKind)" }
    AssignmentStatementAst   = { "$($args[0].Operator)" }
    TypeExpressionAst        = { $args[0].TypeName.FullName }
    TypeConstraintAst        = { $args[0].TypeName.FullName }
    AttributeAst             = { $args[0].TypeName.FullName }
    CommandAst               = { $args[0].GetCommandName(), "$($args[0].InvocationOperator)" }
    CommandParameterAst      = { $args[0].ParameterName }
    StringConstantExpressionAst   = { $args[0].Value, "$($args[0].StringConstantType)" }
    ExpandableStringExpressionAst = { $args[0].Value, "$($args[0].StringConstantType)" }
    ConstantExpressionAst    = { $args[0].StaticType.FullName, $args[0].Extent.Text }
    VariableExpressionAst    = { $args[0].VariablePath.UserPath, "$($args[0].Splatted)" }
    InvokeMemberExpressionAst     = { "$($args[0].Static)", "$(@($args[0].Arguments | Where-Object { $_ }).Count)" }
    MemberExpressionAst      = { "$($args[0].Static)" }
    FunctionDefinitionAst    = { $args[0].Name, $(if ($args[0].GetHelpContent()) { "$($args[0].GetHelpContent().Synopsis)" }) }
    FileRedirectionAst       = { "$($args[0].FromStream)" }
    MergingRedirectionAst    = { "$($args[0].FromStream)" }
    NamedBlockAst            = { "$($args[0].BlockKind)" }
    PipelineAst              = { "$($args[0].Background)" }
    NamedAttributeArgumentAst = { $args[0].ArgumentName }
}
$Operators = 'Pipe', 'QuestionQuestion', 'QuestionQuestionEquals', 'QuestionDot', 'QuestionLBracket', 'AndAnd', 'OrOr', 'Number'

# A compiled function that is always true: FindAll calls it for each node.
$expression = [Linq.Expressions.Expression]
$taken = [Linq.Expressions.ParameterExpression[]] @(, $expression::Parameter([Management.Automation.Language.Ast]))
$All = $expression::Lambda([Func[Management.Automation.Language.Ast, bool]], $expression::Constant($true), $taken).Compile()

function Get-Node($Tree) {
    $rows = [Collections.Generic.List[object]]::new()
    $places = [Collections.Generic.Dictionary[object, int]]::new()
    foreach ($node in $Tree.FindAll($All, $true)) {
        $kind = $node.GetType().Name
        $above = $node.Parent
        $extent = $node.Extent
        $row = [Collections.Generic.List[object]]::new()
        $row.Add($kind)
        $row.Add($(if ($above) { $places[$above] } else { -1 }))
        $row.Add($extent.StartOffset)
        $row.Add($extent.EndOffset)
        $row.Add($extent.StartLineNumber)
        $tell = $Values[$kind]
        if ($tell) { foreach ($value in & $tell $node) { $row.Add($value) } }
        $places[$node] = $rows.Count
        $rows.Add($row)
    }
    , $rows
}

$trees = [Collections.Generic.Dictionary[string, object]]::new()
foreach ($file in [IO.Directory]::GetFiles('C:\scripts', '*.ps*1', 'AllDirectories')) {
    $errors = $tokens = $null
    $tree = [Management.Automation.Language.Parser]::ParseFile($file, [ref] $tokens, [ref] $errors)
    $nodes = Get-Node $tree
    $wrong = [Collections.Generic.List[object]]::new()
    foreach ($one in $errors) { $wrong.Add([string[]] @("$($one.Extent.StartLineNumber)", $one.Message)) }
    $found = [Collections.Generic.List[object]]::new()
    $last = ''
    foreach ($token in $tokens) {
        if ("$($token.Kind)" -in $Operators) {
            $kind = if ($token.Kind -eq 'Pipe' -and $last -in 'NewLine', 'Comment') { 'LeadingPipe' } else { "$($token.Kind)" }
            $found.Add([string[]] @("$($token.Extent.StartLineNumber)", $kind, $token.Text))
        }
        $last = "$($token.Kind)"
    }
    $path = $file.Substring('C:\scripts\'.Length).Replace('\', '/')
    $trees[$path] = [Collections.Generic.List[object]]::new([object[]] @($nodes, $wrong, $found))
}
[IO.File]::WriteAllText('C:\trees.json', [Text.Json.JsonSerializer]::Serialize[object]($trees))
