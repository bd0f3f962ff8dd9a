//===- CheckMemory.cpp - Whether a model can run at all ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a run takes is known when it is planned: said here, it costs nobody
// the time to compile and to deploy what cannot run.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/CheckMemory.h"

#include "llvm/Support/MathExtras.h"

#include <unistd.h>

using namespace mlir;

namespace tinh {

/// What a process of x86-64 can address.
static constexpr uint64_t kAddressSpace = uint64_t(1) << 47;

namespace {

/// Bytes in the host's memory, but for weights, which are pages of a file.
struct MemoryNeed {
  MemoryNeed(const artifact::Program &program,
             const artifact::Function &function)
      : arena(function.arenaSize), inputs(sizeOf(function.inputs)),
        outputs(sizeOf(function.outputs)), variables(program.stateSize) {}

  uint64_t total() const {
    return llvm::SaturatingAdd(arena, inputs, outputs, variables);
  }
  std::string describe(StringRef function) const {
    return ("to run, '" + function + "' needs " + Twine(total()) +
            " bytes of memory: " + Twine(arena) +
            " for intermediate tensors, " + Twine(inputs) + " for inputs, " +
            Twine(outputs) + " for outputs and " + Twine(variables) +
            " for variables")
        .str();
  }

private:
  /// Variables are in the state.
  static uint64_t sizeOf(ArrayRef<artifact::Tensor> tensors) {
    uint64_t size = 0;
    for (const artifact::Tensor &tensor : tensors)
      if (tensor.variable == TINH_NOT_VARIABLE)
        size = llvm::SaturatingAdd(size, tensor.size);
    return size;
  }

  uint64_t arena, inputs, outputs, variables;
};

} // namespace

static uint64_t machineMemory() {
  return uint64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

static LogicalResult checkProgram(ModuleOp module,
                                  const artifact::Program &program) {
  for (const artifact::Function &function : program.functions) {
    MemoryNeed need(program, function);
    if (need.total() > kAddressSpace)
      return module.emitError(need.describe(function.name))
             << "; no process can have more than " << kAddressSpace
             << " bytes: give the model smaller shapes";
    if (need.total() > machineMemory())
      module.emitWarning(need.describe(function.name))
          << "; this machine has " << machineMemory() << " bytes";
  }
  return success();
}

LogicalResult checkMemory(ModuleOp module, const artifact::Contents &contents) {
  if (failed(checkProgram(module, contents)))
    return failure();
  return success(!contents.withoutGpu ||
                 succeeded(checkProgram(module, *contents.withoutGpu)));
}

} // namespace tinh
