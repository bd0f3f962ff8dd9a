//===- tensors.h - Tensors in files -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what graph-run writes, .npy and .safetensors, and writes files of
// random tensors for it to read.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_GPU_TENSORS_H
#define TINH_BENCHMARKS_GPU_TENSORS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tinh::benchmarks {

/// Elements of any type as numbers, by the tensor's name.
using Tensors = std::map<std::string, std::vector<double>>;

/// All tensors of a .safetensors file, or the one of a .npy file. Throws
/// tools::UserError.
Tensors read_tensors(const std::string &path);

/// Writes a .safetensors file whose header is the text in the file
/// `header_path`. Tensors are drawn from normal distributions: the header's
/// metadata has mean and spread of each, as "NAME": "MEAN SPREAD". The numbers
/// depend on the seed and on the tensor's name alone. Throws tools::UserError.
void write_random_tensors(const std::string &header_path, uint64_t seed,
                          const std::string &path);

} // namespace tinh::benchmarks

#endif // TINH_BENCHMARKS_GPU_TENSORS_H
