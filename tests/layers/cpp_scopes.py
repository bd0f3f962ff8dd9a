"""Finds the classes and functions of a C++ source, by matching braces.

    for scope in scopes(text):
        scope.kind, scope.name, scope.body, scope.lines

Knows just enough of C++ for counting lines: what stands at the level of
namespaces. It wants braces that match, whichever branch of an #if is taken.
"""

import dataclasses
import re

# A comment, a literal, or a directive: nothing in it is a brace. The quote
# within a number, as in 1'000, begins no character.
OPAQUE = re.compile(
    r"""
      //[^\n]*
    | /\*.*?\*/
    | R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
    | ^[ \t]*\#(?:\\\n|[^\n])*
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
NAMESPACE = re.compile(r'(?:inline\s+)?namespace\b\s*([\w:]*)\s*$|extern\s*""\s*$')
CLASS = re.compile(
    r"\b(?:class|struct|union)\s+(?:\[\[[^]]*\]\]\s*|alignas\([^)]*\)\s*)*"
    r"([\w:]+)\s*(?:<[^{}]*>\s*)?(?:final\s*)?(?::[^:].*)?$",
    re.DOTALL,
)
FUNCTION = re.compile(r"((?:\w+\s*::\s*)*(?:~\s*\w+|operator[^(]*|\w+))\s*\(")
USING = re.compile(r"\busing\s+namespace\s+([\w:]+)\s*;")


@dataclasses.dataclass
class Scope:
    kind: str  # "class" or "function"
    name: str  # As it stands there, with what qualifies it: Engine::Impl
    namespaces: tuple  # That it stands in, or that are used there, outermost first
    start: int  # The first line of its head, from 1
    lines: int
    body: str


def without_literals(text):
    """The text without comments, directives and what literals say."""

    def blank(match):
        lines = "\n" * match[0].count("\n")
        return '""' + lines if match[0][0] in "\"R" else lines or " "

    return OPAQUE.sub(blank, text)


def closing_brace(text, start):
    """Where the brace closes that opens at `start`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise ValueError(f"line {line_of(text, start)}: a brace that is not closed")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_template(head):
    """`head` without the parameters that a template begins with."""
    while match := re.match(r"\s*template\s*<", head):
        end, depth = match.end(), 1
        while depth and end < len(head):
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[end:]
    return head


def classify(head):
    """What a head before a brace begins: its kind and its name."""
    head = without_template(head).strip()
    if match := NAMESPACE.match(head):
        return "namespace", match[1] or ""
    if re.match(r"(typedef\s+)?enum\b", head):
        return "other", ""
    if match := CLASS.search(head):
        if "(" not in re.sub(r"alignas\([^)]*\)", "", head[: match.start(1)]):
            return "class", match[1]
    if match := FUNCTION.search(head):
        return "function", re.sub(r"\s", "", match[1])
    return "other", ""


def end_of_definition(text, brace):
    """Where a definition ends whose first brace opens at `brace`: a constructor
    may initialise members in braces before its body."""
    end = closing_brace(text, brace)
    while match := re.compile(r"\s*(,[^;{}]*)?\{").match(text, end + 1):
        end = closing_brace(text, match.end() - 1)
    return end


def scopes(text):
    """The classes and functions at the level of namespaces."""
    text = without_literals(text)
    used = tuple(USING.findall(text))
    found, opened = [], []  # `opened`: the names of the namespaces around us.
    start = 0  # Where what is being read begins.
    position = 0
    token = re.compile(r"[;{}]")
    while match := token.search(text, position):
        position = match.end()
        if match[0] == "{":
            head = text[start : match.start()]
            kind, name = classify(head)
            if kind == "namespace":
                opened.append(name or "(anonymous)")
                start = position
                continue
            end = end_of_definition(text, match.start())
            if kind != "other":
                first = start + len(head) - len(head.lstrip())
                line = line_of(text, first)
                found.append(
                    Scope(
                        kind, name, (*used, "::".join(opened)), line,
                        line_of(text, end) - line + 1, text[match.start() : end],
                    )
                )
            position = end + 1
        elif match[0] == "}":
            if not opened:
                line = line_of(text, match.start())
                raise ValueError(f"line {line}: a brace that was not opened")
            opened.pop()
        start = position
    if opened:
        raise ValueError(f"namespace {opened[-1]} is not closed")
    return found
