//===- replace_weights.cpp - A module with other weights --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact that has been compiled for it carries the function that computes
// its weights, in the packing that its kernels want, from the model's
// parameters. It runs here on those of a file.
//
//===----------------------------------------------------------------------===//
#include "artifact/tensor.h"
#include "files/tensor_file.h"
#include "run/context.h"
#include "support/error.h"

#include <cstring>

namespace tinh::runtime {

namespace {

/// The parameters in a file, as arguments of a run.
class Parameters {
public:
  Parameters(const std::string &path, const tinh_function_desc_t &init)
      : file(path) {
    for (uint32_t i = 0; i < init.num_inputs; ++i)
      add(path, init.inputs[i]);
  }

  std::vector<void *> pointers;

private:
  void add(const std::string &path, const tinh_tensor_desc_t &parameter) {
    auto fail = [&](const std::string &why) {
      throw_error(TINH_INVALID_FILE,
                  {"cannot load weights from '", path, "': ", why});
    };
    const TensorFile::Tensor *found = file.find(parameter.name);
    if (!found)
      fail(message_of({"it lacks '", parameter.name, "'"}));
    std::string expected =
        type_text(parameter.dtype, parameter.dims, parameter.rank);
    std::string type =
        type_text(found->dtype, found->dims.data(), found->dims.size());
    if (type != expected)
      fail(message_of({"its '", parameter.name, "' is ", type, ", and ",
                       expected, " is expected"}));
    const char *data = file.data(*found);
    if (reinterpret_cast<uintptr_t>(data) % tinh_dtype_size(found->dtype)) {
      // A file need not align its tensors as a run wants them.
      MappedMemory &copy = copies.emplace_back(MappedMemory::anonymous(
          parameter.size,
          std::string("a copy of the weight '") + parameter.name + "'"));
      std::memcpy(copy.data(), data, parameter.size);
      data = copy.data();
    }
    pointers.push_back(const_cast<char *>(data)); // It is only read.
  }

  TensorFile file;
  std::vector<MappedMemory> copies;
};

} // namespace

Module::Module(const std::shared_ptr<const Module> &other,
               const std::string &path)
    : note(other->note), digest(other->digest), loaded_by(other),
      has_digest(false), descriptor(other->descriptor) {
  if (!descriptor->init)
    throw_error(TINH_INVALID_ARTIFACT,
                {"the model '", descriptor->model,
                 "' takes no other weights; compile it with "
                 "--loadable-weights"});
  Parameters parameters(path, *descriptor->init);
  mapped_weights =
      MappedMemory::anonymous(descriptor->weights_size, "the weights");
  weights_data = mapped_weights.data();
  // What is no parameter is there already.
  if (descriptor->weights_size)
    std::memcpy(weights_data, other->weights_data, descriptor->weights_size);
  tinh_artifact_t init = *descriptor;
  init.functions = descriptor->init;
  init.num_functions = 1;
  init.num_variables = 0;
  init.state_size = 0;
  init.device_state_size = 0;
  init.without_gpu = nullptr;
  std::shared_ptr<const Module> module(new Module(other, init, weights_data));
  auto context = std::make_shared<Context>(module, Context::default_options());
  context->run_now(0, {std::move(parameters.pointers), true});
  context->shut_down();
}

} // namespace tinh::runtime
