//===- CheckNumerics.cpp - Which operation gave the first NaN -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/CheckNumerics.h"

#include "compiler/Eager/EagerBackend/CheckingBackend.h"
#include "runtime/src/numerics.h"

#include <cmath>

namespace tinh::eager {

using runtime::find_not_finite;
using runtime::NotFinite;

thread_local const Call *GradientOf::current = nullptr;

std::string GradientOf::text(const std::optional<Call> &call) {
  return call ? ", in the gradient of " + place(*call) : "";
}

namespace {

/// A tensor that the engine keeps.
struct Numbers {
  explicit Numbers(const TensorImpl &x)
      : storage(x.storage), dtype(x.dtype), sizes(x.sizes), strides(x.strides),
        offset(x.offset) {}

  std::optional<NotFinite> find(tinh_check_numerics_t wanted) const {
    auto width = static_cast<int64_t>(DType(dtype).size());
    return find_not_finite(
        {static_cast<const char *>(storage->data()) + offset * width,
         static_cast<uint32_t>(dtype), sizes.size(), sizes.data(),
         strides.data()},
        wanted);
  }

  Ref<Storage> storage;
  tinh_dtype_t dtype;
  Dims sizes, strides;
  int64_t offset;
};

struct Check {
  tinh_check_numerics_t wanted;
  std::optional<Call> gradientOf;
  Numbers result;
  /// By number, those that still hold what was read.
  std::vector<std::pair<size_t, Numbers>> operands;
  bool knowsAll = true; ///< All operands are among them, or finite numbers.

  uint32_t numChunks() const { return 1; }
  void run(uint32_t, uint32_t, Worker &) {
    auto found = result.find(wanted);
    if (!found)
      return;
    throw Error(TINH_NOT_FINITE, "gave " + found->text() + " of its result" +
                                     aboutOperands() +
                                     GradientOf::text(gradientOf));
  }

private:
  std::string aboutOperands() const {
    for (const auto &[number, operand] : operands)
      if (auto found = operand.find(wanted))
        return "; it had read " + found->text() + " of its operand " +
               std::to_string(number);
    if (!knowsAll)
      return "";
    return wanted == TINH_CHECK_NANS ? "; nothing that it had read was NaN"
                                     : "; all that it had read was finite";
  }
};

} // namespace

void checkNumerics(std::span<const Input> inputs, const TensorImpl &out,
                   const Call &call) {
  tinh_check_numerics_t wanted = Engine::get().checkNumerics();
  if (wanted == TINH_CHECK_NOTHING || !DType(out.dtype).is_floating_point() ||
      out.numElements() == 0)
    return;
  Check check{wanted, GradientOf::get(), Numbers(out), {}};
  std::vector<Storage *> reads{out.storage.get()};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl *tensor = inputs[i].tensor;
    if (!tensor) {
      const Scalar &scalar = inputs[i].scalar;
      check.knowsAll &= !DType(scalar.dtype).is_floating_point() ||
                        std::isfinite(scalar.real);
    } else if (tensor->storage.get() == out.storage.get()) {
      check.knowsAll = false;
    } else {
      check.operands.emplace_back(i, Numbers(*tensor));
      reads.push_back(tensor->storage.get());
    }
  }
  // It writes nothing, but for what the result is poisoned by if it fails.
  Engine::get().push(call, reads, std::array{out.storage.get()},
                     std::move(check));
}

//===----------------------------------------------------------------------===//
// CheckingBackend
//===----------------------------------------------------------------------===//

/// Those that are given.
static std::vector<Input>
present(std::initializer_list<const TensorImpl *> tensors) {
  std::vector<Input> inputs;
  for (const TensorImpl *tensor : tensors)
    if (tensor)
      inputs.push_back({tensor, {}});
  return inputs;
}

void CheckingBackend::elementwise(ElementwiseOp op,
                                  std::span<const Input> inputs,
                                  TensorImpl &out, const Call &call) {
  EagerBackend::elementwise(op, inputs, out, call);
  if (op != ElementwiseOp::Where)
    checkNumerics(inputs, out, call);
}

void CheckingBackend::cast(const Input &x, TensorImpl &out, const Call &call) {
  EagerBackend::cast(x, out, call);
  if (x.tensor && x.tensor->dtype != out.dtype)
    checkNumerics({&x, 1}, out, call);
}

void CheckingBackend::reduce(ReduceOp op, const TensorImpl &x,
                             std::span<const int64_t> axes, TensorImpl &out,
                             const Call &call) {
  EagerBackend::reduce(op, x, axes, out, call);
  checkNumerics(present({&x}), out, call);
}

void CheckingBackend::cumsum(const TensorImpl &x, int64_t axis, TensorImpl &out,
                             const Call &call) {
  EagerBackend::cumsum(x, axis, out, call);
  checkNumerics(present({&x}), out, call);
}

void CheckingBackend::matmul(const TensorImpl &a, const TensorImpl &b,
                             const TensorImpl *bias, TensorImpl &out,
                             const Call &call) {
  EagerBackend::matmul(a, b, bias, out, call);
  checkNumerics(present({&a, &b, bias}), out, call);
}

void CheckingBackend::conv(const TensorImpl &x, const TensorImpl &weights,
                           const TensorImpl *bias, const Window &window,
                           TensorImpl &out, const Call &call) {
  EagerBackend::conv(x, weights, bias, window, out, call);
  checkNumerics(present({&x, &weights, bias}), out, call);
}

void CheckingBackend::convWeightGradient(const TensorImpl &x,
                                         const TensorImpl &dy,
                                         const Window &window, TensorImpl &out,
                                         const Call &call) {
  EagerBackend::convWeightGradient(x, dy, window, out, call);
  checkNumerics(present({&x, &dy}), out, call);
}

void CheckingBackend::pool(PoolOp op, const TensorImpl &x, const Window &window,
                           TensorImpl &out, const Call &call) {
  EagerBackend::pool(op, x, window, out, call);
  checkNumerics(present({&x}), out, call);
}

void CheckingBackend::maxPoolGradient(const TensorImpl &x, const TensorImpl &dy,
                                      const Window &window, TensorImpl &out,
                                      const Call &call) {
  EagerBackend::maxPoolGradient(x, dy, window, out, call);
  checkNumerics(present({&x, &dy}), out, call);
}

void CheckingBackend::softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis,
                              TensorImpl &out, const Call &call) {
  EagerBackend::softmax(op, x, axis, out, call);
  checkNumerics(present({&x}), out, call);
}

void CheckingBackend::layerNorm(const TensorImpl &x, const TensorImpl *scale,
                                const TensorImpl *bias,
                                const Normalization &norm, TensorImpl &out,
                                const Call &call) {
  EagerBackend::layerNorm(x, scale, bias, norm, out, call);
  checkNumerics(present({&x, scale, bias}), out, call);
}

void CheckingBackend::scatterElements(ScatterOp op, const TensorImpl &indices,
                                      const TensorImpl &updates, int64_t axis,
                                      TensorImpl &out, const Call &call) {
  EagerBackend::scatterElements(op, indices, updates, axis, out, call);
  checkNumerics(present({&out, &updates}), out, call);
}

void CheckingBackend::scatterNd(ScatterOp op, const TensorImpl &indices,
                                const TensorImpl &updates, TensorImpl &out,
                                const Call &call) {
  EagerBackend::scatterNd(op, indices, updates, out, call);
  checkNumerics(present({&out, &updates}), out, call);
}

} // namespace tinh::eager
