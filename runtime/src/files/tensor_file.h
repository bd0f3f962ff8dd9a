//===- tensor_file.h - Files of named tensors -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is behind tinh/safetensors.h.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_TENSOR_FILE_H
#define TINH_RUNTIME_TENSOR_FILE_H

#include "files/mapped_memory.h"
#include "tinh/safetensors.h"

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tinh::runtime {

/// An open .safetensors file.
class TensorFile {
public:
  struct Tensor {
    std::string name;
    tinh_dtype_t dtype;
    std::vector<int64_t> dims;
    uint64_t begin, end; ///< From the end of the header.
  };
  struct Metadata {
    std::string key, value;
  };

  /// Throws an Error that names the file and says what is wrong with it. `what`
  /// says what it should be, in the error if it cannot be opened.
  explicit TensorFile(const std::string &path, const char *what = "the file");

  /// In the order of their bytes.
  const std::vector<Tensor> &tensors() const { return all; }
  const std::vector<Metadata> &metadata() const { return texts; }

  /// Null if there is none.
  const Tensor *find(const std::string &name) const;
  const std::string *find_metadata(const std::string &key) const;

  const char *data(const Tensor &tensor) const {
    return bytes.data() + tensor.begin;
  }
  /// Of the first tensor, in the file.
  uint64_t data_offset() const { return start; }
  /// All tensors' bytes, to keep.
  MappedMemory take_data() && { return std::move(bytes); }
  uint64_t data_size() const { return all.empty() ? 0 : all.back().end; }

private:
  std::vector<Tensor> all;
  std::vector<Metadata> texts;
  std::unordered_map<std::string, size_t> by_name;
  MappedMemory bytes;
  uint64_t start = 0;
};

/// What the file's header says, checked against the number of bytes behind it.
/// Throws an Error that says what is wrong. The tensors are sorted by their
/// bytes.
void parse_tensors_header(std::string_view header, uint64_t data_size,
                          std::vector<TensorFile::Tensor> &tensors,
                          std::vector<TensorFile::Metadata> &metadata);

using TensorsToWrite = std::span<const tinh_safetensors_tensor_t>;
using MetadataToWrite = std::span<const tinh_metadata_t>;

/// The beginning of a file, with a length that is a multiple of `alignment`.
std::string make_tensors_header(TensorsToWrite tensors,
                                MetadataToWrite metadata, uint64_t alignment);

void write_tensors(const std::string &path, TensorsToWrite tensors,
                   MetadataToWrite metadata);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_TENSOR_FILE_H
