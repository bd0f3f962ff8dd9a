//===- glibc.cpp - In the place of glibc's latest functions -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries linked here are built for Debian 12, with glibc 2.36. All that
// they want of it is in 2.34, too, but for these functions; with them the
// packages run on systems that are older.
//
//===----------------------------------------------------------------------===//
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace {

struct Search {
  uintptr_t address;
  dl_find_object *found;
};

/// Whether an object, loaded at `base`, has the address within its segments.
int find_in(dl_phdr_info *object, size_t, void *data) {
  auto *search = static_cast<Search *>(data);
  uintptr_t start = UINTPTR_MAX, end = 0, frames = 0;
  bool is_inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME)
      frames = first;
    if (segment.p_type != PT_LOAD)
      continue;
    uintptr_t last = first + segment.p_memsz;
    start = first < start ? first : start;
    end = last > end ? last : end;
    is_inside |= search->address >= first && search->address < last;
  }
  if (!is_inside)
    return 0;
  dl_find_object &found = *search->found;
  found.dlfo_map_start = reinterpret_cast<void *>(start);
  found.dlfo_map_end = reinterpret_cast<void *>(end);
  found.dlfo_eh_frame = reinterpret_cast<void *>(frames);
  return frames ? 1 : -1;
}

} // namespace

/// Since 2.35: where the unwinder finds the frames of code at an address.
extern "C" int _dl_find_object(void *address, dl_find_object *result) noexcept {
  *result = {};
  Search search = {reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(&find_in, &search) == 1 ? 0 : -1;
}

/// Since 2.36: a random number.
extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0)
    std::abort();
  return number;
}
