//===- Recorder.h - What a compilation makes on its way ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which op of the model went into which step of an artifact, and what each
// kernel is in IR and in machine code: what the compiler knows on its way and
// an artifact no longer says. Reports for people draw it.
//
// Ops are numbered in phase fused, where kernels still have them. The number
// goes into the op's location, as the metadata of a FusedLoc, which all phases
// that follow pass on to what they make of the op.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_REPORT_RECORDER_H
#define TINH_REPORT_RECORDER_H

#include "compiler/Pipelines/Compile.h"
#include "compiler/Report/HottestLoop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinh::report {

/// An op before fusion.
struct Op {
  std::string kind;               ///< "conv", without the dialect.
  std::vector<std::string> nodes; ///< Of the model.
  std::string type;               ///< "1x64x56x56xf32", of its first result.
  std::string attributes;         ///< As in IR: "axes = [1], …".
  std::vector<uint32_t> operands; ///< Numbers of the ops that it reads.
  /// What it reads beside: inputs, weights, constants, with their types.
  std::vector<std::string> others;
  bool isView = false; ///< It computes nothing: the same bytes in other shape.
};

struct Function {
  std::string name;
  std::vector<Op> ops;
  /// By step of the artifact's function: the ops that it computes.
  std::vector<std::vector<uint32_t>> opsOfSteps;
};

struct KernelCode {
  std::string strategy;
  std::string ir; ///< Of its function in phase plan.
  std::optional<HottestLoop> hottest;
};

/// Watches compilations, one at a time.
class Recorder {
public:
  /// Lets those with `options` tell this recorder, which has to live as long,
  /// and takes little of their time.
  void attach(CompileOptions &options);
  /// Describes what was kept of the last one.
  void describe();
  /// Lets go of what was kept, before the context of the last one goes, if that
  /// is not described.
  void forget();

  // From then on:
  std::vector<Function> functions; ///< Empty unless phase fused was met.
  std::map<std::string, KernelCode> kernels;
  artifact::Contents contents; ///< What was written.

private:
  void begin(mlir::ModuleOp module, Phase phase);
  void numberOps(mlir::func::FuncOp function);
  void findSteps();
  void describeKernels();

  mlir::OwningOpRef<mlir::ModuleOp> plan; ///< In phase plan.
  std::vector<artifact::Object> objects;
};

} // namespace tinh::report

#endif // TINH_REPORT_RECORDER_H
