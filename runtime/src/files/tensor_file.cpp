//===- tensor_file.cpp - Files of named tensors ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening and writing; tensor_file_header.cpp reads what is between.
//
//===----------------------------------------------------------------------===//
#include "files/tensor_file.h"

#include "files/atomic_file.h"
#include "support/error.h"

#include <cstring>

namespace tinh::runtime {

/// Headers are small; one beyond this is no header.
static constexpr uint64_t kMaxHeader = 100'000'000;
static constexpr uint64_t kLengthSize = 8;

TensorFile::TensorFile(const std::string &path, const char *what) {
  File file(path, what);
  auto fail = [&](const std::string &why) {
    throw_error(TINH_INVALID_FILE, {"cannot read '", path, "': ", why});
  };
  if (file.size() < kLengthSize)
    fail(
        message_of({"not a safetensors file: it has ", file.size(), " bytes"}));
  uint64_t length = 0;
  if (!file.read_at(0, &length, sizeof length))
    fail("its header cannot be read");
  if (length == 0 || length > file.size() - kLengthSize || length > kMaxHeader)
    fail(message_of(
        {"not a safetensors file, or truncated: its header would have ", length,
         " bytes, the file has ", file.size()}));
  std::string header(length, '\0');
  if (!file.read_at(kLengthSize, header.data(), length))
    fail("its header cannot be read");
  start = kLengthSize + length;
  try {
    parse_tensors_header(header, file.size() - start, all, texts);
  } catch (const Error &error) {
    fail(error.what());
  }
  for (size_t i = 0; i < all.size(); ++i)
    by_name.emplace(all[i].name, i);
  bytes = MappedMemory::of_file(file, start, file.size() - start, path);
}

const TensorFile::Tensor *TensorFile::find(const std::string &name) const {
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &all[found->second];
}

const std::string *TensorFile::find_metadata(const std::string &key) const {
  for (const Metadata &entry : texts)
    if (entry.key == key)
      return &entry.value;
  return nullptr;
}

void write_tensors(const std::string &path, TensorsToWrite tensors,
                   MetadataToWrite metadata) {
  std::string header = make_tensors_header(tensors, metadata, kLengthSize);
  AtomicFile file(path);
  file.write(header.data(), header.size());
  for (const tinh_safetensors_tensor_t &tensor : tensors)
    file.write(tensor.data, tensor.type.size);
  file.keep();
}

} // namespace tinh::runtime
