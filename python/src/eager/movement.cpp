//===- movement.cpp - Views and movement for Python -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

static Padding padding_mode(const std::string &name) {
  if (name == "constant")
    return Padding::Constant;
  if (name == "edge")
    return Padding::Edge;
  if (name == "reflect")
    return Padding::Reflect;
  if (name == "wrap")
    return Padding::Wrap;
  throw nb::value_error(
      ("pad: mode: expected \"constant\", \"edge\", \"reflect\" or \"wrap\", "
       "found \"" +
       name + "\"")
          .c_str());
}

static void bind_views(Operations &ops) {
  using MaybeInt = std::optional<int64_t>;
  ops.def(
      "select",
      [](const Given &x, int64_t axis, int64_t index) {
        return x.as_tensor().select(axis, index, x.place());
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), "A view of one part.");
  ops.def(
      "narrow",
      [](const Given &x, int64_t axis, int64_t start, int64_t length) {
        return x.as_tensor().narrow(axis, start, length, x.place());
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("start"), nb::arg("length"),
      "A view of `length` parts.");
  ops.def(
      "slice",
      [](const Given &x, int64_t axis, MaybeInt start, MaybeInt stop,
         int64_t step) {
        Slice::Bound first = None, last = None;
        first.value = start;
        last.value = stop;
        return x.as_tensor().slice(axis, first, last, step, x.place());
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("start") = nb::none(),
      nb::arg("stop") = nb::none(), nb::arg("step") = 1,
      "x[start:stop:step] along an axis.");
  ops.def(
      "expand",
      [](const Given &x, const Shape &shape) {
        return x.as_tensor().expand(shape, x.place());
      },
      nb::arg("x"), nb::arg("shape"),
      "A view, repeated along dimensions of 1 and new leading ones; -1 keeps\n"
      "an extent.");
  ops.method()
      .def(
          "view",
          [](const Given &x, const Shape &shape) {
            return x.as_tensor().view(shape, x.place());
          },
          nb::arg("shape"), Queues(),
          "As reshape, but an error where that would copy.")
      .def(
          "t", [](const Given &x) { return x.as_tensor().t(x.place()); },
          Queues(), "The transpose of a matrix; a vector stays as it is.")
      .def(
          "contiguous",
          [](const Given &x) { return x.as_tensor().contiguous(x.place()); },
          Queues(), "This tensor if it is contiguous, else a clone.")
      .def("is_contiguous",
           [](const Tensor &x) { return x.is_contiguous(here()); })
      .def("dim", [](const Tensor &x) { return x.dim(here()); })
      .def("numel", [](const Tensor &x) { return x.numel(here()); })
      .def_prop_ro(
          "strides",
          [](const Tensor &x) {
            nb::list strides;
            for (int64_t stride : x.strides(here()))
              strides.append(stride);
            return nb::tuple(strides);
          },
          "In elements; 0 where one is repeated.")
      .def("is_same", &Tensor::is_same, nb::arg("other"),
           "Whether both are the same tensor (not: equal elements).")
      .def("shares_memory_with", &Tensor::shares_memory_with, nb::arg("other"),
           "Whether both lie in the same memory, as a view and its base do.")
      .def(
          "reshape",
          [](const Tensor &x, nb::args shape) {
            At at = here();
            IntArray extents = to_ints(shape);
            return without_gil([&] { return x.reshape(extents, at); });
          },
          nb::arg("shape"), "The same, x.reshape(2, 3).")
      .def(
          "permute",
          [](const Tensor &x, nb::args order) {
            At at = here();
            IntArray axes = to_ints(order);
            return without_gil([&] { return x.permute(axes, at); });
          },
          nb::arg("axes"), "The same, x.permute(1, 0).");
}

static void bind_joining(Operations &ops) {
  using Joined = Tensor (*)(std::span<const Tensor>, int64_t, At);
  for (auto [name, function] :
       {std::pair<const char *, Joined>("concat", &concat), {"stack", &stack}})
    ops.function().def(
        name,
        [function](const std::vector<Tensor> &tensors, int64_t axis) {
          At at = here();
          return without_gil([&] { return function(tensors, axis, at); });
        },
        nb::arg("tensors"), nb::arg("axis") = 0);
  ops.def(
      "split_sizes",
      [](const Given &x, const IntArray &sizes, int64_t axis) {
        return split_sizes(x, sizes, axis);
      },
      nb::arg("x"), nb::arg("sizes"), nb::arg("axis") = 0,
      "Views of the parts, of these sizes.");
  ops.def(
      "chunk",
      [](const Given &x, int64_t count, int64_t axis) {
        return chunk(x, count, axis);
      },
      nb::arg("x"), nb::arg("count"), nb::arg("axis") = 0,
      "Views of at most `count` parts of equal size.");
  ops.def(
      "repeat_interleave",
      [](const Given &x, int64_t times, int64_t axis) {
        return repeat_interleave(x, times, axis);
      },
      nb::arg("x"), nb::arg("times"), nb::arg("axis"),
      "Each element repeated.");
  ops.def(
      "pad",
      [](const Given &x, const IntArray &low, const IntArray &high,
         const std::string &mode, const Given &value) {
        return pad(x, low, high, padding_mode(mode),
                   number_of(value, "pad: value"));
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"),
      nb::arg("mode") = "constant", nb::arg("value") = 0,
      "low[d] elements before and high[d] after each dimension d; negative\n"
      "amounts cut. mode: \"constant\", \"edge\", \"reflect\" or \"wrap\".");
}

void bind_movement(Operations &ops) {
  ops.def(
      "reshape",
      [](const Given &x, const Shape &shape) {
        return x.as_tensor().reshape(shape, x.place());
      },
      nb::arg("x"), nb::arg("shape"), "One extent may be -1, to be found.");
  ops.def(
      "transpose",
      [](const Given &x, int64_t a, int64_t b) {
        return x.as_tensor().transpose(a, b, x.place());
      },
      nb::arg("x"), nb::arg("a"), nb::arg("b"), "Two axes swapped.");
  ops.def(
      "permute",
      [](const Given &x, const Axes &axes) {
        return x.as_tensor().permute(axes, x.place());
      },
      nb::arg("x"), nb::arg("axes"));
  ops.def(
      "flatten",
      [](const Given &x, int64_t first, int64_t last) {
        return x.as_tensor().flatten(first, last, x.place());
      },
      nb::arg("x"), nb::arg("first") = 0, nb::arg("last") = -1);
  ops.def(
      "squeeze",
      [](const Given &x, const Axes &axis) {
        return x.as_tensor().squeeze(axis, x.place());
      },
      nb::arg("x"), nb::arg("axis") = nb::none());
  ops.def(
      "unsqueeze",
      [](const Given &x, int64_t axis) {
        return x.as_tensor().unsqueeze(axis, x.place());
      },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "broadcast_to",
      [](const Given &x, const Shape &shape) { return broadcast_to(x, shape); },
      nb::arg("x"), nb::arg("shape"));
  ops.def(
      "flip", [](const Given &x, const Axes &axis) { return flip(x, axis); },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "roll",
      [](const Given &x, const IntArray &shifts, const Axes &axis) {
        return roll(x, shifts, axis);
      },
      nb::arg("x"), nb::arg("shifts"), nb::arg("axis"));
  ops.def(
      "tile",
      [](const Given &x, const IntArray &times) { return tile(x, times); },
      nb::arg("x"), nb::arg("times"));
  ops.def(
      "tril",
      [](const Given &x, int64_t diagonal) { return tril(x, diagonal); },
      nb::arg("x"), nb::arg("diagonal") = 0);
  ops.def(
      "triu",
      [](const Given &x, int64_t diagonal) { return triu(x, diagonal); },
      nb::arg("x"), nb::arg("diagonal") = 0);
  ops.def(
      "split",
      [](const Given &x, int64_t size, int64_t axis) {
        return split(x, size, axis);
      },
      nb::arg("x"), nb::arg("size"), nb::arg("axis") = 0);
  bind_views(ops);
  bind_joining(ops);
}

} // namespace tinh::python
