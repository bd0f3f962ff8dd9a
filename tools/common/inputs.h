//===- inputs.h - Contents of a run's inputs --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills an input tensor from a file, at random or with zeros, as --input says.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_INPUTS_H
#define TINH_TOOLS_INPUTS_H

#include "npy.h"
#include "tinh/runtime.h"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tinh::tools {

/// What the user gave is wrong: exit code 1.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "1x3x224x224", or "scalar".
std::string shape_text(const tinh_tensor_info_t &tensor);

/// "f32 1x3x224x224".
std::string type_text(const tinh_tensor_info_t &tensor);

/// Memory for `tensor`, all zero. Throws UserError if there is none, which
/// calls the tensor an `kind`: input or output.
std::vector<char> allocate(const tinh_tensor_info_t &tensor, const char *kind);

/// Splits NAME=SOURCE arguments. Throws UserError for a name that no tensor has
/// or that is given twice.
std::map<std::string, std::string>
parse_inputs(const std::vector<std::string> &arguments,
             const std::vector<tinh_tensor_info_t> &tensors);

/// Throws UserError if a tensor has no source.
void check_inputs(const std::map<std::string, std::string> &sources,
                  const std::vector<tinh_tensor_info_t> &tensors);

/// The bytes of `tensor` from `source`: a file, "random" or "zeros". Random
/// values depend on the tensor's name and type only.
std::vector<char> make_input(const tinh_tensor_info_t &tensor,
                             const std::string &source);

/// The bytes of `tensor` from an array that is called `source`; throws
/// UserError if it is of another type.
std::vector<char> take_input(const tinh_tensor_info_t &tensor,
                             const std::string &source, NpyArray array);

/// The name of a tensor's file in a folder: NAME.npy, with _ for each /.
std::string file_of(const tinh_tensor_info_t &tensor);

/// Throws UserError if another tensor of `tensors`, which are kept by their
/// files, has the same file in `folder`, which `option` names.
void claim_file(const tinh_tensor_info_t &tensor,
                std::map<std::string, std::string> &tensors,
                const std::string &option, const std::string &folder);

} // namespace tinh::tools

#endif // TINH_TOOLS_INPUTS_H
