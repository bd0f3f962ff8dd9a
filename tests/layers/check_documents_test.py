#!/usr/bin/env python3
"""check_documents.py on a small tree: names that lead nowhere are noticed."""

import pathlib
import tempfile
import unittest

import check_documents


class CommentsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "README.md").write_text("")
        for name in ("Plan.h", "Emit.cpp", "random-graphs.cpp"):
            self.write(f"compiler/{name}", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self):
        found = check_documents.missing_in_comments(self.root)
        return [problem.split("/")[-1] for problem in found]

    def test_names_of_files_that_exist(self):
        text = "// (Emit.cpp), CPU/Plan.h, random-graphs.cpp, README.md\n"
        self.write("runtime/a.h", text)
        self.assertEqual(self.problems(), [])

    def test_a_name_of_no_file(self):
        self.write("runtime/a.h", "int x;\nint y; // Emits.cpp has it\n")
        self.assertEqual(self.problems(), ["a.h:2: there is no Emits.cpp"])

    def test_code_is_no_comment(self):
        self.write("runtime/a.h", '#include "gone.h"\n')
        self.assertEqual(self.problems(), [])


if __name__ == "__main__":
    unittest.main()
