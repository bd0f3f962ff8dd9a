//===- mapped_memory.cpp - Memory from mmap ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A large anonymous mapping starts on a huge page's boundary: with 4 KiB pages
// the first touch of a 10 MiB arena alone costs some 2,500 faults. Files have
// huge pages where the page cache has them (xfs, and ext4 since Linux 6.16):
// all processes share them, too.
//
//===----------------------------------------------------------------------===//
#include "files/mapped_memory.h"

#include "support/error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tinh::runtime {

static constexpr uint64_t kHugePage = 2u << 20;

File::File(const std::string &path, const char *what)
    // A pipe that nobody writes to would not open.
    : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status;
  if (descriptor >= 0 && fstat(descriptor, &status) == 0 &&
      S_ISREG(status.st_mode)) {
    length = static_cast<uint64_t>(status.st_size);
    return;
  }
  bool opened = descriptor >= 0;
  int error = errno;
  if (opened)
    close(descriptor);
  if (opened)
    throw_error(TINH_INVALID_ARTIFACT, {"cannot load ", what, " '", path,
                                        "': it is not a regular file"});
  throw_error(error == ENOENT ? TINH_NOT_FOUND : TINH_IO_ERROR,
              {"cannot open ", what, " '", path, "': ", errno_text(error)});
}

File::~File() {
  if (descriptor >= 0)
    close(descriptor);
}

bool File::read_at(uint64_t offset, void *out_data, size_t size) const {
  if (offset > length || size > length - offset)
    return false;
  char *out = static_cast<char *>(out_data);
  while (size > 0) {
    ssize_t count = pread(descriptor, out, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    out += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
  return true;
}

MappedMemory::~MappedMemory() {
  if (base)
    munmap(base, length);
}

MappedMemory MappedMemory::anonymous(uint64_t size, const std::string &what) {
  MappedMemory memory;
  if (size == 0)
    return memory;
  bool huge = size >= kHugePage;
  uint64_t slack = huge ? kHugePage : 0;
  void *base = size > SIZE_MAX - slack
                   ? MAP_FAILED
                   : mmap(nullptr, size + slack, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    throw_error(TINH_OUT_OF_MEMORY,
                {"cannot allocate ", size, " bytes for ", what});
  memory.base = base;
  memory.length = size + slack;
  memory.start = static_cast<char *>(base);
  if (huge) {
    uint64_t misaligned = reinterpret_cast<uintptr_t>(base) % kHugePage;
    memory.start += misaligned ? kHugePage - misaligned : 0;
    madvise(memory.start, size, MADV_HUGEPAGE);
  }
  return memory;
}

MappedMemory MappedMemory::of_file(const File &file, uint64_t offset,
                                   uint64_t size, const std::string &path) {
  MappedMemory memory;
  if (size == 0)
    return memory;
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t lead = offset % page;
  void *base = mmap(nullptr, size + lead, PROT_READ, MAP_SHARED, file.fd(),
                    static_cast<off_t>(offset - lead));
  if (base == MAP_FAILED)
    throw_error(TINH_IO_ERROR,
                {"cannot map '", path, "': ", errno_text(errno)});
  madvise(base, size + lead, MADV_HUGEPAGE); // It is advice.
  memory.base = base;
  memory.length = size + lead;
  memory.start = static_cast<char *>(base) + lead;
  return memory;
}

} // namespace tinh::runtime
