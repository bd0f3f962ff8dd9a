//===- safetensors_fuzzer.cpp - Files of named tensors ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime reads of a header must be what another reader of JSON does.
//
//===----------------------------------------------------------------------===//
#include "mutation.h"
#include "temporary_file.h"

#include "files/tensor_file.h"
#include "support/error.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace tinh;
using Json = nlohmann::json;

/// The header, or what there is of it.
static std::string_view header_of(const uint8_t *data, size_t size) {
  uint64_t length = 0;
  if (size < sizeof length)
    return {};
  std::memcpy(&length, data, sizeof length);
  std::string_view rest(reinterpret_cast<const char *>(data) + sizeof length,
                        size - sizeof length);
  return rest.substr(0, length);
}

static void compare(const runtime::TensorFile &file, const Json &header) {
  size_t num_tensors = 0;
  for (const auto &[name, value] : header.items()) {
    if (name == "__metadata__") {
      if (value.size() != file.metadata().size())
        std::abort();
      for (const auto &entry : file.metadata())
        if (value.at(entry.key) != entry.value)
          std::abort();
      continue;
    }
    ++num_tensors;
    const runtime::TensorFile::Tensor *tensor = file.find(name);
    if (!tensor || value.at("shape") != Json(tensor->dims) ||
        value.at("data_offsets") != Json{tensor->begin, tensor->end})
      std::abort();
  }
  if (num_tensors != file.tensors().size())
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TemporaryFile file(data, size);
  std::string_view header = header_of(data, size);
  try {
    runtime::TensorFile tensors(file.path());
    for (const auto &tensor : tensors.tensors()) {
      const char *bytes = tensors.data(tensor);
      [[maybe_unused]] volatile int sum =
          std::accumulate(bytes, bytes + (tensor.end - tensor.begin), 0);
      if (!tensors.find(tensor.name))
        std::abort();
    }
    compare(tensors, Json::parse(header));
  } catch (const runtime::Error &error) {
    // The other one takes a byte order mark, and a zero for the end: a header
    // may have neither.
    if (std::string_view(error.what())
            .starts_with("cannot read '" + file.path() +
                         "': malformed header at byte ") &&
        !header.starts_with("\xef\xbb\xbf") &&
        header.find('\0') == header.npos && Json::accept(header))
      std::abort();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  return fuzz::mutate_safetensors(data, size, max_size, seed);
}
