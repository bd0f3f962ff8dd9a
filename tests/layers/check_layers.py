#!/usr/bin/env python3
"""Checks that no folder includes what it must not know.

    check_layers.py ROOT

Reads the #include lines of all C and C++ files and prints each that breaks a
rule of docs/architecture.md; exits with 1 if there is any.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
LLVM = re.compile(r"^(llvm|llvm-c|mlir|mlir-c|lld|clang)/")
COMPILER = re.compile(r"^compiler/|^tinh/compiler")
CODE = re.compile(r"^compiler/(Artifact|Codegen|Driver|Eager|Pipelines|Planning|Transforms)/")
DIALECTS = re.compile(r"^dialects/")
RUNTIME_SOURCES = re.compile(r"^runtime/src/")

# The folders of the runtime, each of which includes none that comes later: so there
# is no cycle.
RUNTIME_ORDER = (
    "support",
    "threads",
    "files",
    "artifact",
    "trace",
    "collectives",
    "device",
    "program",
    "resources",
    "inspection",
    "run",
    "api",
)
# Likewise within libtinh_cuda.so.
CUDA_ORDER = ("cuda/driver", "cuda/libraries", "cuda/schedule", "cuda/run")

# Headers of the runtime, but for those that libtinh_cuda.so may see.
RUNTIME_PRIVATE = (
    r"^(?!device/device_api\.h|support/(error|guarded)\.h|shared/futex\.h"
    r"|artifact/(step_buffers|steps)\.h|trace/trace_clock\.h)("
    + "|".join(RUNTIME_ORDER)
    + ")/"
)


def later(order, index):
    """Headers of what comes after a folder."""
    return re.compile("^(" + "|".join(order[index + 1 :]) + ")/")


def rules_of_order(order):
    for index, folder in enumerate(order[:-1]):
        yield (
            rf"^runtime/src/{folder}/",
            later(order, index),
            f"{folder} comes before it in the order of the runtime's folders",
        )


# Tools that run artifacts, and what they share with the others.
RUNTIME_TOOLS = (
    r"^tools/(graph-run|graph-scale|command-line|common|data|npy|page|ranks|report"
    r"|scaling|schedule|terminal|training)/"
)

# Files (a pattern), what they must not include, and the rule in words.
RULES = [
    (r"^runtime/", LLVM, "the runtime knows nothing of LLVM"),
    (r"^runtime/", COMPILER, "the runtime knows nothing of the compiler"),
    (r"^runtime/", DIALECTS, "the runtime knows nothing of the dialects"),
    (r"^dialects/", COMPILER, "the dialects know nothing of the compiler"),
    (r"^dialects/", RUNTIME_SOURCES, "the dialects know nothing of the runtime"),
    (
        r"^runtime/(src/(?!cuda/)|include/|mpi/)",
        re.compile(r"^cuda/"),
        "the runtime knows of devices what device_api.h says; what uses CUDA is"
        " libtinh_cuda.so",
    ),
    (
        r"^runtime/src/cuda/",
        re.compile(RUNTIME_PRIVATE),
        "libtinh_cuda.so shares with the runtime device_api.h and what knows"
        " artifacts alone",
    ),
    (
        r"^compiler/Planning/",
        LLVM,
        "planning works on plain data structures without IR",
    ),
    (
        r"^compiler/Planning/",
        DIALECTS,
        "planning works on plain data structures without IR",
    ),
    (
        r"^compiler/Eager/Engine/",
        LLVM,
        "the engine is plain code, tested under sanitizers without LLVM",
    ),
    (
        r"^compiler/Eager/Engine/",
        DIALECTS,
        "the engine is plain code, tested under sanitizers without LLVM",
    ),
    (
        r"^compiler/(Support|Import|Export|Reference)/",
        CODE,
        "models are read, written and interpreted without what compiles them",
    ),
    (
        r"^compiler/(?!Driver/)",
        re.compile(r"^compiler/Driver/"),
        "the driver stands above all that it calls",
    ),
    (
        r"^compiler/include/",
        re.compile(LLVM.pattern + "|^compiler/|" + DIALECTS.pattern),
        "public headers need nothing of the compiler's own, nor of LLVM",
    ),
    (
        r"^compiler/Eager/(Tensor|Engine)/",
        re.compile(LLVM.pattern + "|" + DIALECTS.pattern),
        "tensors and the engine work without IR",
    ),
    (
        r"^compiler/Nn/",
        re.compile(LLVM.pattern + "|" + DIALECTS.pattern),
        "layers, losses and optimizers are functions of tensors",
    ),
    (
        RUNTIME_TOOLS,
        LLVM,
        "graph-run and what the tools share link nothing of LLVM",
    ),
    (
        RUNTIME_TOOLS,
        COMPILER,
        "graph-run and what the tools share link nothing of the compiler",
    ),
    (
        r"^tools/(graph-run|graph-scale|page|ranks|report|scaling|schedule|training)/",
        RUNTIME_SOURCES,
        "graph-run and its reports use the runtime's public headers",
    ),
    (
        r"^python/",
        re.compile(
            LLVM.pattern + "|^compiler/|" + DIALECTS.pattern + "|^runtime/"
        ),
        "Python is a door to the public headers and the tools",
    ),
    *rules_of_order(RUNTIME_ORDER),
    *rules_of_order(CUDA_ORDER),
]

# Thin mains: what a tool may have at most, in lines of all its sources.
TOOL_LINES = 900

FOLDERS = ("runtime", "dialects", "compiler", "tools", "python")
SUFFIXES = {".h", ".hpp", ".c", ".cpp"}


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root).as_posix(), path.read_text()


def unordered_folder(name):
    """A folder of the runtime that no order has, so that no rule is about it."""
    match = re.match(r"runtime/src/((?:cuda/)?\w+)/", name)
    if match and match[1] not in (*RUNTIME_ORDER, "cuda", *CUDA_ORDER):
        yield f"{name}: {match[1]} has no place in the order of the runtime's folders"


def broken_rules(name, text):
    yield from unordered_folder(name)
    rules = [r for r in RULES if re.match(r[0], name)]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        for _, forbidden, why in rules:
            if forbidden.match(match[1]):
                yield f"{name}:{number}: includes {match[1]}, but {why}"


def self_check():
    """The rules must be able to fail."""
    bad = [
        ("runtime/src/a.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("runtime/src/run/run.h", '#include "cuda/run/device_run.h"'),
        ("runtime/src/cuda/run/a.h", '#include "program/program.h"'),
        ("runtime/src/cuda/driver/a.h", '#include "cuda/run/device_run.h"'),
        ("runtime/src/artifact/a.cpp", '#include "run/context.h"'),
        ("dialects/graph/A.h", '# include "compiler/Import/Import.h"'),
        ("compiler/Planning/A.h", "#include <mlir/IR/Operation.h>"),
        ("compiler/Export/A.cpp", '#include "compiler/Pipelines/Phases.h"'),
        ("compiler/Pipelines/A.cpp", '#include "compiler/Driver/CompileModel.h"'),
        ("compiler/Import/A.cpp", '#include "compiler/Driver/CompileModel.h"'),
        ("tools/graph-run/a.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/ranks/a.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/scaling/a.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("tools/command-line/a.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/graph-scale/a.cpp", '#include "runtime/src/run/run.h"'),
        ("compiler/include/tinh/a.h", '#include "compiler/Eager/Backend.h"'),
        ("compiler/Eager/Tensor/A.cpp", '#include "mlir/IR/Value.h"'),
        ("python/src/a.cpp", '#include "compiler/Pipelines/Compile.h"'),
    ]
    good = [
        ("compiler/Import/A.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("runtime/src/run/a.cpp", '#include "artifact/module.h"'),
        ("runtime/src/cuda/run/a.cpp", '#include "device/device_api.h"'),
    ]
    for name, text in bad:
        assert list(broken_rules(name, text)), f"{name} {text} is not noticed"
    for name, text in good:
        assert not list(broken_rules(name, text)), f"{name} {text} is refused"


def main():
    self_check()
    root = pathlib.Path(sys.argv[1])
    problems = []
    count = 0
    tool_lines = {}
    for name, text in sources(root):
        count += 1
        problems += broken_rules(name, text)
        if name.startswith("tools/"):
            tool = name.split("/")[1]
            tool_lines[tool] = tool_lines.get(tool, 0) + text.count("\n")
    for tool, lines in tool_lines.items():
        if lines > TOOL_LINES:
            problems.append(
                f"tools/{tool}: {lines} lines; a tool is a thin main over the"
                f" libraries, at most {TOOL_LINES}"
            )
    print("\n".join(problems) or f"{count} files keep to their layers")
    sys.exit(1 if problems or not count else 0)


if __name__ == "__main__":
    main()
        ("compiler/Gradients/A.cpp", '#include "compiler/Import/Import.h"'),
        ("compiler/Support/A.cpp", '#include "runtime/src/run/run.h"'),
        ("compiler/Codegen/CPU/A.cpp", '#include "compiler/Codegen/Codegen.h"'),
        ("compiler/New/A.cpp", '#include "compiler/Import/Import.h"'),
        ("compiler/Codegen/A.cpp", '#include "compiler/Codegen/CPU/Target.h"'),
        ("compiler/Support/A.cpp", '#include "runtime/src/shared/futex.h"'),
