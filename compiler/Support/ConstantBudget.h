//===- ConstantBudget.h - What is computed ahead of time --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What depends on constants alone is computed when the artifact is written, and
// kept in it. A few bytes of a model can ask for any amount of that, so there
// is a limit; what is beyond it is computed in each run.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_SUPPORT_CONSTANTBUDGET_H
#define TINH_COMPILER_SUPPORT_CONSTANTBUDGET_H

#include <cstdint>

namespace tinh {

class ConstantBudget {
public:
  /// How many times the bytes of the constants, as they are stored, results may
  /// have: those that are kept, as weights of 4 bits become floats, in several
  /// layouts; and all on the way to them, most of which fusion does away with.
  static constexpr uint64_t kKept = 64, kComputed = 1024;

  ConstantBudget(uint64_t stored, uint64_t times)
      : bytes(kFreeBytes + times * stored),
        work(kFreeWork + kTimesWork * stored) {}

  /// Takes what it costs to compute something, unless that is more than what is
  /// left.
  bool take(uint64_t resultBytes, uint64_t operations = 0) {
    if (resultBytes > bytes || operations > work)
      return false;
    bytes -= resultBytes;
    work -= operations;
    return true;
  }

  /// What one op that the interpreter folds may take.
  static constexpr uint64_t kMostFolded = uint64_t(1) << 22;

private:
  /// A mask of 8192 by 8192 floats.
  static constexpr uint64_t kFreeBytes = uint64_t(256) << 20;
  /// Some seconds, on all cores; and what it takes to unpack and pack weights.
  static constexpr uint64_t kFreeWork = uint64_t(1) << 40, kTimesWork = 256;

  uint64_t bytes, work;
};

} // namespace tinh

#endif // TINH_COMPILER_SUPPORT_CONSTANTBUDGET_H
