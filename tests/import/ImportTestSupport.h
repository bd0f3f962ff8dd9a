//===- ImportTestSupport.h - Imports models that tests write ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_IMPORT_IMPORTTESTSUPPORT_H
#define TINH_TESTS_IMPORT_IMPORTTESTSUPPORT_H

#include "compiler/Import/Import.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <string>

namespace tinh::test {

/// A folder with a test's files, gone after the test.
class ImportTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  std::string write(const std::string &name, const std::string &bytes);
  /// Writes a model given as text of a ModelProto.
  std::string writeOnnx(const std::string &text,
                        const std::string &name = "model.onnx");
  /// A ModelProto at opset 18 around the text of a graph.
  static std::string model(const std::string &graph, int opset = 18);

  /// The IR as text, or "error: " and the message.
  std::string import(const std::string &path);
  std::string importOnnx(const std::string &text) {
    return import(writeOnnx(text));
  }
  std::string importJson(const std::string &text) {
    return import(write("model.json", text));
  }

  std::string directory;
  ImportOptions options;
  mlir::MLIRContext context;
  /// Where the last error was.
  std::string errorLocation;
  /// What is said of a model that is imported all the same.
  std::string expectedWarning;
};

/// The text of a float input or output in a GraphProto.
std::string tensorInfo(const std::string &field, const std::string &name,
                       std::initializer_list<int64_t> shape, int dataType = 1);

/// A safetensors file with this header and these bytes.
std::string safetensors(const std::string &header, const std::string &data);

void expectContains(const std::string &text, const std::string &part);

} // namespace tinh::test

#endif // TINH_TESTS_IMPORT_IMPORTTESTSUPPORT_H
