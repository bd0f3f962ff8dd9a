"""Layers, modules and optimizers."""

import pathlib
import tempfile
import unittest

import numpy as np
import tinh
from tinh import nn, optim


class Net(nn.Module):
    def __init__(self):
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.blocks = [nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(4 * 3 * 3, 5))

    def forward(self, x):
        x = self.convolution(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class NnTest(unittest.TestCase):
    def setUp(self):
        self.net = Net()
        self.net.initialize(tinh.Generator(0))
        random = np.random.default_rng(1)
        self.x = tinh.tensor(random.standard_normal((8, 1, 6, 6), dtype="f4"))
        self.labels = tinh.tensor(random.integers(0, 5, 8))

    def train(self, step, count):
        return [step(self.x, self.labels).item() for _ in range(count)]

    def step_of(self, rule):
        optimizer = optim.Optimizer(self.net.parameters(), rule)

        def step(x, labels):
            loss = tinh.cross_entropy(self.net(x), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        return step, optimizer

    def test_names(self):
        names = list(self.net.named_parameters())
        self.assertEqual(
            names,
            [
                "convolution.weight",
                "convolution.bias",
                "blocks.0.weight",
                "blocks.0.bias",
                "head.1.weight",
                "head.1.bias",
            ],
        )
        self.assertIn("blocks.0.running_mean", self.net.state_dict())
        self.assertIn("Linear", repr(self.net))

    def test_a_layer_is_its_formula(self):
        layer = nn.Linear(3, 2)
        layer.initialize(tinh.Generator(3))
        x = np.ones((4, 3), "f4")
        weight, bias = (p.numpy() for p in layer.parameters())
        expected = x @ weight.T + bias
        np.testing.assert_allclose(layer(tinh.tensor(x)).numpy(), expected, rtol=1e-5)

    def test_all_rules_train(self):
        for name in ("sgd", "adam", "adamw", "adamax", "nadam", "adagrad", "rmsprop", "lion"):
            self.setUp()
            rule = getattr(optim, name)(lr=0.05 if name == "sgd" else 3e-3)
            self.assertEqual(rule.name, name)
            losses = self.train(self.step_of(rule)[0], 8)
            self.assertLess(losses[-1], losses[0], name)

    def test_eager_and_compiled_steps_are_alike(self):
        eager = self.train(self.step_of(optim.adam(lr=1e-2))[0], 4)
        self.setUp()
        step = tinh.function(self.step_of(optim.adam(lr=1e-2))[0])
        compiled = self.train(step, 4)
        np.testing.assert_allclose(compiled, eager, rtol=1e-4)
        self.assertEqual(step.statistics["traces"], 1)

    def test_state(self):
        step, optimizer = self.step_of(optim.adam(lr=1e-2))
        self.train(step, 2)
        state = {k: v.numpy() for k, v in self.net.state_dict().items()}
        kept = {k: v.numpy() for k, v in optimizer.state_dict().items()}
        then = self.train(step, 2)
        self.net.load_state_dict(state)
        optimizer.load_state_dict(kept)
        self.assertEqual(self.train(step, 2), then)
        with self.assertRaisesRegex(ValueError, "nothing.weight"):
            self.net.load_state_dict({**state, "nothing.weight": np.zeros(1)})
        optimizer.learning_rate = 0.5
        self.assertEqual(optimizer.learning_rate.item(), 0.5)

    def test_evaluation_is_not_training(self):
        before = self.net.state_dict()["blocks.0.running_mean"].numpy()
        self.net.eval()
        self.net(self.x)
        now = self.net.state_dict()["blocks.0.running_mean"].numpy()
        np.testing.assert_array_equal(before, now)
        self.net.train()
        self.net(self.x)
        now = self.net.state_dict()["blocks.0.running_mean"].numpy()
        self.assertFalse(np.array_equal(before, now))

    def test_parameters_of_ones_own(self):
        class Scaled(nn.Module):
            def __init__(self):
                self.factor = nn.Parameter([2.0, 3.0])
                self.parts = [nn.Parameter(tinh.zeros(2)), nn.Linear(2, 2)]
                self.again = self.parts[1]
                self.offset = nn.Buffer(tinh.ones(2))
                self.plain = tinh.ones(5)

            def forward(self, x):
                return x * self.factor + self.parts[0] + self.offset

        net = Scaled()
        net.initialize(tinh.Generator(0))
        names = ["factor", "parts.0", "parts.1.weight", "parts.1.bias"]
        self.assertEqual(list(net.named_parameters()), names)
        self.assertEqual(
            set(net.state_dict()), {*names, "offset", "again.weight", "again.bias"}
        )
        self.assertEqual(net.num_parameters(), 2 + 2 + 4 + 2)
        net(tinh.ones(2)).sum().backward()
        self.assertEqual(net.factor.grad.tolist(), [1, 1])
        net.freeze()
        self.assertFalse(any(p.requires_grad for p in net.parameters()))
        net.unfreeze()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.safetensors"
            net.save(path)
            other = Scaled()
            other.initialize(tinh.Generator(1))
            with tinh.no_grad():
                other.factor.fill_(7)
            other.load(path)
        for name, value in net.state_dict().items():
            self.assertEqual(other.state_dict()[name].tolist(), value.tolist(), name)
        net.to("f64")
        self.assertEqual({t.dtype for t in net.state_dict().values()}, {"f64"})
        self.assertTrue(net.parts[0].requires_grad)
        self.assertEqual(net(tinh.ones(2, "f64")).tolist(), [3, 4])
        with self.assertRaisesRegex(ValueError, "missing: .'offset'"):
            net.load_state_dict({k: v for k, v in net.state_dict().items() if k != "offset"})
        with self.assertRaisesRegex(tinh.Error, r"(?s)weight.*"):
            net.load_state_dict({**net.state_dict(), "parts.1.weight": tinh.ones((3, 3))})

    def test_every_layer_gives_its_shape(self):
        image, sequence = tinh.ones((2, 4, 8, 8)), tinh.ones((2, 5, 8))
        for layer, x, shape in [
            (nn.Conv1d(5, 3, 3, padding=1, padding_mode="circular"), sequence, (2, 3, 8)),
            (nn.Conv2d(4, 6, 3, stride=2, groups=2), image, (2, 6, 3, 3)),
            (nn.ConvTranspose1d(5, 3, 2, stride=2), sequence, (2, 3, 16)),
            (nn.ConvTranspose2d(4, 3, 3, output_padding=1, stride=2), image, (2, 3, 18, 18)),
            (nn.MaxPool1d(2), sequence, (2, 5, 4)),
            (nn.MaxPool2d(3, ceil_mode=True), image, (2, 4, 3, 3)),
            (nn.AvgPool1d(2), sequence, (2, 5, 4)),
            (nn.AvgPool2d(2, padding=1), image, (2, 4, 5, 5)),
            (nn.AdaptiveAvgPool1d(2), sequence, (2, 5, 2)),
            (nn.AdaptiveAvgPool2d(1), image, (2, 4, 1, 1)),
            (nn.BatchNorm1d(5), sequence, (2, 5, 8)),
            (nn.GroupNorm(2, 4), image, (2, 4, 8, 8)),
            (nn.LayerNorm(8), sequence, (2, 5, 8)),
            (nn.RNN(8, 6, batch_first=True, relu=True), sequence, (2, 5, 6)),
            (nn.LSTM(8, 6, num_layers=2, batch_first=True), sequence, (2, 5, 6)),
            (nn.LSTM(8, 6, proj_size=3, batch_first=True), sequence, (2, 5, 3)),
            (nn.GRU(8, 6, bidirectional=True, batch_first=True), sequence, (2, 5, 12)),
            (nn.MultiHeadAttention(8, 2, batch_first=True), sequence, (2, 5, 8)),
            (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), sequence, (2, 5, 8)),
            (nn.Linear(nn.inferred, 3), sequence, (2, 5, 3)),
            (nn.Identity(), sequence, (2, 5, 8)),
            (nn.Flatten(), image, (2, 256)),
            (nn.Embedding(9, 4), tinh.tensor([[1, 2]]), (1, 2, 4)),
        ]:
            layer.initialize(tinh.Generator(0))
            self.assertEqual(layer(x).shape, shape, layer)
        with self.assertRaisesRegex(ValueError, "padding_mode: expected"):
            nn.Conv1d(1, 1, 1, padding_mode="mirror")

    def test_recurrent_state_goes_on(self):
        layer = nn.LSTM(3, 4)
        layer.initialize(tinh.Generator(0))
        x = tinh.normal((6, 2, 3), tinh.Generator(1))
        whole, last = layer(x, [])
        first, state = layer(x[:2], [])
        rest, again = layer(x[2:], state)
        np.testing.assert_allclose(tinh.concat([first, rest]).numpy(), whole.numpy(), rtol=1e-5)
        for a, b in zip(last, again, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)

    def test_attention_masks(self):
        layer = nn.MultiHeadAttention(4, 2, batch_first=True)
        layer.initialize(tinh.Generator(0))
        x = tinh.normal((1, 3, 4), tinh.Generator(1))
        mask = tinh.tril(tinh.ones((3, 3))).to("bool")
        causal = layer(x, x, x, causal=True).numpy()
        np.testing.assert_allclose(layer(x, x, x, mask=mask).numpy(), causal, rtol=1e-5)
        self.assertFalse(np.allclose(layer(x).numpy(), causal))

    def test_initializers(self):
        x, generator = tinh.zeros((64, 32)), tinh.Generator(0)
        for make, deviation in [
            (nn.init.normal(0, 0.5), 0.5),
            (nn.init.uniform(-1, 1), 3**-0.5),
            (nn.init.xavier_uniform(), (2 / 96) ** 0.5),
            (nn.init.kaiming_normal(), (2 / 32) ** 0.5),
            (nn.init.kaiming_normal(fan_out=True), (2 / 64) ** 0.5),
        ]:
            make(x, generator)
            self.assertAlmostEqual(float(x.numpy().std()) / deviation, 1, delta=0.1)
        nn.init.orthogonal()(x, generator)
        np.testing.assert_allclose((x.T @ x).numpy(), np.eye(32), atol=1e-5)
        nn.init.constant(3)(x, generator)
        self.assertEqual(x.numpy().max(), 3)

    def test_losses(self):
        x, y = tinh.tensor([1.0, 2.0]), tinh.tensor([3.0, 5.0])
        self.assertEqual(tinh.mse_loss(x, y).item(), 6.5)
        self.assertEqual(tinh.mse_loss(x, y, reduction="none").tolist(), [4, 9])
        self.assertEqual(tinh.l1_loss(x, y, reduction="sum").item(), 5)
        logits = tinh.tensor([[2.0, 0.0], [0.0, 1.0]])
        whole = tinh.cross_entropy(logits, [0, 1], reduction="none").numpy()
        first = tinh.cross_entropy(logits, [0, 1], ignore_index=1).item()
        self.assertAlmostEqual(first, float(whole[0]), places=6)
        with self.assertRaisesRegex(ValueError, "reduction: expected"):
            tinh.mse_loss(x, y, reduction="most")

    def test_clipping(self):
        x = tinh.tensor([3.0, 4.0]).requires_grad_()
        (x * x).sum().backward()
        self.assertEqual(optim.clip_grad_norm_([x], 5).item(), 10)
        np.testing.assert_allclose(x.grad.numpy(), [3, 4], rtol=1e-5)
        optim.clip_grad_value_([x], 3.5)
        np.testing.assert_allclose(x.grad.numpy(), [3, 3.5], rtol=1e-5)

    def test_schedules(self):
        x = tinh.tensor(1.0).requires_grad_()
        optimizer = optim.Optimizer([x], optim.sgd(lr=1.0))
        for schedule, rates in [
            (optim.schedule("step", step_size=2), [1, 1, 0.1, 0.1]),
            (optim.schedule("multi_step", milestones=[1, 3], gamma=0.5), [1, 0.5, 0.5, 0.25]),
            (optim.schedule("cosine", steps=2), [1, 0.5, 0, 0]),
            (lambda initial, step: initial / (step + 1), [1, 1 / 2, 1 / 3, 1 / 4]),
        ]:
            optimizer.learning_rate = 1.0
            scheduler, found = optim.Scheduler(optimizer, schedule), []
            for _ in rates:
                found.append(optimizer.learning_rate.item())
                scheduler.step()
            np.testing.assert_allclose(found, rates, rtol=1e-5, atol=1e-7)
            self.assertEqual(scheduler.current_step, len(rates))
        with self.assertRaisesRegex(tinh.Error, "cosine"):
            optim.schedule("cosinus")

    def test_groups(self):
        x, y = (tinh.ones(1).requires_grad_() for _ in range(2))
        optimizer = optim.Optimizer([([x], optim.sgd(lr=1.0)), ([y], optim.sgd(lr=0.5))])
        (x + y).backward()
        optimizer.step()
        self.assertEqual((x.item(), y.item(), optimizer.num_groups), (0, 0.5, 2))
        optimizer.set_learning_rate(0.25, group=1)
        optimizer.step()
        self.assertEqual((x.item(), y.item()), (-1, 0.25))

    def test_the_scale_of_a_loss(self):
        x = tinh.tensor(1.0).requires_grad_()
        optimizer = optim.Optimizer([x], optim.sgd(lr=0.5))
        scaler = optim.GradScaler(init_scale=1024, growth_interval=1)
        scaler.scale(x * 1.0).backward()
        self.assertEqual(x.grad.item(), 1024)
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual((x.item(), scaler.current_scale.item()), (0.5, 2048))
        optimizer.zero_grad()
        scaler.scale(x * float("inf")).backward()
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual((x.item(), scaler.current_scale.item()), (0.5, 1024))
        self.assertEqual(optim.GradScaler(8).current_scale.item(), 8)

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(tinh.Error, r"nn_test.py:\d+"):
            nn.Linear(3, 2)(tinh.zeros((1, 3)))  # Not initialized.
        with self.assertRaisesRegex(tinh.Error, r"^nn_test.py:\d+: .*speed"):
            optim.adam(speed=3)
        with self.assertRaisesRegex(NotImplementedError, "forward"):
            nn.Module()(self.x)
        with self.assertRaisesRegex(TypeError, "expected a number"):
            tinh.full((2,), self.x)


if __name__ == "__main__":
    unittest.main()
