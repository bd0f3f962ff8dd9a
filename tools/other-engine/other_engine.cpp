//===- other_engine.cpp - ONNX Runtime beside the two ways ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "other_engine.h"

#include "inputs.h"
#include "onnx_runtime.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <cstring>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace tinh::tools {

static UserError failure(const std::string &why) {
  return UserError("--with=onnxruntime: " + why);
}

/// Starts it, with its program as an argument.
static std::vector<std::string> command(const std::string &python,
                                        const std::string &model) {
  if (!llvm::StringRef(model).ends_with(".onnx"))
    throw failure("ONNX Runtime reads .onnx files, not '" + model +
                  "': graph-compile writes one with -o NAME.onnx");
  if (!llvm::json::isUTF8(model))
    throw failure("ONNX Runtime reads no file whose path is not UTF-8, such "
                  "as '" +
                  model + "'");
  return {python, "-c", kOnnxRuntimeProgram};
}

/// Does something with the process, whose messages do not say what it is for.
template <typename Work> static auto explained(Work work) {
  try {
    return work();
  } catch (const UserError &error) {
    throw failure(error.what() + std::string("; --python names a Python that "
                                             "has onnxruntime"));
  }
}

static UserError noAnswer(const std::string &found) {
  return failure("expected an answer of Python's, found: " + found);
}

/// A member of an answer, which has it if the program is the right one.
template <typename T> static T member(const json &answer, const char *name) {
  try {
    return answer.at(name).get<T>();
  } catch (const json::exception &) {
    throw noAnswer(answer.dump());
  }
}

/// A path as a request has it: bytes, which need not be UTF-8.
static json bytesOf(const std::string &path) {
  return std::vector<uint8_t>(path.begin(), path.end());
}

OtherEngine::OtherEngine(const std::string &python, const std::string &model,
                         uint32_t threads)
    : process(explained(
          [words = command(python, model)] { return Conversation(words); })),
      model(model), threads(threads) {
  itsVersion = member<std::string>(ask("begin", json::object()), "version");
}

json OtherEngine::ask(const char *request, json arguments) {
  std::string line = json{{request, std::move(arguments)}}.dump(
      -1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  std::string text = explained([&] { return process.ask(line); });
  json answer = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object())
    throw noAnswer(text);
  if (answer.contains("error"))
    throw failure(member<std::string>(answer, "error"));
  return answer;
}

void OtherEngine::addInput(const tinh_tensor_info_t &info,
                           const tinh_buffer_t &input) {
  std::string message;
  std::vector<int64_t> dims(info.dims, info.dims + info.rank);
  if (!write_npy(files.emplace_back("tinh-compare").name, info.dtype, dims,
                 input.data, input.size, &message))
    throw failure(message);
  names.push_back(info.name);
}

double OtherEngine::load() {
  json inputs = json::object();
  for (size_t i = 0; i < names.size(); ++i)
    inputs[names[i]] = bytesOf(files[i].name);
  json answer = ask(
      "load",
      {{"model", model}, {"threads", threads}, {"inputs", std::move(inputs)}});
  return member<double>(answer, "milliseconds");
}

double OtherEngine::run() {
  return member<double>(ask("run", json::object()), "milliseconds");
}

/// Reads an output, which must be of the type that the compiled model has.
static void readOutput(const std::string &path, const tinh_tensor_info_t &info,
                       const tinh_buffer_t &buffer) {
  NpyArray array;
  std::string message;
  if (!read_npy(path, &array, &message))
    throw failure(message);
  tinh_tensor_info_t found = info;
  found.dtype = array.dtype;
  found.rank = static_cast<uint32_t>(array.dims.size());
  found.dims = array.dims.data();
  if (type_text(found) != type_text(info) || array.data.size() != buffer.size)
    throw failure(std::string("output '") + info.name + "' is " +
                  type_text(found) + " there, and " + type_text(info) +
                  " when compiled");
  std::memcpy(buffer.data, array.data.data(), buffer.size);
}

void OtherEngine::readOutputs(const std::vector<tinh_tensor_info_t> &infos,
                              const std::vector<tinh_buffer_t> &buffers) {
  std::deque<ScratchFile> outputs;
  json paths = json::array();
  for (size_t i = 0; i < infos.size(); ++i)
    paths.push_back(bytesOf(outputs.emplace_back("tinh-compare").name));
  ask("save", {{"files", std::move(paths)}});
  for (size_t i = 0; i < infos.size(); ++i)
    readOutput(outputs[i].name, infos[i], buffers[i]);
}

} // namespace tinh::tools
