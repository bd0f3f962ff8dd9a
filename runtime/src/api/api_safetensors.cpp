//===- api_safetensors.cpp - The C API of tensor files ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See tinh/safetensors.h.
//
//===----------------------------------------------------------------------===//
#include "api/handles.h"
#include "support/guarded.h"

#include <algorithm>
#include <cstring>

using namespace tinh::runtime;

static tinh_safetensors_tensor_t describe(const TensorFile &file,
                                          const TensorFile::Tensor &tensor) {
  return {{tensor.name.c_str(), tensor.dtype,
           static_cast<uint32_t>(tensor.dims.size()), tensor.dims.data(),
           tensor.end - tensor.begin, nullptr},
          file.data(tensor),
          file.data_offset() + tensor.begin};
}

tinh_status_t tinh_safetensors_open(const char *path,
                                    tinh_safetensors_t **out_file) {
  return guarded({{path, "path"}, {out_file, "out_file"}},
                 [&] { *out_file = new tinh_safetensors{TensorFile(path)}; });
}

void tinh_safetensors_release(tinh_safetensors_t *file) { delete file; }

tinh_status_t tinh_safetensors_info(const tinh_safetensors_t *file,
                                    tinh_safetensors_info_t *out_info) {
  return guarded({{file, "file"}, {out_info, "out_info"}}, [&] {
    *out_info = {static_cast<uint32_t>(file->file.tensors().size()),
                 static_cast<uint32_t>(file->file.metadata().size())};
  });
}

tinh_status_t tinh_safetensors_tensor(const tinh_safetensors_t *file,
                                      uint32_t index,
                                      tinh_safetensors_tensor_t *out_tensor) {
  return guarded({{file, "file"}, {out_tensor, "out_tensor"}}, [&] {
    *out_tensor = describe(
        file->file, item_of(file->file.tensors(), index, "tensor", "file"));
  });
}

tinh_status_t tinh_safetensors_metadata(const tinh_safetensors_t *file,
                                        uint32_t index,
                                        tinh_metadata_t *out_metadata) {
  return guarded({{file, "file"}, {out_metadata, "out_metadata"}}, [&] {
    const auto &entry =
        item_of(file->file.metadata(), index, "metadata", "file");
    *out_metadata = {entry.key.c_str(), entry.value.c_str()};
  });
}

tinh_status_t tinh_safetensors_find(const tinh_safetensors_t *file,
                                    const char *name,
                                    tinh_safetensors_tensor_t *out_tensor) {
  return guarded(
      {{file, "file"}, {name, "name"}, {out_tensor, "out_tensor"}}, [&] {
        const TensorFile::Tensor *tensor = file->file.find(name);
        if (!tensor)
          throw_error(TINH_NOT_FOUND, {"the file has no tensor '", name, "'"});
        *out_tensor = describe(file->file, *tensor);
      });
}

tinh_status_t tinh_safetensors_find_metadata(const tinh_safetensors_t *file,
                                             const char *key,
                                             const char **out_value) {
  return guarded({{file, "file"}, {key, "key"}, {out_value, "out_value"}}, [&] {
    const std::string *value = file->file.find_metadata(key);
    if (!value)
      throw_error(TINH_NOT_FOUND, {"the file's metadata has no '", key, "'"});
    *out_value = value->c_str();
  });
}

/// Throws where a pointer is null that something must be behind.
static void check_what_to_write(TensorsToWrite tensors,
                                MetadataToWrite metadata) {
  if (!tensors.empty())
    require(tensors.data(), "tensors");
  if (!metadata.empty())
    require(metadata.data(), "metadata");
  for (const tinh_safetensors_tensor_t &tensor : tensors) {
    require(tensor.type.name, "a tensor's name");
    if (tensor.type.rank)
      require(tensor.type.dims, "a tensor's dims");
  }
}

tinh_status_t tinh_safetensors_write(const char *path,
                                     const tinh_safetensors_tensor_t *tensors,
                                     uint32_t num_tensors,
                                     const tinh_metadata_t *metadata,
                                     uint32_t num_metadata) {
  return guarded({{path, "path"}}, [&] {
    TensorsToWrite wanted(tensors, num_tensors);
    MetadataToWrite texts(metadata, num_metadata);
    check_what_to_write(wanted, texts);
    for (const tinh_safetensors_tensor_t &tensor : wanted)
      if (tensor.type.size)
        require(tensor.data, "a tensor's data");
    write_tensors(path, wanted, texts);
  });
}

tinh_status_t tinh_safetensors_header(const tinh_safetensors_tensor_t *tensors,
                                      uint32_t num_tensors,
                                      const tinh_metadata_t *metadata,
                                      uint32_t num_metadata, uint64_t alignment,
                                      char *buffer, size_t capacity,
                                      size_t *out_size) {
  return guarded({{out_size, "out_size"}}, [&] {
    if (capacity)
      require(buffer, "buffer");
    if (alignment == 0)
      throw_error(TINH_INVALID_ARGUMENT, {"the alignment must be at least 1"});
    TensorsToWrite wanted(tensors, num_tensors);
    MetadataToWrite texts(metadata, num_metadata);
    check_what_to_write(wanted, texts);
    std::string header = make_tensors_header(wanted, texts, alignment);
    if (size_t count = std::min(capacity, header.size()))
      std::memcpy(buffer, header.data(), count);
    *out_size = header.size();
  });
}
