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

} // namespace tinh::tools

#endif // TINH_GRAPH_QUANTIZE_QUANTIZE_FOR_H
