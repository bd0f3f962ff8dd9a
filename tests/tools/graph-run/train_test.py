# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-run --train on the hand-made training artifact.

usage: train_test.py GRAPH_RUN TRAINER TRAIN_MORE

Needs the standard library alone. The artifact fits prediction = x · w + b to
batches of 8 by gradient descent with momentum; "stamp" counts its steps.
"""

import json
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

GRAPH_RUN, TRAINER, TRAIN_MORE = (
    str(pathlib.Path(p).absolute()) for p in sys.argv[1:4]
)


def npy(values, shape, descr="<f4", code="f"):
    """The bytes of a .npy file."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + data


def safetensors(**tensors):
    """The bytes of a .safetensors file of f32 tensors, each a shape and values."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape}
        header[name]["data_offsets"] = [begin, len(data)]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_safetensors(path):
    """Metadata and the bytes of each tensor."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = data[8 + length + begin : 8 + length + end]
    return metadata, tensors


class Train(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        numbers = random.Random(1)
        self.rows = [[numbers.uniform(-1, 1) for _ in range(4)] for _ in range(100)]
        self.targets = [r[0] - 2 * r[1] + 3 * r[2] + 0.25 for r in self.rows]
        self.write("x", self.rows)
        self.write("y", self.targets)

    def write(self, name, rows, **options):
        flat = [v for row in rows for v in (row if isinstance(row, list) else [row])]
        shape = (len(rows), 4) if isinstance(rows[0], list) else (len(rows),)
        (self.folder / f"{name}.npy").write_bytes(npy(flat, shape, **options))

    def command(self, *arguments, data="x.npy,y.npy"):
        return [GRAPH_RUN, TRAINER, "--train", "--data", data, *map(str, arguments)]

    def run_tool(self, *arguments, **options):
        return subprocess.run(
            self.command(*arguments, **options),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )

    def train(self, *arguments, **options):
        """The losses, by epoch."""
        done = self.run_tool(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("\r", done.stdout)  # Plain lines in a pipe.
        lines = re.findall(r"^epoch \d+ of \d+: loss (\S+)", done.stdout, re.M)
        return [float(line) for line in lines]

    def fails(self, message, *arguments, code=1, **options):
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)

    def state(self, name):
        return read_safetensors(self.folder / name)

    def test_trace(self):
        self.train("--trace", "trace.json")
        trace = json.loads((self.folder / "trace.json").read_text())
        self.assertGreater(len(trace["traceEvents"]), 10)
        full = "cannot write '/dev/full': No space left on device"
        self.fails(full, "--trace", "/dev/full")

    def test_it_learns(self):
        losses = self.train("--epochs", 40, "--save-state", "end")
        self.assertEqual(len(losses), 40)
        self.assertLess(losses[-1], 1e-4)
        self.assertLess(losses[-1], losses[0] / 1000)
        _, tensors = self.state("end")
        for found, wanted in zip(struct.unpack("<4f", tensors["w"]), [1, -2, 3, 0]):
            self.assertAlmostEqual(found, wanted, delta=0.02)
        (steps,) = struct.unpack("<q", tensors["stamp"][:8])
        self.assertEqual(steps, 40 * 12)

    def test_losses_are_means_over_the_batches(self):
        """Against the same training in Python's doubles."""
        w, b, w_moment, b_moment, losses = [0, 1, 2, 3], 0, [0] * 4, 0, []
        for batch in range(12):
            loss, to_w, to_b = 0, [0] * 4, 0
            for row in range(batch * 8, batch * 8 + 8):
                x = self.rows[row]
                error = sum(map(float.__mul__, x, map(float, w))) + b
                error -= self.targets[row]
                loss += error * error / 8
                to_b += error / 4
                to_w = [g + error / 4 * v for g, v in zip(to_w, x)]
            w_moment = [0.9 * m + g for m, g in zip(w_moment, to_w)]
            b_moment = 0.9 * b_moment + to_b
            w = [v - 0.05 * m for v, m in zip(w, w_moment)]
            b -= 0.05 * b_moment
            losses.append(loss)
        (loss,) = self.train()
        self.assertAlmostEqual(loss, sum(losses) / 12, places=4)

    def test_what_is_printed(self):
        done = self.run_tool("--epochs", 2, "--validation", "x.npy,y.npy")
        lines = done.stdout.split("\n")
        self.assertEqual(
            lines[0], "100 samples, 12 batches of 8, 4 left out of each epoch"
        )
        pattern = r"epoch {} of 2: loss \S+; validation loss \S+ \(\S+ ms a step\)"
        for epoch in (1, 2):
            self.assertRegex(lines[epoch], "^" + pattern.format(epoch) + "$")
        self.assertEqual(lines[3:], [""])

    def test_shuffling_depends_on_the_seed_alone(self):
        first = self.train("--epochs", 3, "--shuffle", 5)
        self.assertEqual(self.train("--epochs", 3, "--shuffle", 5), first)
        self.assertNotEqual(self.train("--epochs", 3, "--shuffle", 6), first)
        self.assertNotEqual(self.train("--epochs", 3), first)

    def test_any_number_of_threads_gives_the_same(self):
        for threads in (1, 3):
            self.train("--threads", threads, "--save-state", f"end{threads}")
        self.assertEqual(self.state("end1"), self.state("end3"))

    def test_resumed_training_ends_the_same(self):
        options = ("--shuffle", 3, "--checkpoint")
        whole = self.train("--epochs", 4, *options, "whole")
        first = self.train("--epochs", 2, *options, "parts")
        rest = self.train("--epochs", 4, *options, "parts", "--resume")
        self.assertEqual(first + rest, whole)
        self.assertEqual(self.state("whole"), self.state("parts"))
        self.assertEqual(self.train("--epochs", 4, *options, "parts", "--resume"), [])

    def test_states_go_from_run_to_run(self):
        self.train("--epochs", 1, "--save-state", "one")
        self.train("--epochs", 1, "--load-state", "one", "--save-state", "two")
        self.train("--epochs", 2, "--save-state", "both")
        self.assertEqual(self.state("two"), self.state("both"))
        command = [GRAPH_RUN, TRAINER, "--function", "predict", "--load-state", "two"]
        done = subprocess.run(
            [*command, "--input", "x=zeros", "--output-dir", "out"],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        self.assertEqual(done.stderr, b"")
        prediction = (self.folder / "out" / "prediction.npy").read_bytes()[-32:]
        self.assertEqual(prediction, self.state("two")[1]["b"] * 8)

    def test_a_c_program_goes_on(self):
        self.train("--epochs", 3, "--save-state", "state")
        flat = [value for row in self.rows for value in row]
        data = safetensors(x=([100, 4], flat), y=([100], self.targets))
        (self.folder / "data").write_bytes(data)
        command = [TRAIN_MORE, TRAINER, "data", "state"]
        done = subprocess.run(
            command, cwd=self.folder, check=True, capture_output=True, text=True
        )
        losses = [float(line.split()[-1]) for line in done.stdout.splitlines()]
        self.assertEqual(losses, self.train("--epochs", 13, "--save-state", "end")[3:])
        self.assertEqual(self.state("state")[1], self.state("end")[1])

    def test_killed_at_any_time_it_goes_on_as_if_not(self):
        options = ("--shuffle", 2, "--epochs", 30, "--checkpoint")
        self.train(*options, "whole")
        command = self.command(
            *options, "parts", "--checkpoint-steps", 5, "--resume", "--threads", 2
        )
        numbers = random.Random(3)
        for _ in range(50):
            process = subprocess.Popen(
                command, cwd=self.folder, stdout=subprocess.PIPE, text=True
            )
            process.stdout.readline()  # It has begun.
            time.sleep(numbers.uniform(0, 0.02))
            process.kill()
            process.communicate()
            self.assertIn(process.returncode, (-signal.SIGKILL, 0))
            if (self.folder / "parts").exists():
                _, tensors = self.state("parts")
                stamps = tensors["stamp"]
                self.assertEqual(stamps, stamps[:8] * (len(stamps) // 8))
        self.train(*options, "parts", "--resume")
        self.assertEqual(self.state("whole"), self.state("parts"))

    def test_data_that_does_not_fit(self):
        self.write("y64", self.targets, descr="<f8", code="d")
        self.write("half", self.targets[:50])
        self.write("few.x", self.rows[:5])
        self.write("few.y", self.targets[:5])
        self.fails("has 1 files, and the model takes 2: --data x.npy,y.npy", data="x.npy")
        self.fails("has dtype f64, and the model expects f32", data="x.npy,y64.npy")
        self.fails("has 50 samples in batches of 8, the one", data="x.npy,half.npy")
        self.fails("has shape 100, and the model expects Nx4", data="y.npy,x.npy")
        self.fails("there are 5 samples", data="few.x.npy,few.y.npy")
        self.fails("cannot read 'z.npy': No such file", data="x.npy,z.npy")
        self.fails("compiled for batches of 8; compile", "--batch", 32)
        self.train("--batch", 8)

    def test_numbers_out_of_range(self):
        for option, value in (
            ("--epochs", -1),
            ("--epochs", 10**20),
            ("--batch", -8),
            ("--shuffle", -3),
            ("--seed", -1),
            ("--checkpoint-steps", -1),
        ):
            self.fails(option, option, value, "--checkpoint", "c", code=2)

    def test_a_checkpoint_that_is_a_folder(self):
        (self.folder / "c").mkdir()
        done = self.run_tool("--checkpoint", "c")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("not a regular file", done.stderr)

    def test_links_stay_links(self):
        away = self.folder / "away"
        away.mkdir()
        (self.folder / "state").symlink_to("away/there")  # Not there yet.
        (self.folder / "checkpoint").symlink_to(away / "next")
        (away / "next").symlink_to("../last")
        for _ in range(2):
            self.train("--save-state", "state", "--checkpoint", "checkpoint")
            self.assertEqual((self.folder / "state").readlink().name, "there")
            self.assertTrue((away / "next").is_symlink())
            self.assertEqual(
                self.state("away/there")[1]["w"], self.state("last")[1]["w"]
            )
        self.assertEqual(sorted(p.name for p in away.iterdir()), ["next", "there"])
        (self.folder / "a").symlink_to("b")
        (self.folder / "b").symlink_to("a")
        self.fails(
            "cannot write 'a': Too many levels of symbolic links", "--save-state", "a"
        )

    def test_a_state_that_cannot_be_written_is_no_work_lost(self):
        self.fails(
            "cannot write 'no/where': No such file or directory",
            *("--save-state", "no/where", "--checkpoint", "state"),
        )
        self.assertFalse((self.folder / "state").exists())
        (self.folder / "link").symlink_to("no/where")
        for place, why in (
            ("link", "No such file or directory"),
            ("x.npy/state", "Not a directory"),
            (".", "Is a directory"),
        ):
            self.fails(f"cannot write '{place}': {why}", "--save-state", place)
        # The file behind a link is written, whatever folder the link is in.
        read_only = self.folder / "read-only"
        read_only.mkdir()
        (read_only / "link").symlink_to("../there")
        read_only.chmod(0o500)
        self.addCleanup(read_only.chmod, 0o700)
        self.train("--save-state", "read-only/link")
        self.assertTrue((self.folder / "there").exists())
        self.assertTrue((read_only / "link").is_symlink())

    def test_it_has_its_own_functions(self):
        self.fails("--function excludes --train", "--function", "predict", code=2)

    def test_a_loss_that_is_no_number(self):
        self.rows[19][2] = float("nan")
        self.write("x", self.rows)
        self.fails("the loss is nan in step 3 of epoch 1; check the data")
        self.fails("--check-numerics names what gave the first such number")

    def test_the_first_number_that_is_not_finite(self):
        """Its step is named, and the last good checkpoint stays."""
        good = ("--checkpoint", "good", "--checkpoint-steps", 2, "--threads", 2)
        self.train(*good)
        checked = ("--check-numerics", *good[2:])
        self.train(*checked, "--checkpoint", "checked")
        self.assertEqual(self.state("checked"), self.state("good"))
        self.rows[3 * 8 + 5][2] = float("nan")
        self.write("x", self.rows)
        self.fails(
            "a number is not finite in step 4 of epoch 1; train_step: step 0 of 6: "
            "kernel 'predict', of the nodes 'PREDICT', gave NaN at [5], the first "
            "of 1 among 8 numbers of its result 0, f32 [8]; it had read NaN at "
            "[5, 2], the first of 1 among 32 numbers of its operand 0, the input "
            "'x', f32 [8, 4]\n",
            *checked,
            "--checkpoint",
            "kept",
        )
        metadata, tensors = self.state("kept")
        self.assertEqual(metadata["tinh.step"], "2")
        self.assertEqual(struct.unpack("<q", tensors["stamp"][-8:]), (2,))

    def test_checkpoints_that_do_not_fit(self):
        self.train("--shuffle", 1, "--checkpoint", "state", "--save-state", "plain")
        resume = ("--checkpoint", "state", "--resume")
        self.fails("its shuffle is 1, and is none now", *resume)
        self.write("y", self.targets[:80])
        self.write("x", self.rows[:80])
        self.fails("its samples is 100, and is 80 now", "--shuffle", 1, *resume)
        self.fails(
            "its batch is not known", "--checkpoint", "plain", "--resume"
        )
        other = safetensors(w=([5], [0] * 5), v=([1], [0]))
        (self.folder / "other").write_bytes(other)
        self.fails(
            "cannot load the state from 'other': it is the state of another model; it "
            "lacks 'b'; its 'v' is no variable of the model; its 'w' is f32 [5], and "
            "f32 [4] is expected",
            "--load-state",
            "other",
        )
        whole = (self.folder / "state").read_bytes()
        self.write("y", self.targets)
        self.write("x", self.rows)
        for said, damaged in (
            (b'"tinh.epoch":"1"', b'"tinh.epoch":"x"'),
            (b'"tinh.epoch":"1"', b'"tinh.epoch":""'),
            (b'"tinh.step":"0"', b'"tinh.step":"-1"'),
            (b'"tinh.step":"0"', b'"tinh.step":"99"'),
            (b"0x0p+0", b"?"),
        ):
            self.assertIn(said, whole)
            (length,) = struct.unpack("<Q", whole[:8])
            header = whole[8 : 8 + length].replace(said, damaged)
            (self.folder / "damaged").write_bytes(
                struct.pack("<Q", len(header)) + header + whole[8 + length :]
            )
            self.fails(
                "cannot resume from 'damaged': its metadata is damaged",
                *("--shuffle", 1, "--checkpoint", "damaged", "--resume"),
            )
        (self.folder / "state").write_text("nonsense")
        self.fails("not a safetensors file", "--shuffle", 1, *resume)
        self.fails("--resume requires --checkpoint", "--resume", code=2)
        self.fails("No such file", "--checkpoint", "nowhere/state")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
