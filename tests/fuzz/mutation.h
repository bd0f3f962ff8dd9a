//===- mutation.h - Changes that keep the structure of an input -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer changes bytes, which a parser refuses. These functions parse an
// input first, change what it means, and write it again.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_FUZZ_MUTATION_H
#define TINH_TESTS_FUZZ_MUTATION_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// What libFuzzer itself does to bytes.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace tinh::fuzz {

class Random {
public:
  explicit Random(unsigned seed) : generator(seed) {}

  /// From 0 to count - 1; 0 if there is none.
  size_t below(size_t count) {
    return count
               ? std::uniform_int_distribution<size_t>(0, count - 1)(generator)
               : 0;
  }
  bool one_in(size_t count) { return below(count) == 0; }

  template <typename Container> auto &any(Container &container) {
    return container[below(container.size())];
  }

  /// A number that limits are near, or a small one.
  int64_t number();

private:
  std::mt19937 generator;
};

/// Changes the JSON text in place, which stays JSON; false if it is none.
bool mutate_json(std::string &text, Random &random);

/// The same of the header of a .safetensors file and of its length, as
/// libFuzzer asks for it.
size_t mutate_safetensors(uint8_t *data, size_t size, size_t max_size,
                          unsigned seed);

/// Changes lines, numbers, words and types of IR.
void mutate_ir(std::string &text, Random &random);

/// The bytes of `content` over `data`, if they fit; else those that libFuzzer
/// makes of `data`.
size_t give(const std::string &content, uint8_t *data, size_t size,
            size_t max_size);

} // namespace tinh::fuzz

#endif // TINH_TESTS_FUZZ_MUTATION_H
