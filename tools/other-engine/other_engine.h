//===- other_engine.h - ONNX Runtime beside the two ways --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_OTHER_ENGINE_H
#define TINH_TOOLS_OTHER_ENGINE_H

#include "compiler/Support/Files.h"
#include "conversation.h"
#include "tinh/runtime.h"

#include <deque>
#include <nlohmann/json_fwd.hpp>

namespace tinh::tools {

/// ONNX Runtime in a process of Python's (onnx_runtime.py), which runs a model
/// when it is told to. Throws UserError for whatever goes wrong there.
class OtherEngine {
public:
  /// Starts `python`, to run `model`, an .onnx file, on so many threads.
  OtherEngine(const std::string &python, const std::string &model,
              uint32_t threads);

  /// Gives it an input, before it loads the model.
  void addInput(const tinh_tensor_info_t &info, const tinh_buffer_t &input);
  /// Loads the model; the milliseconds that took.
  double load();
  /// Runs it; the milliseconds by its own clock.
  double run();
  /// Writes what the last run gave to `buffers`, which are of these types.
  void readOutputs(const std::vector<tinh_tensor_info_t> &infos,
                   const std::vector<tinh_buffer_t> &buffers);

  /// That of ONNX Runtime.
  const std::string &version() const { return itsVersion; }

private:
  nlohmann::json ask(const char *request, nlohmann::json arguments);

  Conversation process;
  std::string model, itsVersion;
  uint32_t threads;
  std::deque<ScratchFile> files;  ///< Arrays that go from one to the other.
  std::vector<std::string> names; ///< Of the inputs, by file.
};

} // namespace tinh::tools

#endif // TINH_TOOLS_OTHER_ENGINE_H
