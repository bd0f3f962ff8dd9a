//===- ModelScan.h - Finds a model's large tensors in its file --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Protobuf's parser copies every tensor and refuses files of 2 GB. So the bytes
// of a model are first walked in its wire format: what is left without the
// large tensors is small and goes to protobuf; where their bytes are is
// noted in each tensor's `segment`, a field that ONNX files do not use:
//
//   initializer { dims: [64, 3, 7, 7] data_type: FLOAT raw_data: "…37632…" }
//   -> initializer { dims: [64, 3, 7, 7] data_type: FLOAT
//                    segment { begin: 1024 end: 38656 } }
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_MODELSCAN_H
#define TINH_COMPILER_IMPORT_ONNX_MODELSCAN_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tinh::onnx {

struct ScanResult {
  /// The model without its large tensors, in protobuf's wire format.
  std::string model;
  /// What is wrong with the file; empty if nothing is.
  std::string error;
};

/// Scans a ModelProto. Tensors whose data has more than `largestKept` bytes are
/// taken out.
ScanResult scanModel(llvm::StringRef file, uint64_t largestKept);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_MODELSCAN_H
