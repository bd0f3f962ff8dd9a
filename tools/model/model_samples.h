//===- model_samples.h - Samples of a model's inputs ---------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_MODEL_SAMPLES_H
#define TINH_TOOLS_MODEL_SAMPLES_H

#include "compiler/Calibration/Probe.h"
#include "dataset.h"

namespace tinh::tools {

/// The help for what names samples.
inline constexpr char kDataHelp[] =
    "samples: an .npz file with an array for each input, whose first dimension "
    "is the samples; or a folder with a NAME.npy for each, or with folders of "
    "these";

/// Samples in files, in memory.
class ModelSamples {
public:
  /// Those of the inputs of a module's @main at `path`, which `option` names.
  /// Fails after a diagnostic.
  static mlir::FailureOr<ModelSamples> read(mlir::ModuleOp module,
                                            const std::string &option,
                                            const std::string &path);
  /// The inputs of each run; they lie here.
  const calibration::Samples &batches() const { return buffers; }

private:
  explicit ModelSamples(Dataset data) : data(std::move(data)) {}

  Dataset data;
  calibration::Samples buffers;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_MODEL_SAMPLES_H
