//===- runner.cpp - Compiles and runs models, many in one process ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads folders from standard input, one in a line. Each holds model.onnx, the
// lengths and shapes that it leaves open, interface.json, and the elements of
// its inputs, input_0.bin, input_1.bin …. The runner compiles the model, runs
// it, writes what the run has used of its outputs to output_0.bin … beside it,
// and prints a line of JSON that says how that went:
//
//   {"status": "ran", "outputs": [{"dtype": "f32", "shape": [2, 3]}]}
//   {"status": "refused", "message": "…"}   by the compiler, in its words
//   {"status": "failed", "message": "…"}    later: a defect
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"
#include "tinh/outputs.h"
#include "tinh/runtime.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using nlohmann::json;

namespace {

using Module = std::unique_ptr<tinh_module_t, decltype(&tinh_module_release)>;
using Context =
    std::unique_ptr<tinh_context_t, decltype(&tinh_context_release)>;

struct Failure {
  std::string message;
};

void check(tinh_status_t status) {
  if (status != TINH_OK)
    throw Failure{tinh_last_error()};
}

std::string join(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::vector<char> readInput(const std::string &path,
                            const tinh_tensor_info_t &info) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> data(std::istreambuf_iterator<char>(file), {});
  if (!file || data.size() != info.size)
    throw Failure{path + " has " + std::to_string(data.size()) +
                  " bytes, but the artifact's input \"" + info.name +
                  "\" takes " + std::to_string(info.size)};
  return data;
}

/// Whether output `i` only says the size of others: models do not have it.
bool isSize(const std::vector<tinh_tensor_info_t> &outputs, size_t i) {
  for (const tinh_tensor_info_t &output : outputs)
    for (uint32_t d = 0; output.size_outputs && d < output.rank; ++d)
      if (output.size_outputs[d] == static_cast<int32_t>(i))
        return true;
  return false;
}

/// Runs the artifact's main on the inputs in `folder`, and describes the
/// outputs that it writes there.
json run(const std::string &folder) {
  tinh_module_t *loaded;
  check(tinh_module_load((folder + "/model.so").c_str(), &loaded));
  Module module(loaded, tinh_module_release);
  tinh_context_options_t options;
  tinh_context_options_init(&options);
  options.threads = 1;
  tinh_context_t *created;
  check(tinh_context_create(module.get(), &options, &created));
  Context context(created, tinh_context_release);

  uint32_t main;
  tinh_function_info_t function;
  check(tinh_module_find_function(module.get(), "main", &main));
  check(tinh_module_function_info(module.get(), main, &function));
  std::vector<std::vector<char>> inputs, outputs;
  std::vector<tinh_buffer_t> inputBuffers, outputBuffers;
  std::vector<tinh_tensor_info_t> outputInfos;
  json descriptions = json::array();
  tinh_tensor_info_t info;
  for (uint32_t i = 0; i < function.num_inputs; ++i) {
    check(tinh_module_input_info(module.get(), main, i, &info));
    inputs.push_back(
        readInput(folder + "/input_" + std::to_string(i) + ".bin", info));
    inputBuffers.push_back({inputs.back().data(), info.size});
  }
  for (uint32_t i = 0; i < function.num_outputs; ++i) {
    check(tinh_module_output_info(module.get(), main, i, &info));
    outputs.emplace_back(info.size);
    outputBuffers.push_back({outputs.back().data(), info.size});
    outputInfos.push_back(info);
  }
  check(tinh_context_run(context.get(), main, inputBuffers.data(),
                         function.num_inputs, outputBuffers.data(),
                         function.num_outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (isSize(outputInfos, i))
      continue;
    std::vector<int64_t> dims(outputInfos[i].rank);
    check(tinh_output_trim(&outputInfos[i], &outputBuffers[i],
                           outputBuffers.data(), function.num_outputs,
                           dims.data()));
    size_t size = tinh_dtype_size(outputInfos[i].dtype);
    for (int64_t extent : dims)
      size *= static_cast<size_t>(extent);
    descriptions.push_back(
        {{"dtype", tinh_dtype_name(outputInfos[i].dtype)}, {"shape", dims}});
    std::string path = folder + "/output_" + std::to_string(i) + ".bin";
    std::ofstream file(path, std::ios::binary);
    file.write(outputs[i].data(), static_cast<std::streamsize>(size));
    if (!file.flush())
      throw Failure{"cannot write " + path};
  }
  return {{"status", "ran"}, {"outputs", descriptions}};
}

json compileAndRun(const std::string &folder, const std::string &cpu) {
  tinh::CompileRequest request;
  request.model = folder + "/model.onnx";
  request.output = folder + "/model.so";
  request.cpu = cpu;
  request.jobs = 1;
  json open = json::parse(std::ifstream(folder + "/interface.json"));
  open["lengths"].get_to(request.lengths);
  open["shapes"].get_to(request.shapes);
  open["string_lengths"].get_to(request.stringLengths);
  tinh::CompileResult result = tinh::compileModel(request);
  if (result.status == tinh::CompileStatus::InternalError)
    return {{"status", "failed"}, {"message", join(result.messages)}};
  if (!result.succeeded())
    return {{"status", "refused"}, {"message", join(result.messages)}};
  try {
    return run(folder);
  } catch (const Failure &failure) {
    return {{"status", "failed"}, {"message", failure.message}};
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return std::cerr << "usage: " << argv[0] << " CPU < FOLDERS\n", 2;
  std::string folder;
  while (std::getline(std::cin, folder))
    std::cout << compileAndRun(folder, argv[1])
                     .dump(-1, ' ', false, json::error_handler_t::replace)
              << std::endl;
  return 0;
}
