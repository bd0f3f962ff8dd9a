/*===- tinh/safetensors.h - Files of named tensors ---------------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Reads and writes .safetensors files: 8 bytes with the length of a header, the
 * header in JSON, and the tensors' bytes without gaps, little-endian and
 * row-major. A header may also hold metadata, text by text.
 *
 *   tinh_safetensors_t *file;
 *   tinh_safetensors_tensor_t weight;
 *   tinh_safetensors_open("model.safetensors", &file);
 *   tinh_safetensors_find(file, "fc1.weight", &weight);
 *   ...
 *   tinh_safetensors_release(file);
 *
 * The conventions are those of tinh/runtime.h.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_SAFETENSORS_H
#define TINH_SAFETENSORS_H

#include "tinh/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tinh_safetensors tinh_safetensors_t;

typedef struct tinh_safetensors_tensor {
  tinh_tensor_info_t type; /* With its name; any rank. */
  const void *data;        /* Of a file that is read: at any address. */
  uint64_t offset;         /* Where in the file it is read from its bytes lie;
                              not looked at when one is written. */
} tinh_safetensors_tensor_t;

typedef struct tinh_safetensors_info {
  uint32_t num_tensors;
  uint32_t num_metadata;
} tinh_safetensors_info_t;

/* Maps the file at `path` and checks all of its header: TINH_INVALID_FILE, with
 * what is wrong, unless each tensor has a known dtype and as many bytes as its
 * shape asks for, and they cover the data without gaps. What is read of it
 * stays valid until it is released. The file must not be changed meanwhile; to
 * replace it, as tinh_safetensors_write does, is no change. */
TINH_API tinh_status_t tinh_safetensors_open(const char *path,
                                             tinh_safetensors_t **out_file);
TINH_API void tinh_safetensors_release(tinh_safetensors_t *file);

TINH_API tinh_status_t tinh_safetensors_info(const tinh_safetensors_t *file,
                                             tinh_safetensors_info_t *out_info);

/* Tensors are numbered from 0, in the order of their bytes; metadata in that of
 * the header. */
TINH_API tinh_status_t
tinh_safetensors_tensor(const tinh_safetensors_t *file, uint32_t index,
                        tinh_safetensors_tensor_t *out_tensor);
TINH_API tinh_status_t tinh_safetensors_metadata(const tinh_safetensors_t *file,
                                                 uint32_t index,
                                                 tinh_metadata_t *out_metadata);

/* By name: TINH_NOT_FOUND if there is none. */
TINH_API tinh_status_t
tinh_safetensors_find(const tinh_safetensors_t *file, const char *name,
                      tinh_safetensors_tensor_t *out_tensor);
TINH_API tinh_status_t tinh_safetensors_find_metadata(
    const tinh_safetensors_t *file, const char *key, const char **out_value);

/* Writes tensors, in this order, and metadata to `path`, whole or not at all:
 * into a file without a name, which is forced to the disk and then takes its
 * own; in the moment in which it replaces an old one it is called
 * PATH.tinh.tmp. In file systems that have no such files, it is called
 * PATH.….tmp before, and a process that is killed leaves it behind. */
TINH_API tinh_status_t tinh_safetensors_write(
    const char *path, const tinh_safetensors_tensor_t *tensors,
    uint32_t num_tensors, const tinh_metadata_t *metadata,
    uint32_t num_metadata);

/* What stands before the bytes of such tensors in a file, for a program that
 * writes them itself; the tensors' data is not looked at. Its length, a
 * multiple of `alignment`, goes to `out_size`, and as much of it as has room to
 * `buffer`, which may be NULL if `capacity` is 0. */
TINH_API tinh_status_t tinh_safetensors_header(
    const tinh_safetensors_tensor_t *tensors, uint32_t num_tensors,
    const tinh_metadata_t *metadata, uint32_t num_metadata, uint64_t alignment,
    char *buffer, size_t capacity, size_t *out_size);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_SAFETENSORS_H */
