//===- Trial.h - What this process runs to time it --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TUNING_TRIAL_H
#define TINH_COMPILER_TUNING_TRIAL_H

#include "compiler/Codegen/Kernel/Strategy.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Support/Files.h"
#include "tinh/profile.h"
#include "tinh/runtime.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <new>

namespace tinh::tuning {

/// An artifact that runs on random inputs, in memory of its own.
class Trial {
public:
  /// Of a module in phase kernels, which this changes. Null after a diagnostic.
  static std::unique_ptr<Trial> make(mlir::ModuleOp module,
                                     const CompileOptions &options,
                                     unsigned threads, bool measuresSteps);
  ~Trial();

  /// Runs a function; the seconds that it took, or infinity if it failed.
  double run(uint32_t function);
  /// The least microseconds that all steps of each kernel took in one of the
  /// runs of function 0 since the last call. For trials that measure steps.
  llvm::StringMap<double> microsecondsOfKernels();

private:
  explicit Trial() : file("tinh-tune") {}
  bool load(unsigned threads, bool measuresSteps);
  void makeBuffers();

  struct Function {
    std::vector<tinh_buffer_t> inputs, outputs;
  };

  ScratchFile file;
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(char *bytes) const { ::operator delete(bytes, kAlignment); }
  };
  std::vector<std::unique_ptr<char, Free>> memory;
  std::vector<Function> functions;
};

/// A module whose function i runs `kernel` alone, by plan i.
mlir::OwningOpRef<mlir::ModuleOp>
isolate(mlir::func::FuncOp kernel,
        llvm::ArrayRef<graph::KernelPlanInterface> plans);

} // namespace tinh::tuning

#endif // TINH_COMPILER_TUNING_TRIAL_H
