//===- image.cpp - Code of kernels that is loaded ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "image.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tinh::fake {

/// The length of an ELF file for x86, or 0.
static size_t elfSize(const char *bytes) {
  Elf64_Ehdr header;
  if (std::memcmp(bytes, ELFMAG, SELFMAG))
    return 0;
  std::memcpy(&header, bytes, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
    return 0;
  size_t size = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * header.e_shentsize,
                sizeof section);
    if (section.sh_type != SHT_NOBITS)
      size = std::max<size_t>(size, section.sh_offset + section.sh_size);
  }
  return size;
}

/// Lets images find the functions of this library, whoever has loaded it.
static void exportEmulator() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<void *>(&exportEmulator), &info))
    ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

LoadedImage::LoadedImage(const void *bytes) {
  size_t size = elfSize(static_cast<const char *>(bytes));
  if (size == 0) {
    message = "the image is no ELF file for x86";
    return;
  }
  exportEmulator();
  // The file stays open: to the loader, a library of the same name is the same.
  file = ::memfd_create("tinh-image", MFD_CLOEXEC);
  if (file < 0 || ::write(file, bytes, size) != ssize_t(size)) {
    message = "cannot write the image to a file in memory";
  } else {
    std::string name =
        "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
    library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    message = library ? "" : ::dlerror();
  }
  if (!library)
    return;
  found = static_cast<const emulator::Image *>(
      ::dlsym(library, emulator::kImageSymbol));
  if (!found || found->version != emulator::kImageVersion) {
    found = nullptr;
    message = "the image has no description of this version";
  }
}

const emulator::Kernel *LoadedImage::kernel(std::string_view name) const {
  for (uint32_t i = 0; found && i < found->numKernels; ++i)
    if (found->kernels[i].name == name)
      return &found->kernels[i];
  return nullptr;
}

LoadedImage::~LoadedImage() {
  if (library)
    ::dlclose(library);
  if (file >= 0)
    ::close(file);
}

} // namespace tinh::fake
