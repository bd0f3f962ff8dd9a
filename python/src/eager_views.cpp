//===- eager_views.cpp - Views and changes in place for Python --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of Tensor that tensor.cpp does not have.
//
//===----------------------------------------------------------------------===//
#include "eager_extras.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace tinh::python {

void bind_views(Both &both, nb::class_<Tensor> &tensor) {
  using MaybeInt = std::optional<int64_t>;
  both.def(
      "select",
      [](const Given &x, int64_t axis, int64_t index) {
        return x.as_tensor().select(axis, index, x.place());
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), "A view of one part.");
  both.def(
      "narrow",
      [](const Given &x, int64_t axis, int64_t start, int64_t length) {
        return x.as_tensor().narrow(axis, start, length, x.place());
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("start"), nb::arg("length"),
      "A view of `length` parts.");
  both.def(
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
  both.def(
      "expand",
      [](const Given &x, const Shape &shape) {
        return x.as_tensor().expand(shape, x.place());
      },
      nb::arg("x"), nb::arg("shape"),
      "A view, repeated along dimensions of 1 and new leading ones; -1 keeps\n"
      "an extent.");
  tensor
      .def(
          "view",
          [](const Given &x, const Shape &shape) {
            return x.as_tensor().view(shape, x.place());
          },
          nb::arg("shape"), Queues(),
          "As reshape, but an error where that would copy.")
      .def(
          "t", [](const Given &x) { return x.as_tensor().t(x.place()); },
          Queues(), "The last two dimensions swapped; a vector stays.")
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
          "index_put_",
          [](nb::object self, nb::tuple key, const Given &value,
             bool accumulate) {
            const Tensor &x = nb::cast<const Tensor &>(self);
            std::vector<Index> indices = to_indices(key);
            without_gil([&] {
              x.index_put_(std::span<const Index>(indices), value, accumulate);
            });
            return self;
          },
          nb::arg("indices"), nb::arg("value"), nb::arg("accumulate") = false,
          "self[indices] = value, a tuple of indices; with `accumulate`, all\n"
          "values that meet an element are added to it.");
}

void bind_protocols(nb::class_<Tensor> &tensor) {
  // What is an array's beside a tensor is the tensor's: array + tensor.
  tensor.attr("__array_priority__") = 1000.0;
  tensor
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
          nb::arg("axes"), "The same, x.permute(1, 0).")
      .def("__pos__", [](nb::object self) { return self; })
      .def("__copy__",
           [](const Tensor &x) {
             At at = here();
             return without_gil([&] { return x.clone(at); });
           })
      .def(
          "__deepcopy__",
          [](const Tensor &x, nb::handle) {
            At at = here();
            return without_gil([&] { return x.clone(at); });
          },
          nb::arg("memo"))
      .def(
          "__format__",
          [](nb::object self, const std::string &spec) -> nb::object {
            if (spec.empty())
              return nb::str(self);
            return nb::steal(
                PyObject_Format(nb::object(self.attr("item")()).ptr(),
                                nb::str(spec.c_str()).ptr()));
          },
          nb::arg("spec"), "Of the only element, unless spec is empty.");
}

namespace {

template <auto F> void define(nb::class_<Tensor> &tensor, const char *name) {
  tensor.def(
      name,
      [](nb::object self, const Given &value) {
        const Tensor &x = nb::cast<const Tensor &>(self);
        without_gil([&] { (x.*F)(value); });
        return self;
      },
      nb::arg("value"));
}

/// Of one that takes no operand.
template <auto F>
void define_unary(nb::class_<Tensor> &tensor, const char *name) {
  tensor.def(name, [](nb::object self) {
    At at = here();
    const Tensor &x = nb::cast<const Tensor &>(self);
    without_gil([&] { (x.*F)(at); });
    return self;
  });
}

/// An axis, an index and a source.
template <auto F>
void define_by_index(nb::class_<Tensor> &tensor, const char *name) {
  tensor.def(
      name,
      [](nb::object self, int64_t axis, const Given &index,
         const Given &source) {
        const Tensor &x = nb::cast<const Tensor &>(self);
        without_gil([&] { (x.*F)(axis, index, source); });
        return self;
      },
      nb::arg("axis"), nb::arg("index"), nb::arg("source"));
}

/// Two operands.
template <auto F, typename... Arguments>
void define_binary(nb::class_<Tensor> &tensor, const char *name,
                   const Arguments &...arguments) {
  tensor.def(
      name,
      [](nb::object self, const Given &a, const Given &b) {
        const Tensor &x = nb::cast<const Tensor &>(self);
        without_gil([&] { (x.*F)(a, b); });
        return self;
      },
      arguments...);
}

} // namespace

void bind_in_place(nb::class_<Tensor> &tensor) {
  define<&Tensor::remainder_>(tensor, "remainder_");
  define<&Tensor::logical_and_>(tensor, "logical_and_");
  define<&Tensor::logical_or_>(tensor, "logical_or_");
  define<&Tensor::remainder_>(tensor, "__imod__");
  define<&Tensor::pow_>(tensor, "__ipow__");
  define_unary<&Tensor::zero_>(tensor, "zero_");
  define_unary<&Tensor::neg_>(tensor, "neg_");
  define_unary<&Tensor::abs_>(tensor, "abs_");
  define_unary<&Tensor::exp_>(tensor, "exp_");
  define_unary<&Tensor::log_>(tensor, "log_");
  define_unary<&Tensor::sqrt_>(tensor, "sqrt_");
  define_unary<&Tensor::relu_>(tensor, "relu_");
  define_unary<&Tensor::sigmoid_>(tensor, "sigmoid_");
  define_unary<&Tensor::tanh_>(tensor, "tanh_");
  define_binary<&Tensor::addmul_>(tensor, "addmul_", nb::arg("value"),
                                  nb::arg("factor"));
  define_binary<&Tensor::clamp_>(tensor, "clamp_", nb::arg("low"),
                                 nb::arg("high"));
  define_binary<&Tensor::masked_fill_>(tensor, "masked_fill_", nb::arg("mask"),
                                       nb::arg("value"));
  define_by_index<&Tensor::scatter_>(tensor, "scatter_");
  define_by_index<&Tensor::scatter_add_>(tensor, "scatter_add_");
  define_by_index<&Tensor::index_add_>(tensor, "index_add_");
}

} // namespace tinh::python
