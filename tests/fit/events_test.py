# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads event files with TensorBoard's own reader.

usage: events_test.py WRITE_EVENTS MODEL.json
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

WRITE_EVENTS, MODEL = sys.argv[1:3]


class EventsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, directory, model=MODEL):
        return subprocess.run(
            [WRITE_EVENTS, str(directory), model], capture_output=True, text=True
        )

    def test_tensorboard_reads_what_was_written(self):
        directory = pathlib.Path(self.folder.name) / "runs" / "first"
        written = self.write(directory)
        self.assertEqual(written.returncode, 0, written.stderr)
        events = EventAccumulator(str(directory), size_guidance={"scalars": 0})
        events.Reload()
        losses = events.Scalars("loss")
        self.assertEqual([event.step for event in losses], [0, 1, 2])
        self.assertEqual([event.value for event in losses[:2]], [1.0, 0.5])
        self.assertAlmostEqual(losses[2].value, 1 / 3, places=6)
        self.assertIn("metrics/accuracy", events.Tags()["scalars"])

        histogram = events.Histograms("weights")[0].histogram_value
        self.assertEqual(histogram.num, 100)
        self.assertEqual((histogram.min, histogram.max), (-50.5, 48.5))
        self.assertEqual(sum(histogram.bucket), 100)
        self.assertEqual(sorted(histogram.bucket_limit), histogram.bucket_limit)

        nodes = {node.name: node for node in events.Graph().node}
        self.assertIn("relu", {node.op for node in nodes.values()})
        for node in nodes.values():
            for name in node.input:
                self.assertIn(name, nodes)

    def test_checksums_are_checked(self):
        """A damaged record is noticed, so records have the right checksums."""
        directory = pathlib.Path(self.folder.name)
        path = pathlib.Path(self.write(directory).stdout.strip())
        data = bytearray(path.read_bytes())
        data[data.index(b"metrics/accuracy")] ^= 1
        path.write_bytes(data)
        events = EventAccumulator(str(directory))
        events.Reload()
        self.assertEqual(events.Tags()["scalars"], ["loss"])

    def test_says_what_cannot_be_written(self):
        blocked = pathlib.Path(self.folder.name) / "file"
        blocked.write_text("")
        written = self.write(blocked / "runs")
        self.assertEqual(written.returncode, 1)
        self.assertIn("cannot be written", written.stderr)
        written = self.write(self.folder.name, __file__)
        self.assertEqual(written.returncode, 1)
        self.assertIn("no model in Tinh's JSON format", written.stderr)
        pipe = pathlib.Path(self.folder.name) / "pipe"
        os.mkfifo(pipe)
        written = self.write(self.folder.name, pipe)
        self.assertEqual(written.returncode, 1)
        self.assertIn(f"'{pipe}': it is not a regular file but a pipe", written.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
