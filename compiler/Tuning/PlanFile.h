//===- PlanFile.h - Plans that were found by trying -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of plans goes with a model, or with several, and with the machines
// that they were tried on. It is JSON:
//
//   {"tinh_plans": 1, "plans": [
//     {"cpu": "znver4", "kernel": "3f…", "name": "conv_relu_0",
//      "plan": "#cpu.winograd<rows = 12, block = [48, 2]>"}]}
//
// `kernel` is a hash of the kernel's function over linalg, without its name,
// and of the CPU's name and features: no other kernel gets the plan, whatever
// model it is of. `name` is for people.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TUNING_PLANFILE_H
#define TINH_COMPILER_TUNING_PLANFILE_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Support/Files.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace tinh::tuning {

/// What tells a kernel in phase kernels from others on any machine.
std::string hashOf(mlir::func::FuncOp kernel, const cpu::Target &target);

class PlanFile {
public:
  struct Entry {
    std::string cpu, name, plan;
  };

  /// Fails, naming what is wrong, if the file cannot be read or is none.
  static llvm::Expected<PlanFile> read(llvm::StringRef path);
  /// Fills a file that is to be written.
  llvm::Error write(PendingFile file) const;

  /// What becomes of a plan that its kernel cannot have.
  enum class Unfit { Refused, Dropped };
  /// Gives the kernels of a module in phase kernels the plans that the file has
  /// for them. Of those that cannot be, drops them or says which one, and that
  /// it is from `path`.
  mlir::LogicalResult apply(mlir::ModuleOp module, llvm::StringRef path,
                            Unfit unfit);

  std::map<std::string, Entry> entries; // By the kernels' hashes.
};

} // namespace tinh::tuning

#endif // TINH_COMPILER_TUNING_PLANFILE_H
