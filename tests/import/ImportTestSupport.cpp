//===- ImportTestSupport.cpp - Imports models that tests write --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tinh::test {

void ImportTest::SetUp() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tinh-import-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  directory = pattern;
}

void ImportTest::TearDown() { std::filesystem::remove_all(directory); }

std::string ImportTest::write(const std::string &name,
                              const std::string &bytes) {
  std::string path = directory + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string ImportTest::writeOnnx(const std::string &text,
                                  const std::string &name) {
  // The generated classes are protobuf's lite ones, which cannot read text.
  std::string input = write(name + ".txt", text);
  std::string path = directory + "/" + name;
  std::string command = std::string(TINH_PROTOC) +
                        " --encode=onnx.ModelProto -I " TINH_ONNX_DIR
                        " onnx.proto < " +
                        input + " > " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << text;
  return path;
}

std::string ImportTest::model(const std::string &graph, int opset) {
  return "ir_version: 8 opset_import { version: " + std::to_string(opset) +
         " } graph { name: \"g\" " + graph + " }";
}

std::string ImportTest::import(const std::string &path) {
  std::string error;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (!error.empty())
          error += "\n";
        error += diagnostic.str();
        llvm::raw_string_ostream(errorLocation = "")
            << diagnostic.getLocation();
        return mlir::success();
      });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      importModel(path, options, context);
  if (!module) {
    EXPECT_FALSE(error.empty()) << "failed without a message";
    return "error: " + error;
  }
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
  EXPECT_EQ(error, expectedWarning);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

std::string tensorInfo(const std::string &field, const std::string &name,
                       std::initializer_list<int64_t> shape, int dataType) {
  std::string dims;
  for (int64_t extent : shape)
    dims += " dim { dim_value: " + std::to_string(extent) + " }";
  return field + " { name: \"" + name +
         "\" type { tensor_type { elem_type: " + std::to_string(dataType) +
         " shape {" + dims + " } } } }\n";
}

std::string safetensors(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

/// The text with each run of spaces as one.
static std::string squeezeSpaces(const std::string &text) {
  std::string result;
  for (char c : text)
    if (c != ' ' || result.empty() || result.back() != ' ')
      result.push_back(c);
  return result;
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(squeezeSpaces(text).find(squeezeSpaces(part)), std::string::npos)
      << "expected: " << part << "\nin: " << text;
}

} // namespace tinh::test
