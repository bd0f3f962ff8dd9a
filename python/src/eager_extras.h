//===- eager_extras.h - More of the eager API for Python --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_EAGER_EXTRAS_H
#define TINH_PYTHON_EAGER_EXTRAS_H

#include "tensors.h"
#include "tinh/state_dict.h"

#include <optional>

namespace tinh::python {

/// A tensor that may be left out, where C++ has one that may be undefined.
using OptionalTensor = std::optional<Tensor>;

inline Tensor or_none(const OptionalTensor &tensor) {
  return tensor.value_or(Tensor());
}

/// Calls a function of a layer, a loss or whatever else is made of operations
/// without the GIL; its operations are told as called at `at`.
template <typename F> auto as_one(At at, const F &function) {
  return without_gil([&] {
    AtScope scope(at);
    return function();
  });
}

/// Defines functions of a module that are methods of Tensor as well.
class Both {
public:
  Both(nb::module_ &module, nb::class_<Tensor> &tensor)
      : module(module), tensor(tensor) {}

  /// `self` is the name of the first argument, a method's own tensor.
  template <typename F, typename... Extra>
  Both &def(const char *name, F function, nb::arg self, const Extra &...extra) {
    module.def(name, function, self, extra..., Queues());
    tensor.def(name, function, extra..., Queues());
    return *this;
  }

private:
  nb::module_ &module;
  nb::class_<Tensor> &tensor;
};

void bind_more_operations(Both &both, nb::module_ &module);
void bind_views(Both &both, nb::class_<Tensor> &tensor);
void bind_protocols(nb::class_<Tensor> &tensor);
void bind_in_place(nb::class_<Tensor> &tensor);
void bind_windows(nb::module_ &module);
void bind_losses(nb::module_ &module);
void bind_engine(nb::module_ &module);

} // namespace tinh::python

#endif // TINH_PYTHON_EAGER_EXTRAS_H
