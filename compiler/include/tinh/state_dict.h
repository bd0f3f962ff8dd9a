//===- tinh/state_dict.h - Tensors by name ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a module or an optimizer holds, under the names that PyTorch gives it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_STATE_DICT_H
#define TINH_STATE_DICT_H

#include "tinh/tensor.h"

#include <utility>

namespace tinh {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// In the order in which the tensors were registered; names are unique. The
/// tensors are those of the module or optimizer, not copies.
using StateDict = std::vector<NamedTensor>;

/// The tensor of that name; null if there is none.
const Tensor *find(const StateDict &state, std::string_view name);

/// Writes a .safetensors file: whole, or not at all. Waits.
void save_safetensors(const std::string &path, const StateDict &state,
                      const Metadata &metadata = {}, At at = At::current());
/// Reads all tensors of a .safetensors file and, where it is asked for, its
/// metadata.
StateDict load_safetensors(const std::string &path,
                           Metadata *metadata = nullptr, At at = At::current());

} // namespace tinh

#endif // TINH_STATE_DICT_H
