//===- quantize_for.h - Quantisation for samples in files -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_QUANTIZE_QUANTIZE_FOR_H
#define TINH_GRAPH_QUANTIZE_QUANTIZE_FOR_H

#include "compiler/Quantization/Quantization.h"
#include "model_samples.h"

namespace tinh::tools {

/// The quantised form of `module`, in phase normalised, for the samples at
/// `path`, which `option` names. Null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> quantizeFor(
    mlir::ModuleOp module, const std::string &option, const std::string &path,
    const quantization::QuantizeOptions &options, const CompileOptions &compile,
    quantization::QuantizeReport &report);

/// A model's file, and the one that is written.
struct QuantizeJob {
  CompileJob files;
  std::string option, data; ///< What names the samples.
  quantization::QuantizeOptions options;
};

/// Writes the quantised form of a model: ONNX, or a JSON graph by its name.
mlir::LogicalResult quantizeFile(const QuantizeJob &job,
                                 const CompileOptions &compile,
                                 mlir::MLIRContext &context,
                                 quantization::QuantizeReport &report);

} // namespace tinh::tools

#endif // TINH_GRAPH_QUANTIZE_QUANTIZE_FOR_H
