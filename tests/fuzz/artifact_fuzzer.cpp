//===- artifact_fuzzer.cpp - What is read of an artifact before dlopen *- C++
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The note, the program headers and the checksum. Code is trusted
// (docs/artifact.md), so that nothing is loaded.
//
//===----------------------------------------------------------------------===//
#include "mutation.h"
#include "temporary_file.h"

#include "artifact/elf_note.h"
#include "support/error.h"

#include <cstring>

using namespace tinh;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TemporaryFile bytes(data, size);
  std::string path = bytes.path();
  try {
    runtime::File file(path, "the artifact");
    tinh_note_t note = runtime::read_note(file, path);
    if (!std::memchr(note.cpu, 0, sizeof note.cpu) || note.file_size != size)
      std::abort();
    runtime::notes_of(file, path);
  } catch (const runtime::Error &) {
  }
  return 0;
}

/// Behind the bytes that libFuzzer has changed, the checksum is made right, or
/// nothing else would be looked at. Artifacts without embedded weights have it
/// over all bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  uint64_t checksum;
  if (size < sizeof checksum)
    return size;
  size_t end = size - sizeof checksum;
  checksum = tinh_checksum(TINH_CHECKSUM_START, data, end);
  std::memcpy(data + end, &checksum, sizeof checksum);
  return size;
}
