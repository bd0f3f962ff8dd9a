//===- SafetensorsFile.cpp - Tensors by name, in files ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Support.h"
#include "tinh/state_dict.h"

using namespace tinh;
using namespace tinh::eager;

/// Calls `action`; what it throws says where it was called.
template <typename Action>
static auto located(const Call &call, Action action) {
  try {
    return action();
  } catch (const Error &error) {
    throw Error(error.status(), describe(call, error.what()));
  }
}

void tinh::save_safetensors(const std::string &path, const StateDict &state,
                            const Metadata &metadata, At at) {
  std::vector<std::vector<char>> bytes;
  std::vector<Shape> shapes;
  for (const NamedTensor &entry : state) {
    bytes.emplace_back(entry.tensor.nbytes(at));
    entry.tensor.copy_to(bytes.back().data(), at);
    shapes.push_back(entry.tensor.shape());
  }
  std::vector<tinh_safetensors_tensor_t> tensors;
  for (size_t i = 0; i < state.size(); ++i) {
    tinh_safetensors_tensor_t tensor = {};
    tensor.type.name = state[i].name.c_str();
    tensor.type.dtype = state[i].tensor.dtype();
    tensor.type.rank = static_cast<uint32_t>(shapes[i].size());
    tensor.type.dims = shapes[i].begin();
    tensor.type.size = bytes[i].size();
    tensor.data = bytes[i].data();
    tensors.push_back(tensor);
  }
  located({"save_safetensors", at},
          [&] { TensorFile::write(path, tensors, metadata); });
}

StateDict tinh::load_safetensors(const std::string &path, Metadata *metadata,
                                 At at) {
  Call call{"load_safetensors", at};
  TensorFile file = located(call, [&] { return TensorFile(path); });
  StateDict state;
  for (const tinh_safetensors_tensor_t &tensor : file.tensors()) {
    if (tensor.type.rank > TINH_MAX_RANK)
      fail(call, "\"", tensor.type.name, "\" of ", path, " has ",
           tensor.type.rank, " dimensions; tensors have at most ",
           TINH_MAX_RANK);
    Shape shape(std::span(tensor.type.dims, tensor.type.rank));
    state.push_back({tensor.type.name,
                     from_bytes(tensor.data, shape, tensor.type.dtype, at)});
  }
  if (metadata)
    *metadata = file.metadata();
  return state;
}
