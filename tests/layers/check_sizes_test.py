#!/usr/bin/env python3
"""check_sizes.py on small trees, each with one thing that it has to notice."""

import pathlib
import tempfile
import unittest
from unittest import mock

import check_sizes
import cpp_scopes

EXCEPTIONS = (
    "LARGE_FILES",
    "LARGE_CLASSES",
    "LARGE_FOLDERS",
    "NAMED_STRATEGIES",
    "PLANNING_EMITTERS",
)
LONG_BODY = "  f();\n" * 400


class SizesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.allow(**{name: {} for name in EXCEPTIONS})

    def allow(self, **exceptions):
        for name, value in exceptions.items():
            patch = mock.patch.object(check_sizes, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self):
        return list(check_sizes.problems(dict(check_sizes.sources(self.root))))

    def expect(self, *texts):
        problems = self.problems()
        self.assertEqual(len(problems), len(texts), problems)
        for problem, text in zip(problems, texts):
            self.assertIn(text, problem)

    def test_files(self):
        self.write("runtime/src/a.cpp", "\n" * 500)
        self.write("tests/a.py", "\n" * 501)
        self.expect("tests/a.py: 501 lines in a file, at most 500")

    def test_exceptions_shrink(self):
        self.write("tools/a.cpp", "\n" * 510)
        self.allow(LARGE_FILES={"tools/a.cpp": 509})
        self.expect("510 lines in a file, at most 509")
        self.allow(LARGE_FILES={"tools/a.cpp": 510})
        self.expect()
        self.write("tools/a.cpp", "\n" * 500)
        self.expect("no exception is needed for 500 lines in a file")
        (self.root / "tools/a.cpp").unlink()
        self.expect("no exception is needed for 0 lines in a file")

    def test_class_over_files(self):
        self.write("compiler/A/Big.h", "namespace t {\nclass Big { void f(); };\n}\n")
        self.write(
            "compiler/A/F.cpp", "void t::Big::f() {\n" + LONG_BODY + "}\n"
        )
        self.expect()
        self.write("compiler/A/G.cpp", "int Big::g() {\n" + LONG_BODY + "}\n")
        self.expect("Big (compiler/A/Big.h): 805 lines in a class, at most 600")

    def test_classes_of_one_name(self):
        for folder in ("CPU", "CUDA"):
            self.write(f"compiler/{folder}/Target.h", "struct Target {};\n")
            self.write(
                f"compiler/{folder}/Target.cpp",
                "void Target::f() {\n" + LONG_BODY + "}\n",
            )
        self.expect()

    def test_folders(self):
        for index in range(27):
            self.write(f"compiler/Codegen/CPU/F{index}.cpp", "")
            self.write(f"tests/nn/F{index}.cpp", "")
        self.expect("compiler/Codegen/CPU: 27 sources in a folder, at most 26")

    def test_named_strategies(self):
        choose = 'if (strategy == "rows") // As "scan".\n  return "contraction";\n'
        self.write("compiler/Codegen/CPU/Choose.cpp", choose)
        self.write("compiler/Codegen/CPU/Strategies.cpp", choose)
        self.write("compiler/Transforms/Choose.cpp", choose)
        self.expect("CPU: 2 names of strategies outside of their table, at most 0")
        self.assertIn("CPU/Choose.cpp:1", self.problems()[0])
        self.allow(NAMED_STRATEGIES={"compiler/Codegen/CPU": 2})
        self.expect()

    def test_planning_emitters(self):
        plan = "{\n  auto p = planRows(k);\n}\n"
        self.write("compiler/Codegen/CPU/A.cpp", "void emitRows() " + plan)
        self.write("compiler/Codegen/CPU/B.cpp", "void Divider::run() " + plan)
        self.write("compiler/Codegen/CPU/RowsEmit.cpp", "void store() " + plan)
        self.write("compiler/Codegen/CUDA/C.cpp", "void RowsEmitter::run() " + plan)
        self.expect(
            "compiler/Codegen/CPU: 2 calls of planners by emitters, at most 0",
            "compiler/Codegen/CUDA: 1 calls of planners by emitters, at most 0",
        )


class ScopesTest(unittest.TestCase):
    def names(self, text):
        return [(s.kind, s.name, s.lines) for s in cpp_scopes.scopes(text)]

    def test_what_is_no_brace(self):
        text = """
            // {
            #define OPEN {
            namespace a::b {
            namespace {
            const char *text = "}{\\"{"; /* { */
            char c = '{'; int n = 1'000;
            auto raw = R"(})";
            int list[] = {1, 2};
            enum class Kind { a, b };
            }
            }
        """
        self.assertEqual(self.names(text), [])

    def test_classes(self):
        text = """
            template <typename T, typename U = Box<T>>
            class A final : public B<int(T)> {
              struct Inner { void f() {} };
            };
            struct A::Impl {
            };
        """
        self.assertEqual(self.names(text), [("class", "A", 4), ("class", "A::Impl", 2)])

    def test_functions(self):
        text = """
            A::A(int x) : x{x}, y(x), z{} {
              f();
            }
            A::~A() {}
            static LogicalResult run(struct Point p) {
            }
            bool A::operator==(const A &) const { return true; }
        """
        self.assertEqual(
            self.names(text),
            [
                ("function", "A::A", 3),
                ("function", "A::~A", 1),
                ("function", "run", 2),
                ("function", "A::operator==", 1),
            ],
        )

    def test_braces_that_do_not_match(self):
        for text in ("void f() {", "}", "namespace a {"):
            with self.assertRaises(ValueError):
                cpp_scopes.scopes(text)


if __name__ == "__main__":
    unittest.main()
