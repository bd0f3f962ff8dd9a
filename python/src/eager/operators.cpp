//===- operators.cpp - Operators and in-place operations --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

void bind_operators(Operations &ops) {
  ops.op<&add>("__add__", "__radd__").op<&sub>("__sub__", "__rsub__");
  ops.op<&mul>("__mul__", "__rmul__").op<&div>("__truediv__", "__rtruediv__");
  ops.op<&floor_divide>("__floordiv__", "__rfloordiv__");
  ops.op<&remainder>("__mod__", "__rmod__").op<&pow>("__pow__", "__rpow__");
  ops.op<&matmul>("__matmul__", "__rmatmul__");
  ops.op<&eq>("__eq__").op<&ne>("__ne__").op<&lt>("__lt__").op<&le>("__le__");
  ops.op<&gt>("__gt__").op<&ge>("__ge__");
  ops.op<&bitwise_and>("__and__", "__rand__");
  ops.op<&bitwise_or>("__or__", "__ror__");
  ops.op<&bitwise_xor>("__xor__", "__rxor__");
  ops.op<&bitwise_left_shift>("__lshift__", "__rlshift__");
  ops.op<&bitwise_right_shift>("__rshift__", "__rrshift__");
  ops.op<&neg>("__neg__").op<&bitwise_not>("__invert__").op<&abs>("__abs__");
  ops.inPlace<&Tensor::add_>("__iadd__").inPlace<&Tensor::sub_>("__isub__");
  ops.inPlace<&Tensor::mul_>("__imul__").inPlace<&Tensor::div_>("__itruediv__");
  ops.inPlace<&Tensor::add_>("add_").inPlace<&Tensor::sub_>("sub_");
  ops.inPlace<&Tensor::mul_>("mul_").inPlace<&Tensor::div_>("div_");
  ops.inPlace<&Tensor::copy_>("copy_").inPlace<&Tensor::fill_>("fill_");
  ops.inPlace<&Tensor::pow_>("pow_").inPlace<&Tensor::maximum_>("maximum_");
  ops.inPlace<&Tensor::minimum_>("minimum_");
  ops.inPlace<&Tensor::remainder_>("remainder_");
  ops.inPlace<&Tensor::logical_and_>("logical_and_");
  ops.inPlace<&Tensor::logical_or_>("logical_or_");
  ops.inPlace<&Tensor::remainder_>("__imod__");
  ops.inPlace<&Tensor::pow_>("__ipow__");
  ops.inPlaceUnary<&Tensor::zero_>("zero_");
  ops.inPlaceUnary<&Tensor::neg_>("neg_");
  ops.inPlaceUnary<&Tensor::abs_>("abs_");
  ops.inPlaceUnary<&Tensor::exp_>("exp_");
  ops.inPlaceUnary<&Tensor::log_>("log_");
  ops.inPlaceUnary<&Tensor::sqrt_>("sqrt_");
  ops.inPlaceUnary<&Tensor::relu_>("relu_");
  ops.inPlaceUnary<&Tensor::sigmoid_>("sigmoid_");
  ops.inPlaceUnary<&Tensor::tanh_>("tanh_");
  ops.inPlace<&Tensor::addmul_>("addmul_", nb::arg("value"), nb::arg("factor"));
  ops.inPlace<&Tensor::clamp_>("clamp_", nb::arg("low"), nb::arg("high"));
  ops.inPlace<&Tensor::masked_fill_>("masked_fill_", nb::arg("mask"),
                                     nb::arg("value"));
  ops.inPlaceAt<&Tensor::scatter_>("scatter_");
  ops.inPlaceAt<&Tensor::scatter_add_>("scatter_add_");
  ops.inPlaceAt<&Tensor::index_add_>("index_add_");
  nb::class_<Tensor> &tensor = ops.method();
  // What is an array's beside a tensor is the tensor's: array + tensor.
  tensor.attr("__array_priority__") = 1000.0;
  tensor.def("__pos__", [](nb::object self) { return self; })
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

} // namespace tinh::python
