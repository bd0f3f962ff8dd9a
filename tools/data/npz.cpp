//===- npz.cpp - Reading NumPy's .npz files ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A zip archive of .npy files; minizip reads it, a library that Debian has as
// an archive, too: the Python package depends on no libraries.
//
//===----------------------------------------------------------------------===//
#include "npz.h"

#include "regular_file.h"

#include <algorithm>
#include <memory>
#include <minizip/unzip.h>
#include <optional>
#include <string_view>

namespace tinh::tools {

namespace {

struct Close {
  void operator()(unzFile archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<std::remove_pointer_t<unzFile>, Close>;

/// The name and the bytes of the archive's current file; nothing if it is
/// damaged.
std::optional<std::pair<std::string, std::string>> read_entry(unzFile archive) {
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(archive, &info, nullptr, 0, nullptr, 0, nullptr,
                              0) != UNZ_OK)
    return std::nullopt;
  std::string name(info.size_filename, '\0');
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size(), nullptr,
                              0, nullptr, 0) != UNZ_OK ||
      unzOpenCurrentFile(archive) != UNZ_OK)
    return std::nullopt;
  // The size is what the file says: memory is taken as there are bytes for it.
  constexpr unsigned kPiece = 1u << 24;
  std::string bytes;
  int count = 0;
  do {
    size_t size = bytes.size();
    bytes.resize(size + kPiece);
    count = unzReadCurrentFile(archive, bytes.data() + size, kPiece);
    bytes.resize(size + static_cast<size_t>(std::max(count, 0)));
  } while (count > 0);
  // Closing compares the checksum.
  if (unzCloseCurrentFile(archive) != UNZ_OK || count < 0 ||
      bytes.size() != info.uncompressed_size)
    return std::nullopt;
  return std::pair(std::move(name), std::move(bytes));
}

} // namespace

bool read_npz(const std::string &path, std::map<std::string, NpyArray> *out,
              std::string *out_message) {
  auto fail = [&](const char *why) {
    *out_message = "cannot read '" + path + "' as an .npz file: " + why;
    return false;
  };
  if (is_no_regular_file(path))
    return fail(kNoRegularFile);
  Archive archive(unzOpen64(path.c_str()));
  if (!archive)
    return fail("there is no zip archive");
  int found = unzGoToFirstFile(archive.get());
  for (; found == UNZ_OK; found = unzGoToNextFile(archive.get())) {
    auto entry = read_entry(archive.get());
    if (!entry)
      return fail("an entry is damaged");
    auto &[name, bytes] = *entry;
    constexpr std::string_view kSuffix = ".npy";
    if (name.ends_with(kSuffix))
      name.resize(name.size() - kSuffix.size());
    if (!parse_npy(bytes, path + ":" + name, &(*out)[name], out_message))
      return false;
  }
  return found == UNZ_END_OF_LIST_OF_FILE || fail("its directory is damaged");
}

} // namespace tinh::tools
