//===- CheckNumerics.cpp - Which operation gave the first NaN -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/CheckNumerics.h"

#include "compiler/Eager/Primitives/Primitive.h"
#include "runtime/src/shared/numerics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

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
// Primitives
//===----------------------------------------------------------------------===//

/// Whether a primitive makes numbers that were not there before.
static bool computes(const Primitive &primitive) {
  using namespace primitives;
  if (primitive.is<Elementwise>())
    return primitive.get<Elementwise>().op != ElementwiseOp::Where;
  if (primitive.is<Cast>())
    return primitive.inputs[0].tensor &&
           primitive.input(0).dtype != primitive.output().dtype;
  return !primitive.is<ArgReduce, Concat, Pad, Flip, Gather, GatherElements,
                       GatherNd, Sort, Iota, primitives::Random>();
}

void checkNumerics(const Primitive &primitive) {
  if (Engine::get().checkNumerics() == TINH_CHECK_NOTHING ||
      !computes(primitive))
    return;
  // Indices are not among the operands that could be NaN.
  auto isReal = [](const Input &input) {
    return !input.tensor || DType(input.tensor->dtype).is_floating_point();
  };
  std::vector<Input> inputs;
  std::ranges::copy_if(primitive.inputs, std::back_inserter(inputs), isReal);
  checkNumerics(inputs, primitive.output(), primitive.call);
}

} // namespace tinh::eager
