//===- npy.h - Reading and writing .npy files -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's array files, versions 1 to 3, in C order and little-endian. NumPy has
// no bf16: such arrays are written, and read, as 2-byte void ("V2"), as
// ml_dtypes does, and floats of 8 bits as 1-byte void ("V1"), whatever their
// format. Strings ("S12", "U12") are read as bytes, u8: UTF-8 in a dimension
// behind the array's own, filled up with NUL.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_NPY_H
#define TINH_TOOLS_NPY_H

#include "tinh/types.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tinh::tools {

struct NpyArray {
  tinh_dtype_t dtype = TINH_DTYPE_F32;
  std::vector<int64_t> dims;
  std::vector<char> data;
  bool is_string = false;
  /// By map_npy: the elements are `mapped_size` bytes of a file, not `data`.
  std::shared_ptr<char> mapped = {};
  size_t mapped_size = 0;

  /// The elements, wherever they are.
  std::span<char> bytes() {
    return mapped ? std::span(mapped.get(), mapped_size) : std::span(data);
  }
  std::span<const char> bytes() const {
    return const_cast<NpyArray *>(this)->bytes();
  }
};

/// Whether elements that were read as `found` can be those of `wanted`: a file
/// does not say which floats of 8 bits it has.
bool can_be(tinh_dtype_t found, tinh_dtype_t wanted);

/// Reads `path`; false, with a message that names the file, if it cannot.
bool read_npy(const std::string &path, NpyArray *out_array,
              std::string *out_message);

/// The same, but elements stay in the file, of which the system reads what is
/// looked at; strings are read. What is written to them is this process's own.
/// While they are there the file must not become shorter.
bool map_npy(const std::string &path, NpyArray *out_array,
             std::string *out_message);

/// The same as read_npy of `bytes`, which messages call `name`.
bool parse_npy(const std::string &bytes, const std::string &name,
               NpyArray *out_array, std::string *out_message);

/// Writes `path`, or leaves no file and a message that names it.
bool write_npy(const std::string &path, tinh_dtype_t dtype,
               const std::vector<int64_t> &dims, const void *data, size_t size,
               std::string *out_message);

} // namespace tinh::tools

#endif // TINH_TOOLS_NPY_H
