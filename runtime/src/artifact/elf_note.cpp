//===- elf_note.cpp - An artifact's note, read before loading it ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dlopen trusts a file's program headers and maps what they say; touching a
// page past the end of the file is then a SIGBUS. So they are read here with
// pread and compared with the file's real length first. And it crashes on
// relocations that make no sense, as the runtime would on pointers that do not:
// so the file's checksum must be right, too.
//
//===----------------------------------------------------------------------===//
#include "artifact/elf_note.h"

#include "artifact/cpu_features.h"
#include "support/error.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <vector>

namespace tinh::runtime {

#if defined(__x86_64__)
static constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
static constexpr unsigned kMachine = EM_AARCH64;
#endif

/// Far more than a note segment of ours needs.
static constexpr uint64_t kMaxNoteSegment = 1u << 20;
/// What is read at a time for the checksum; whole words of it.
static constexpr uint64_t kChecksumPiece = 1u << 16;

[[noreturn]] static void fail(tinh_status_t status, const std::string &path,
                              const std::string &why) {
  throw_error(status, {"cannot load '", path, "': ", why});
}

[[noreturn]] static void fail_truncated(const std::string &path) {
  fail(TINH_INVALID_ARTIFACT, path,
       "the file is shorter than its headers say; it is truncated or damaged");
}

static std::vector<Elf64_Phdr> read_program_headers(const File &file,
                                                    const std::string &path) {
  Elf64_Ehdr header;
  if (file.size() == 0)
    fail(TINH_INVALID_ARTIFACT, path, "the file is empty");
  if (!file.read_at(0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    fail(TINH_INVALID_ARTIFACT, path,
         "it is not a shared library written by graph-compile");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN ||
      header.e_machine != kMachine)
    fail(TINH_INVALID_ARTIFACT, path,
         "it is not a shared library for this kind of processor");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
    fail(TINH_INVALID_ARTIFACT, path, "its program headers are damaged");
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!file.read_at(header.e_phoff, headers.data(),
                    headers.size() * sizeof(Elf64_Phdr)))
    fail_truncated(path);
  return headers;
}

/// Finds our note in the content of a PT_NOTE segment.
static bool find_note(const std::vector<char> &segment, uint64_t alignment,
                      tinh_note_t *out_note) {
  auto align = [&](uint64_t value) {
    uint64_t unit = alignment == 8 ? 8 : 4;
    return (value + unit - 1) / unit * unit;
  };
  uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= segment.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, segment.data() + at, sizeof header);
    uint64_t name = at + sizeof header;
    uint64_t content = at + align(sizeof header + uint64_t(header.n_namesz));
    if (content > segment.size() || header.n_descsz > segment.size() - content)
      return false;
    if (header.n_type == TINH_NOTE_TYPE &&
        header.n_namesz == sizeof TINH_NOTE_NAME &&
        std::memcmp(segment.data() + name, TINH_NOTE_NAME,
                    sizeof TINH_NOTE_NAME) == 0) {
      // A note of another version may be shorter; its version comes first.
      *out_note = {};
      std::memcpy(out_note, segment.data() + content,
                  std::min<uint64_t>(header.n_descsz, sizeof *out_note));
      return header.n_descsz >= sizeof(uint32_t);
    }
    at = content + align(header.n_descsz);
  }
  return false;
}

static void check_segments(const std::vector<Elf64_Phdr> &headers,
                           const File &file, const std::string &path) {
  for (const Elf64_Phdr &header : headers) {
    bool in_file = header.p_offset <= file.size() &&
                   header.p_filesz <= file.size() - header.p_offset;
    if (header.p_type != PT_NULL && header.p_type != PT_GNU_STACK && !in_file)
      fail_truncated(path);
  }
}

static void check_version(const tinh_note_t &note, const std::string &what) {
  if (note.version != TINH_ARTIFACT_VERSION)
    throw_error(TINH_INCOMPATIBLE,
                {"cannot load ", what, ": it has artifact version ",
                 note.version, ", and this runtime loads version ",
                 TINH_ARTIFACT_VERSION,
                 "; compile the model again with the matching compiler"});
}

void check_compatible(const tinh_note_t &note, const std::string &what) {
  check_version(note, what);
  uint64_t missing =
      note.cpu_features & ~detect_cpu_features(note.cpu_features);
  if (missing)
    throw_error(TINH_INCOMPATIBLE,
                {"cannot load ", what, ": it was compiled for the CPU '",
                 note.cpu, "' and needs ", cpu_feature_names(missing),
                 ", which this machine lacks; compile the model again with "
                 "--cpu=native on this machine or with an older --cpu"});
}

/// Adds `size` bytes of `file` at `offset` to a checksum.
static uint64_t add_to_checksum(uint64_t checksum, const File &file,
                                uint64_t offset, uint64_t size,
                                const std::string &path) {
  std::vector<char> piece(std::min(size, kChecksumPiece));
  while (size > 0) {
    piece.resize(std::min(size, kChecksumPiece));
    if (!file.read_at(offset, piece.data(), piece.size()))
      fail_truncated(path);
    checksum = tinh_checksum(checksum, piece.data(), piece.size());
    offset += piece.size();
    size -= piece.size();
  }
  return checksum;
}

/// All but embedded weights, which may be large, has the checksum at the end.
static void check_checksum(const tinh_note_t &note, const File &file,
                           const std::string &path) {
  uint64_t end = file.size() - sizeof(uint64_t), weights = end, behind = end;
  if (note.weights_embedded && note.weights_size > 0) {
    weights = note.weights_offset;
    behind = weights + note.weights_size;
  }
  uint64_t checksum =
      add_to_checksum(TINH_CHECKSUM_START, file, 0, weights, path);
  checksum = add_to_checksum(checksum, file, behind, end - behind, path);
  uint64_t written = 0;
  if (!file.read_at(end, &written, sizeof written) || checksum != written)
    fail(TINH_INVALID_ARTIFACT, path,
         "its bytes are not those that the compiler wrote; it is damaged");
}

static void check_note(const tinh_note_t &note, const File &file,
                       const std::string &path) {
  check_version(note, '\'' + path + '\'');
  if (note.file_size != file.size())
    fail(TINH_INVALID_ARTIFACT, path,
         "the file has " + std::to_string(file.size()) +
             " bytes where the compiler wrote " +
             std::to_string(note.file_size) + "; it is truncated or damaged");
  bool whole = note.weights_offset % TINH_WEIGHTS_FILE_ALIGNMENT == 0 &&
               std::memchr(note.cpu, 0, sizeof note.cpu) &&
               std::memchr(note.weights_file, 0, sizeof note.weights_file);
  if (whole && note.weights_embedded) {
    uint64_t end = file.size() - sizeof(uint64_t); // Where the checksum is.
    whole = note.weights_offset <= end &&
            note.weights_size <= end - note.weights_offset;
  }
  if (!whole)
    fail(TINH_INVALID_ARTIFACT, path, "its Tinh note is damaged");
  check_checksum(note, file, path);
  check_compatible(note, '\'' + path + '\'');
}

tinh_note_t read_note(const File &file, const std::string &path) {
  std::vector<Elf64_Phdr> headers = read_program_headers(file, path);
  check_segments(headers, file, path);
  for (const Elf64_Phdr &header : headers) {
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNoteSegment)
      continue;
    std::vector<char> segment(header.p_filesz);
    tinh_note_t note;
    if (!file.read_at(header.p_offset, segment.data(), segment.size()))
      fail_truncated(path);
    if (find_note(segment, header.p_align, &note)) {
      check_note(note, file, path);
      return note;
    }
  }
  fail(TINH_INVALID_ARTIFACT, path,
       "it is a shared library but no model: it has no Tinh note");
}

std::string notes_of(const File &file, const std::string &path) {
  std::string notes;
  for (const Elf64_Phdr &header : read_program_headers(file, path)) {
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNoteSegment)
      continue;
    std::string segment(header.p_filesz, '\0');
    if (!file.read_at(header.p_offset, segment.data(), segment.size()))
      fail_truncated(path);
    notes += segment;
  }
  return notes;
}

/// Of a segment that is loaded. A sanitizer keeps bytes between the objects in
/// it to itself, which are there, and as they are in the file.
__attribute__((no_sanitize("address"))) static void
append_segment(std::string &notes, uintptr_t address, size_t size) {
  auto *bytes = reinterpret_cast<const volatile char *>(address);
  for (size_t i = 0; i < size; ++i)
    notes.push_back(bytes[i]);
}

std::string notes_of(void *library) {
  struct Found {
    const link_map *map = nullptr;
    std::string notes;
  } found;
  if (dlinfo(library, RTLD_DI_LINKMAP, &found.map) != 0)
    return "";
  auto append = [](dl_phdr_info *info, size_t, void *data) {
    auto *result = static_cast<Found *>(data);
    if (info->dlpi_addr != result->map->l_addr)
      return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const Elf64_Phdr &header = info->dlpi_phdr[i];
      if (header.p_type == PT_NOTE && header.p_filesz <= kMaxNoteSegment)
        append_segment(result->notes, info->dlpi_addr + header.p_vaddr,
                       header.p_filesz);
    }
    return 1;
  };
  dl_iterate_phdr(append, &found);
  return found.notes;
}

} // namespace tinh::runtime
