"""docs/python.md says what Python says."""

import doctest
import os
import pathlib
import tempfile
import unittest

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


class TourTest(unittest.TestCase):
    def test_the_document(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:  # For files that it writes.
            os.chdir(folder)
            failed, tried = doctest.testfile(
                str(DOCUMENT),
                module_relative=False,
                optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
            )
            os.chdir(before)
        self.assertGreater(tried, 40)
        self.assertEqual(failed, 0)


if __name__ == "__main__":
    unittest.main()
