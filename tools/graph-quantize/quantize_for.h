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

namespace tinh::tools {

/// The help for what names the samples.
inline constexpr char kDataHelp[] =
    "samples: an .npz file with an array for each input, whose first dimension "
    "is the samples; or a folder with a NAME.npy for each, or with folders of "
    "these";

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
