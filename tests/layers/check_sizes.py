#!/usr/bin/env python3
"""Checks that files, classes and folders stay of a size that one can hold in mind,
and that code generation decides in one place.

    check_sizes.py ROOT

Prints each source, class and folder beyond the limits below, and what names a
strategy or plans where that is not its place; exits with 1 if there is any. What
was so before the rule is listed with its size: it may shrink, and not grow, and
leaves the list when it keeps to the rule.
"""

import collections
import pathlib
import re
import sys

import cpp_scopes

FOLDERS = (
    "benchmarks",
    "compiler",
    "dialects",
    "examples",
    "runtime",
    "tests",
    "tools",
)
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".td", ".py"}
CPP_SUFFIXES = {".h", ".hpp", ".c", ".cpp"}

# Lines of a source.
FILE_LINES = 500
LARGE_FILES = {}

# Lines of a class over all files: its declaration, and what is defined elsewhere.
# Its tests may take as many as they need.
CLASS_FOLDERS = ("compiler", "dialects", "runtime", "tools")
CLASS_LINES = 600
# The name, and the file that declares it.
LARGE_CLASSES = {
    "Engine (compiler/Eager/Engine/Engine.h)": 886,
}

# Sources that lie in one folder, TableGen's among them.
FLAT_FOLDERS = r"^(compiler|dialects|runtime|tools)(/|$)"
FLAT_SUFFIXES = CPP_SUFFIXES | {".td"}
FOLDER_SOURCES = 26
LARGE_FOLDERS = {}

# Names of strategies stand in the table of a device and nowhere else: what is
# chosen, divided or emitted by name is a second table.
STRATEGY_FILES = r"^compiler/Codegen/"
STRATEGY_TABLES = r"^compiler/Codegen/(CPU|CUDA)/Strategies\.cpp$"
STRATEGY_NAME = re.compile(
    r'"(?:attention|contraction|outer_products|rows|scan|scatter|threads'
    r'|transpose|windows)"'
)
# A folder, and how many it has.
NAMED_STRATEGIES = {
    "compiler/Codegen/CUDA": 1,
}

# What emits reads the plan that was chosen and plans nothing. Emitters are the
# functions and classes called so, and all that lies in a file called so.
EMITTER_FILES = r"^compiler/Codegen/.*Emit\w*\.cpp$"
EMITTER_FUNCTIONS = r"^compiler/Codegen/"
EMITTER_NAME = re.compile(r"(^|::)emit([A-Z]\w*)?$|Emitter(::|$)")
PLANNER_CALL = re.compile(r"\bplan[A-Z]\w*\s*\(")
PLANNING_EMITTERS = {}

# What the size of code generation is judged by.
COUNTED = (
    r"^compiler/Codegen/",
    r"^compiler/Eager/Kernels/",
    r"^compiler/Eager/Cpu",
)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root).as_posix(), path.read_text()


def over_limit(sizes, limit, exceptions, what):
    """Problems for those of `sizes`, a name and a number each, that are beyond
    the limit, or beyond what the exceptions say, and for exceptions that are none."""
    for name, size in sorted(sizes.items()):
        allowed = exceptions.get(name, limit)
        if size > max(allowed, limit):
            yield f"{name}: {size} {what}, at most {allowed}"
        elif size < allowed and name in exceptions and size > limit:
            print(f"{name}: {size} {what} by now: say so in check_sizes.py")
    for name in sorted(exceptions):
        if sizes.get(name, 0) <= limit:
            yield (
                f"{name}: no exception is needed for {sizes.get(name, 0)} {what}:"
                " remove it from check_sizes.py"
            )


def file_lines(files):
    return {name: text.count("\n") for name, text in files.items()}


def parse(files):
    """The scopes of each C++ source."""
    parsed = {}
    for name, text in files.items():
        if pathlib.PurePath(name).suffix in CPP_SUFFIXES:
            try:
                parsed[name] = cpp_scopes.scopes(text)
            except ValueError as error:
                sys.exit(f"{name}: {error}: check_sizes.py cannot count its classes")
    return parsed


def distance(a, b):
    """How far two files are from each other: nothing for the same one."""
    a, b = pathlib.PurePath(a).parts, pathlib.PurePath(b).parts
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return len(a) + len(b) - 2 * same


def declared_class(function, file, declarations):
    """Which class a function that is defined outside of one belongs to. Among
    classes of one name it is the nearest: each device has a Target of its own."""
    qualifiers = function.split("::")[:-1]
    while qualifiers:
        files = declarations.get(qualifiers[-1], ())
        if files:
            return qualifiers[-1], min(files, key=lambda f: distance(f, file))
        qualifiers.pop()
    return None


def class_lines(parsed):
    parsed = {f: s for f, s in parsed.items() if f.startswith(CLASS_FOLDERS)}
    declarations = collections.defaultdict(list)
    lines = collections.Counter()
    for file, scopes in parsed.items():
        for scope in scopes:
            if scope.kind == "class":
                name = scope.name.split("::")[-1]
                declarations[name].append(file)
                lines[f"{name} ({file})"] += scope.lines
    for file, scopes in parsed.items():
        for scope in scopes:
            if scope.kind == "function":
                owner = declared_class(scope.name, file, declarations)
                if owner:
                    lines["{} ({})".format(*owner)] += scope.lines
    return lines


def folder_sources(files):
    count = collections.Counter()
    for name in files:
        path = pathlib.PurePath(name)
        if re.match(FLAT_FOLDERS, name) and path.suffix in FLAT_SUFFIXES:
            count[path.parent.as_posix()] += 1
    return count


def area(name):
    """The part of the tree that an exception is for, wherever files move in it."""
    return "/".join(pathlib.PurePath(name).parent.parts[:3])


def named_strategies(files):
    """Where code names strategies outside of tables: file:line by area."""
    places = collections.defaultdict(list)
    for name, text in files.items():
        if not re.match(STRATEGY_FILES, name) or re.match(STRATEGY_TABLES, name):
            continue
        if pathlib.PurePath(name).suffix not in CPP_SUFFIXES:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            code = re.sub(r"//.*", "", line)
            count = len(STRATEGY_NAME.findall(code))
            places[area(name)] += [f"{name}:{number}"] * count
    return places


def planning_emitters(parsed):
    """Where emitters call planners: file:line by area."""
    places = collections.defaultdict(list)
    for name, scopes in parsed.items():
        in_file = re.match(EMITTER_FILES, name)
        for scope in scopes:
            if in_file or (
                re.match(EMITTER_FUNCTIONS, name) and EMITTER_NAME.search(scope.name)
            ):
                count = len(PLANNER_CALL.findall(scope.body))
                places[area(name)] += [f"{name}:{scope.start}"] * count
    return places


def in_their_place(places, exceptions, what):
    """Problems for more places than the exceptions have, with all of them."""
    counts = {name: len(found) for name, found in places.items()}
    for problem in over_limit(counts, 0, exceptions, what):
        name = problem.split(":")[0]
        yield "\n  ".join([problem, *places.get(name, ())])


def problems(files):
    parsed = parse(files)
    yield from over_limit(file_lines(files), FILE_LINES, LARGE_FILES, "lines in a file")
    yield from over_limit(
        class_lines(parsed), CLASS_LINES, LARGE_CLASSES, "lines in a class"
    )
    yield from over_limit(
        folder_sources(files), FOLDER_SOURCES, LARGE_FOLDERS, "sources in a folder"
    )
    yield from in_their_place(
        named_strategies(files),
        NAMED_STRATEGIES,
        "names of strategies outside of their table",
    )
    yield from in_their_place(
        planning_emitters(parsed), PLANNING_EMITTERS, "calls of planners by emitters"
    )


def counted_lines(files):
    for pattern in COUNTED:
        lines = [t.count("\n") for n, t in files.items() if re.match(pattern, n)]
        yield pattern.strip("^/"), sum(lines)


def main():
    files = dict(sources(pathlib.Path(sys.argv[1])))
    found = list(problems(files))
    counted = dict(counted_lines(files))
    for name, lines in counted.items():
        print(f"{lines:7,} lines in {name}")
    print(f"{sum(counted.values()):7,} lines of code generation")
    print("\n".join(found) or f"{len(files)} sources are of a size to hold in mind")
    sys.exit(1 if found or not files else 0)


if __name__ == "__main__":
    main()
