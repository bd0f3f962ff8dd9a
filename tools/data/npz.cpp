//===- npz.cpp - Reading NumPy's .npz files ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A zip archive of .npy files; libzip reads it.
//
//===----------------------------------------------------------------------===//
#include "npz.h"

#include <memory>
#include <zip.h>

namespace tinh::tools {

static std::unique_ptr<zip_t, void (*)(zip_t *)>
open_archive(const std::string &path, std::string *out_why) {
  int code = 0;
  zip_t *archive = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    *out_why = zip_error_strerror(&error);
    zip_error_fini(&error);
  }
  return {archive, [](zip_t *opened) { zip_discard(opened); }};
}

/// The bytes of an entry, or a reason.
static bool read_entry(zip_t *archive, uint64_t index, std::string *out_name,
                       std::string *out_bytes, std::string *out_why) {
  zip_stat_t about;
  zip_file_t *file = nullptr;
  if (zip_stat_index(archive, index, 0, &about) == 0)
    file = zip_fopen_index(archive, index, 0);
  bool is_read = false;
  if (file) {
    *out_name = about.name;
    out_bytes->resize(about.size);
    is_read = zip_fread(file, out_bytes->data(), about.size) ==
              static_cast<zip_int64_t>(about.size);
    *out_why = zip_file_strerror(file);
    zip_fclose(file);
  } else {
    *out_why = zip_strerror(archive);
  }
  return is_read;
}

bool read_npz(const std::string &path, std::map<std::string, NpyArray> *out,
              std::string *out_message) {
  std::string why;
  auto fail = [&] {
    *out_message = "cannot read '" + path + "' as an .npz file: " + why;
    return false;
  };
  auto archive = open_archive(path, &why);
  if (!archive)
    return fail();
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    std::string name, bytes;
    if (!read_entry(archive.get(), static_cast<uint64_t>(i), &name, &bytes,
                    &why))
      return fail();
    constexpr std::string_view kSuffix = ".npy";
    if (name.size() > kSuffix.size() &&
        name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) ==
            0)
      name.resize(name.size() - kSuffix.size());
    if (!parse_npy(bytes, path + ":" + name, &(*out)[name], out_message))
      return false;
  }
  return true;
}

} // namespace tinh::tools
