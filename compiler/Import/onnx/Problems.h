//===- Problems.h - All that is wrong with an ONNX model ------ -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An importer notes what is wrong and goes on: what a node would have made is
// unknown, and nodes that read it are left out without a word.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_PROBLEMS_H
#define TINH_COMPILER_IMPORT_ONNX_PROBLEMS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Twine.h"

#include <string>
#include <vector>

namespace tinh::onnx {

class Problems {
public:
  /// `node` is empty if the model, not one of its nodes, is wrong.
  void add(const llvm::Twine &message, llvm::StringRef node = "") {
    list.push_back({node.str(), message.str()});
  }
  /// Adds those of another list behind these.
  void append(Problems &&others);
  bool empty() const { return list.empty(); }

  /// Reports the first of them as errors of the file `path`, and how many there
  /// are beyond.
  void report(llvm::StringRef path, mlir::MLIRContext &context) const;

private:
  struct Problem {
    std::string node, message;
  };
  std::vector<Problem> list;
};

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_PROBLEMS_H
