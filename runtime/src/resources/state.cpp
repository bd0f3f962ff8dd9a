//===- state.cpp - The variables of a context -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "resources/state.h"

#include "artifact/tensor.h"
#include "support/error.h"

#include <cstring>
#include <set>
#include <string_view>

namespace tinh::runtime {

State::State(const Module &module, DeviceModulePtr gpu, bool is_given)
    : module(module), is_given(is_given) {
  const tinh_artifact_t &artifact = module.artifact();
  if (is_given)
    return;
  if (!gpu) {
    memory = MappedMemory::anonymous(artifact.state_size, "the state");
    return;
  }
  device = std::move(gpu);
  pinned = DeviceMemory(device, MemoryKind::pinned, artifact.state_size,
                        "the state");
  device_memory = DeviceMemory(device, MemoryKind::device,
                               artifact.device_state_size, "the state");
}

bool State::on_device(const tinh_variable_desc_t &variable) const {
  return variable.device == TINH_DEVICE_CUDA;
}

char *State::address(uint32_t index) const {
  const tinh_variable_desc_t &variable = module.artifact().variables[index];
  if (on_device(variable))
    return device_memory.data() + variable.offset;
  char *host = device ? pinned.data() : memory.data();
  return host + variable.offset;
}

char *State::variable(uint32_t index) {
  std::call_once(initialised, [&] { reset(); });
  return address(index);
}

void State::reset() {
  if (is_given)
    throw_error(
        TINH_INVALID_ARGUMENT,
        {"the context is on a stream of the program's and has no state: "
         "give each run the memory of all variables"});
  const tinh_artifact_t &artifact = module.artifact();
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    char *to = address(i);
    if (variable.stored_size == 0)
      continue;
    bool is_zero = variable.initial_offset == TINH_INITIALLY_ZERO;
    const char *from =
        is_zero ? nullptr : module.weights() + variable.initial_offset;
    if (on_device(variable) && is_zero)
      device->zero(to, variable.stored_size, variable.name);
    else if (on_device(variable))
      device->upload(to, from, variable.stored_size, variable.name);
    else if (is_zero)
      std::memset(to, 0, variable.stored_size);
    else
      std::memcpy(to, from, variable.stored_size);
  }
}

void convert(const tinh_artifact_t &artifact,
             const tinh_conversion_t &conversion, uint64_t size,
             const void *from, void *to) {
  if (conversion.kernel == TINH_NO_KERNEL) {
    if (size)
      std::memcpy(to, from, size);
    return;
  }
  void *const buffers[] = {const_cast<void *>(from), to}; // Only read.
  artifact.kernels[conversion.kernel].function(
      buffers, nullptr, 0, static_cast<int64_t>(conversion.num_chunks));
}

void State::read(uint32_t index, void *data) {
  const tinh_variable_desc_t &desc = module.artifact().variables[index];
  const char *from = variable(index);
  if (on_device(desc))
    return device->download(data, from, desc.size, desc.name);
  convert(module.artifact(), desc.unpack, desc.size, from, data);
}

void State::write(uint32_t index, const void *data) {
  const tinh_variable_desc_t &desc = module.artifact().variables[index];
  char *to = variable(index);
  if (on_device(desc))
    return device->upload(to, data, desc.size, desc.name);
  convert(module.artifact(), desc.pack, desc.size, data, to);
}

static std::string copy_of(const tinh_variable_desc_t &variable) {
  return std::string("a copy of the variable '") + variable.name + "'";
}

void State::save(const std::string &path, MetadataToWrite metadata) {
  const tinh_artifact_t &artifact = module.artifact();
  std::vector<tinh_safetensors_tensor_t> tensors;
  std::vector<MappedMemory> unpacked;
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &desc = artifact.variables[i];
    const void *data = variable(i);
    if (desc.unpack.kernel != TINH_NO_KERNEL || on_device(desc)) {
      unpacked.push_back(MappedMemory::anonymous(desc.size, copy_of(desc)));
      read(i, unpacked.back().data());
      data = unpacked.back().data();
    }
    tensors.push_back({info_of(desc), data, 0});
  }
  write_tensors(path, tensors, metadata);
}

/// What is wrong with a file for these variables, the first of each kind; empty
/// if nothing is.
static std::string compare(const TensorFile &file,
                           const tinh_artifact_t &artifact) {
  std::string missing, unexpected, misshapen;
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    std::string name = variable.name;
    names.insert(variable.name);
    const TensorFile::Tensor *tensor = file.find(name);
    if (!tensor) {
      if (missing.empty())
        missing = "; it lacks '" + name + "'";
      continue;
    }
    std::string expected =
                    type_text(variable.dtype, variable.dims, variable.rank),
                found = type_text(tensor->dtype, tensor->dims.data(),
                                  tensor->dims.size());
    if (misshapen.empty() && found != expected)
      misshapen = "; its '" + name + "' is " + found + ", and " + expected +
                  " is expected";
  }
  for (const TensorFile::Tensor &tensor : file.tensors())
    if (unexpected.empty() && !names.count(tensor.name))
      unexpected = "; its '" + tensor.name + "' is no variable of the model";
  return missing + unexpected + misshapen;
}

void State::load(const std::string &path) {
  TensorFile file(path);
  const tinh_artifact_t &artifact = module.artifact();
  if (std::string problems = compare(file, artifact); !problems.empty())
    throw_error(TINH_INVALID_FILE,
                {"cannot load the state from '", path,
                 "': it is the state of another model", problems});
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    const TensorFile::Tensor &tensor = *file.find(variable.name);
    const char *data = file.data(tensor);
    MappedMemory aligned;
    if (variable.pack.kernel != TINH_NO_KERNEL &&
        reinterpret_cast<uintptr_t>(data) % tinh_dtype_size(tensor.dtype)) {
      // A file need not align its tensors as kernels want them.
      aligned = MappedMemory::anonymous(variable.size, copy_of(variable));
      std::memcpy(aligned.data(), data, variable.size);
      data = aligned.data();
    }
    write(i, data);
  }
}

} // namespace tinh::runtime
