"""Whole training steps."""

import pathlib
import tempfile
import unittest

import numpy as np
import tinh

from models import two_layer


class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph, cls.memory = two_layer(rows=16)
        random = np.random.default_rng(2)
        cls.x = random.standard_normal((16, 8)).astype("f4")
        cls.labels = random.integers(0, 3, 16)

    def compile(self, loss="cross_entropy", optimizer="adam,lr=1e-2", **options):
        return tinh.compile_training(
            self.graph, loss, optimizer, memory=self.memory, **options
        )

    def train(self, step, times=40):
        return [float(step.train_step(self.x, self.labels)) for _ in range(times)]

    def test_losses_fall(self):
        step = self.compile()
        self.assertEqual(
            [f.name for f in step.functions], ["train_step", "evaluate", "predict"]
        )
        losses = self.train(step)
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.assertLess(float(step.evaluate(self.x, self.labels)[0]), losses[-1])
        self.assertEqual(step.predict(self.x).shape, (16, 3))
        with self.assertRaisesRegex(TypeError, "call one of them"):
            step(self.x)

    def test_state(self):
        step = self.compile()
        names = [v.name for v in step.variables if v.trainable]
        self.assertEqual(names, ["w1", "w2"])
        np.testing.assert_array_equal(step.read_variable("w1"), self.memory["w1"])
        first = self.train(step, 3)
        state = step.state_dict()
        self.assertFalse(np.array_equal(state["w1"], self.memory["w1"]))
        then = self.train(step, 3)
        step.load_state_dict(state)
        self.assertEqual(self.train(step, 3), then)
        step.reset_state()
        self.assertEqual(self.train(step, 3), first)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "state.safetensors"
            step.save_state(path)
            another = self.compile()
            another.load_state(str(path))
            self.assertEqual(self.train(another, 3), then)
            wrong = pathlib.Path(folder) / "wrong.safetensors"
            wrong.write_bytes(b"garbage")
            with self.assertRaises(tinh.Error) as raised:
                another.load_state(wrong)
            self.assertEqual(raised.exception.status, "TINH_INVALID_FILE")
        with self.assertRaises(tinh.Error):
            step.read_variable("w3")
        with self.assertRaisesRegex(ValueError, "expected shape"):
            step.write_variable("w1", np.zeros((2, 2), "f4"))

    def test_a_wrong_state_changes_nothing(self):
        step = self.compile()
        state = step.state_dict()
        self.train(step, 1)
        trained = step.state_dict()
        for wrong in ({**state, "w2": np.zeros(3, "f4")}, {**state, "w3": state["w1"]}):
            with self.assertRaises((ValueError, tinh.Error)):
                step.load_state_dict(wrong)
            for name, value in step.state_dict().items():
                np.testing.assert_array_equal(value, trained[name])

    def test_only_some_weights(self):
        for patterns in (["w2"], "w2", "*2"):
            step = self.compile(trainable=patterns)
            self.train(step, 2)
            self.assertEqual([v.name for v in step.variables if v.trainable], ["w2"])

    def test_it_says_what_it_is(self):
        step = self.compile()
        self.assertEqual(
            repr(step).splitlines()[:2],
            [
                "two_layer:",
                "  train_step(x: f32[16, 8], target: i64[16]) -> (loss: f32[])",
            ],
        )
        self.assertIn("variables, bytes", repr(step.report()))
        given = {"function": "train_step", "seconds": 0.01}
        before = step.state_dict()
        self.assertGreater(step.profile(self.x, self.labels, **given)["runs"], 0)
        np.testing.assert_array_equal(step.read_variable("w1"), before["w1"])

    def test_what_is_wrong_is_said(self):
        for options in ({"loss": "luck"}, {"optimizer": "hope"}, {"trainable": ["z*"]}):
            with self.assertRaises(tinh.CompileError) as raised:
                self.compile(**options)
            named = str(options[next(iter(options))]).strip("[]'")
            self.assertIn(named, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
