"""Expressions of GitHub workflows, as docs.github.com/actions describes them. What is not known here is an error."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w-]*)|(&&|\|\||==|!=|[!().,\[\]]))")
STATUS = re.compile(r"\b(always|success|failure|cancelled)\(\)")
"""Status functions. A condition without one also requires success()."""
OPEN = ("event", "secrets")
"""Parts of contexts in which a missing property is null: events differ in properties, and forks have no secrets."""


class Unknown(Exception):
    """An expression with a function, a context or a property that this runner does not know."""


class Evaluation:
    """One expression with its contexts and functions."""

    def __init__(self, text: str, contexts: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> None:
        self.text, self.contexts, self.functions = text, contexts, functions
        self.tokens, position = [], 0
        while text[position:].strip():
            match = TOKEN.match(text, position)
            if not match:
                raise Unknown(f"{text!r} at {text[position:]!r}")
            self.tokens.append(match)
            position = match.end()

    def value(self) -> Any:
        """Return the value; raise Unknown if anything is left over."""
        result = self._either()
        if self.tokens:
            raise Unknown(f"{self.text!r}: {self.tokens[0][0]!r} is left over")
        return result

    def _sign(self, *signs: str) -> str:
        return self.tokens.pop(0)[4] if self.tokens and self.tokens[0][4] in signs else ""

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise Unknown(f"{self.text!r}: {sign!r} is missing")

    def _either(self) -> Any:
        left = self._both()
        while self._sign("||"):
            right = self._both()
            left = left or right
        return left

    def _both(self) -> Any:
        left = self._equal()
        while self._sign("&&"):
            right = self._equal()
            left = right if left else left
        return left

    def _equal(self) -> Any:
        left = self._not()
        while sign := self._sign("==", "!="):
            left = (_same(left, self._not())) is (sign == "==")
        return left

    def _not(self) -> Any:
        return not self._not() if self._sign("!") else self._operand()

    def _operand(self) -> Any:
        if self._sign("("):
            inner = self._either()
            self._expect(")")
            return inner
        if not self.tokens:
            raise Unknown(f"{self.text!r} ends too early")
        token = self.tokens.pop(0)
        if token[1]:
            return token[1][1:-1].replace("''", "'")
        if token[2]:
            return float(token[2])
        if not token[3]:
            raise Unknown(f"{self.text!r}: {token[0]!r}")
        if self._sign("("):
            return self._call(token[3])
        if token[3] in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[token[3]]
        return self._property(token[3])

    def _call(self, name: str) -> Any:
        arguments = []
        while not self._sign(")"):
            arguments.append(self._either())
            self._sign(",")
        if name not in self.functions:
            raise Unknown(f"{self.text!r}: function {name}")
        return self.functions[name](*arguments)

    def _property(self, name: str) -> Any:
        if name not in self.contexts:
            raise Unknown(f"{self.text!r}: context {name}")
        here, path = self.contexts[name], name
        while self._sign("."):
            key = self.tokens.pop(0)[3]
            path += f".{key}"
            if here is None or (path.split(".")[int(name != "secrets")] in OPEN and key not in here):
                here = None
            elif not isinstance(here, Mapping) or key not in here:
                raise Unknown(f"{self.text!r}: {path} is not set")
            else:
                here = here[key]
        return here


def _same(left: Any, right: Any) -> bool:
    """GitHub ignores the case of texts, and compares values of two kinds as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if type(left) is type(right):
        return left == right
    if {type(left), type(right)} == {str, bool}:
        raise Unknown("a text is compared with a boolean, which GitHub compares as numbers: write 'true'")
    return False


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fromJSON": json.loads,
    "format": lambda form, *values: re.sub(r"\{(\d+)\}", lambda match: text(values[int(match[1])]), form),
    "hashFiles": lambda *patterns: "0" * 64,
}
"""Functions without a status."""


def text(value: Any) -> str:
    """Return a value as GitHub writes it into a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def filled(value: Any, contexts: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """Return a value of a workflow with its ${{ }} replaced, also inside lists and mappings."""
    if isinstance(value, Mapping):
        return {key: filled(each, contexts, functions) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, contexts, functions) for each in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\s*\$\{\{(.*?)\}\}\s*", value, re.DOTALL)
    if whole:
        return Evaluation(whole[1], contexts, functions).value()
    return re.sub(
        r"\$\{\{(.*?)\}\}",
        lambda match: text(Evaluation(match[1], contexts, functions).value()),
        value,
        flags=re.DOTALL,
    )


def holds(condition: Any, contexts: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> bool:
    """Return whether the `if` of a job or step holds; success() is its default and its first part."""
    words = str(condition).strip() if condition is not None else "success()"
    words = words.removeprefix("${{").removesuffix("}}")
    if not STATUS.search(words):
        words = f"success() && ({words})"
    return bool(Evaluation(words, contexts, functions).value())
