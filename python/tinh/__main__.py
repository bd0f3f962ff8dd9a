"""`python -m tinh TOOL …`: the command-line tools."""

import sys

from . import _tinh


def _run(name: str, arguments: list[str]) -> int:
    return _tinh._run_tool(name, arguments)


def graph_compare() -> int:
    return _run("graph-compare", sys.argv[1:])


def graph_compile() -> int:
    return _run("graph-compile", sys.argv[1:])


def graph_prune() -> int:
    return _run("graph-prune", sys.argv[1:])


def graph_quantize() -> int:
    return _run("graph-quantize", sys.argv[1:])


def graph_reduce() -> int:
    return _run("graph-reduce", sys.argv[1:])


def graph_run() -> int:
    return _run("graph-run", sys.argv[1:])


def graph_scale() -> int:
    return _run("graph-scale", sys.argv[1:])


def main() -> int:
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if name in _tinh._tools:
        return _run(name, arguments)
    tools = ", ".join(_tinh._tools)
    usage = f"usage: python -m tinh TOOL …\n\nTOOL is one of {tools}; each has --help."
    if name in ("-h", "--help"):
        print(usage)
        return 0
    if name:
        print(f"tinh: there is no tool '{name}'", file=sys.stderr)
    print(usage, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
