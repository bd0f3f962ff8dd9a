//===- check_numerics.h - Which step gave the first NaN ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks through what each kernel of a run has written, and through what it is
// going to read, which it may write over. Copies make no number that was not
// there before.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CHECK_NUMERICS_H
#define TINH_RUNTIME_CHECK_NUMERICS_H

#include "artifact/module.h"
#include "device/device.h"
#include "shared/numerics.h"

namespace tinh::runtime {

class NumericsCheck {
public:
  NumericsCheck(const Module &module, tinh_check_numerics_t wanted)
      : artifact(module.artifact()), wanted(wanted) {}

  /// A DISPATCH that is about to be executed, or has been.
  struct Step {
    const tinh_function_desc_t &function;
    uint32_t number;
    void *const *buffers;
    /// Of the loops around it, the outermost first.
    std::vector<int64_t> iterations;
    const DeviceModule *device = nullptr; ///< Whose kernel it is, if a GPU's.
  };
  void before(const Step &step);
  /// Throws NOT_FINITE.
  void after(const Step &step) const;

private:
  struct Finding {
    uint32_t operand;
    NotFinite numbers;
  };
  std::optional<Finding> find(const Step &step, bool written) const;
  std::optional<NotFinite> search(const Step &step, uint32_t operand) const;
  const tinh_variable_desc_t *stored_apart(const Step &step,
                                           uint32_t operand) const;
  std::string describe(const Step &step, uint32_t operand) const;
  std::string message(const Step &step, const Finding &result) const;

  const tinh_artifact_t &artifact;
  const tinh_check_numerics_t wanted;
  std::optional<Finding> read; ///< By the step that is being executed.
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CHECK_NUMERICS_H
