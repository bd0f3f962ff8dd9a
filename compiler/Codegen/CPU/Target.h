//===- Target.h - The CPU that code is generated for ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_TARGET_H
#define TINH_CODEGEN_CPU_TARGET_H

#include "compiler/Codegen/CPU/Machine.h"
#include "tinh/artifact.h"

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace tinh::cpu {

/// A CPU by its LLVM name with what strategies need to know of it.
struct Target {
  /// "znver5", "x86-64-v3", "emulated+sapphirerapids", …; never "native".
  std::string name;
  std::string features;     // As LLVM takes them: "+avx2,-amx-tile,…".
  uint64_t featureBits = 0; // TINH_CPU_* that kernels may use.
  int64_t vectorBytes = 32;
  int64_t vectorRegisters = 16;
  /// What costs are estimated from.
  const Machine *machine = nullptr;

  /// Lanes of a vector register for elements of four bytes.
  int64_t lanes() const { return vectorBytes / 4; }
  /// Whether an instruction adds to each lane of i32 the products of four
  /// unsigned with four signed bytes (VNNI).
  bool hasByteDots() const {
    return featureBits &
           (vectorBytes == 64 ? TINH_CPU_AVX512VNNI : TINH_CPU_AVXVNNI);
  }
  /// Whether tiles multiply bytes (AMX).
  bool hasByteTiles() const {
    constexpr uint64_t kAmx = TINH_CPU_AMX_TILE | TINH_CPU_AMX_INT8;
    return vectorBytes == 64 && (featureBits & kAmx) == kAmx;
  }
  /// Whether an instruction adds to each lane of f32 the products of a pair of
  /// bf16 (AVX512-BF16), and whether tiles do (AMX).
  bool hasBf16Dots() const {
    return vectorBytes == 64 && (featureBits & TINH_CPU_AVX512BF16);
  }
  bool hasBf16Tiles() const {
    constexpr uint64_t kAmx = TINH_CPU_AMX_TILE | TINH_CPU_AMX_BF16;
    return hasBf16Dots() && (featureBits & kAmx) == kAmx;
  }
  /// Whether products of bf16 are faster by these than by FMAs.
  bool paysBf16Pairs() const {
    return hasBf16Tiles() || (hasBf16Dots() && 2 * machine->bf16DotsPerCycle >
                                                   machine->fmasPerCycle);
  }
  /// Whether what x86-64-v3 lacks is emulated (Emulate/Emulate.h).
  bool isEmulated() const;
};

/// The target for `name`: "native", or a name that LLVM knows; after
/// "emulated+", with kernels for that CPU that run on x86-64-v3.
llvm::Expected<Target> lookupTarget(llvm::StringRef name);

/// What the code of `target` runs on: itself, unless that is emulated.
Target executingTarget(const Target &target);

/// A machine that emits position-independent code for `target`.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_TARGET_H
