//===- Target.h - The GPUs that code is generated for -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_TARGET_H
#define TINH_CODEGEN_CUDA_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace tinh::cuda {

/// The chip whose code, that of sm_80, the fake driver of the tests runs on the
/// CPU; others are like it, with the code of other levels.
inline constexpr llvm::StringLiteral kEmulated = "emulated";

/// The chip sm_90a, with products of warpgroups (wgmma).
inline constexpr llvm::StringLiteral kWithWarpgroups = "sm_90a+wgmma";

/// What an artifact has code for if nothing else is asked for.
inline constexpr llvm::StringLiteral kDefaultChips[] = {
    "sm_75",         "sm_80",  "sm_86",     "sm_89",
    kWithWarpgroups, "sm_100", "compute_75"};

/// The chip whose code is run if `chip` is emulated; empty if it is not.
llvm::StringRef emulatedLevel(llvm::StringRef chip);

struct Target {
  /// "sm_90a", …, machine code; "compute_75", PTX; or one that is emulated,
  /// alone.
  std::vector<std::string> chips;
  /// Products of f32 may be computed from operands rounded to tf32.
  bool allowTf32 = false;

  bool usesWarpgroups() const {
    return llvm::any_of(
        chips, [](llvm::StringRef chip) { return chip.ends_with("+wgmma"); });
  }
  bool isEmulated() const {
    return chips.size() == 1 && !emulatedLevel(chips[0]).empty();
  }
};

/// The target of these chips, each of which must be known.
llvm::Expected<Target> lookupTarget(llvm::ArrayRef<llvm::StringRef> chips);

/// The name that CUDA's tools have for such a chip.
llvm::StringRef machineOf(llvm::StringRef chip);

/// A machine that emits PTX for `chip`, "sm_75" or the like.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(llvm::StringRef chip);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_TARGET_H
