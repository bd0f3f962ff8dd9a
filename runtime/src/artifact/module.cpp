//===- module.cpp - A loaded artifact ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the note, maps the weights, opens the library, and has its descriptor
// checked; what is linked into the program is there already.
//
//===----------------------------------------------------------------------===//
#include "artifact/module.h"

#include "artifact/blake3.h"
#include "artifact/check_artifact.h"
#include "artifact/elf_note.h"
#include "files/tensor_file.h"
#include "support/error.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <span>

namespace tinh::runtime {

static std::string hexadecimal(std::span<const uint8_t> digest) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

static uint64_t checksum(const void *data, size_t size) {
  return tinh_checksum(TINH_CHECKSUM_START, data, size);
}

static std::string companion_path(const std::string &artifact,
                                  const tinh_note_t &note) {
  std::string name = note.weights_file;
  if (name.empty() || name.find('/') != std::string::npos)
    throw_error(TINH_INVALID_ARTIFACT,
                {"cannot load '", artifact, "': its Tinh note is damaged"});
  size_t slash = artifact.rfind('/');
  return slash == std::string::npos ? name
                                    : artifact.substr(0, slash + 1) + name;
}

/// Maps the weights of the companion .safetensors file at `path`, whose
/// metadata has their digest. `what` names the artifact.
static MappedMemory map_companion(const std::string &what,
                                  const std::string &path,
                                  const tinh_note_t &note) {
  auto fail = [&](const std::string &why) {
    throw_error(
        TINH_INVALID_ARTIFACT,
        {"cannot load ", what, ": its weights file '", path, "' ", why});
  };
  std::optional<TensorFile> file;
  try {
    file.emplace(path, "the weights file");
  } catch (const Error &error) {
    if (error.status() != TINH_INVALID_FILE)
      throw;
    fail(message_of(
        {"is truncated, damaged or of another model: ", error.what()}));
  }
  const std::string *digest = file->find_metadata("tinh.digest");
  if (!digest || *digest != hexadecimal(note.weights_digest))
    fail("does not belong to it: the digests differ; compile the model again "
         "or put the matching file beside it");
  if (file->data_offset() != note.weights_offset ||
      file->data_size() != note.weights_size)
    fail("is damaged: it has another size than the artifact's");
  return std::move(*file).take_data();
}

Module::Module(const std::string &path) {
  File file(path, "the artifact");
  note = read_note(file, path);
  if (note.weights_embedded || note.weights_size == 0) {
    weights_place = path;
    mapped_weights = MappedMemory::of_file(file, note.weights_offset,
                                           note.weights_size, path);
  } else {
    weights_place = companion_path(path, note);
    mapped_weights = map_companion('\'' + path + '\'', weights_place, note);
  }
  weights_data = mapped_weights.data();
  // Without a slash dlopen would search the library path.
  std::string file_name =
      path.find('/') == std::string::npos ? "./" + path : path;
  library.reset(dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library)
    throw_error(TINH_INVALID_ARTIFACT,
                {"cannot load '", path, "': ", dlerror()});
  // Of a path that is loaded already, dlopen does not look at the file again.
  std::string notes = notes_of(file, path);
  if (notes_of(library.get()) != notes)
    throw_error(TINH_INVALID_ARTIFACT,
                {"cannot load '", path,
                 "': another artifact was loaded from this path, and is "
                 "still in use; release its module first, or give the new "
                 "one another path"});
  digest = checksum(notes.data(), notes.size());
  descriptor = static_cast<const tinh_artifact_t *>(
      dlsym(library.get(), TINH_ARTIFACT_SYMBOL));
  std::string wrong;
  if (!descriptor || descriptor->version != TINH_ARTIFACT_VERSION ||
      descriptor->weights_size != note.weights_size ||
      !valid_artifact(*descriptor, &wrong))
    throw_error(TINH_INVALID_ARTIFACT,
                {"cannot load '", path, "': its description '",
                 TINH_ARTIFACT_SYMBOL, "' is missing or damaged",
                 wrong.empty() ? "" : ": ", wrong});
}

Module::Module(const tinh_model_t &model, const char *weights_path)
    : note(*model.note), descriptor(model.artifact) {
  digest = checksum(&note, sizeof note);
  // What another version's structures mean is unknown: no name before this.
  check_compatible(note, "a model that is linked into the program");
  std::string wrong;
  if (descriptor->version != TINH_ARTIFACT_VERSION ||
      descriptor->weights_size != note.weights_size ||
      !valid_artifact(*descriptor, &wrong))
    throw_error(TINH_INVALID_ARTIFACT,
                {"cannot load a model that is linked into the program: its "
                 "description is damaged",
                 wrong.empty() ? "" : ": ", wrong});
  if (note.weights_embedded || note.weights_size == 0) {
    weights_place = "the program";
    // They are only read.
    weights_data = static_cast<char *>(const_cast<void *>(model.weights));
    return;
  }
  std::string what =
      std::string("the model '") + descriptor->model + "' in the program";
  if (!weights_path)
    throw_error(TINH_INVALID_ARGUMENT,
                {"cannot load ", what,
                 ": its weights are external; give the path of '",
                 note.weights_file, "'"});
  weights_place = weights_path;
  mapped_weights = map_companion(what, weights_path, note);
  weights_data = mapped_weights.data();
}

Module::Module(const std::shared_ptr<const Module> &other,
               const tinh_artifact_t &description, char *weights)
    : note(other->note), digest(other->digest), loaded_by(other),
      weights_data(weights), descriptor(&description) {}

std::shared_ptr<const Module>
Module::without_gpu(const std::shared_ptr<const Module> &module) {
  return std::shared_ptr<const Module>(new Module(
      module, *module->descriptor->without_gpu, module->weights_data));
}

void Module::verify_weights() const {
  if (!has_digest)
    throw_error(
        TINH_INVALID_ARGUMENT,
        {"the module has weights that were loaded from a file, of which "
         "no digest is known; verify those of the artifact"});
  std::array<uint8_t, 16> found = blake3(weights_data, note.weights_size);
  if (!std::ranges::equal(found, note.weights_digest))
    throw_error(TINH_INVALID_ARTIFACT,
                {"the weights in '", weights_place,
                 "' have changed since they were written: their digest is ",
                 hexadecimal(found), ", not ", hexadecimal(note.weights_digest),
                 "; copy the file or compile the model again"});
}

void Module::Close::operator()(void *handle) const { dlclose(handle); }

/// Item `index` of `count`; throws INVALID_ARGUMENT if there is no such.
template <typename Item>
static const Item &item(const Item *items, uint32_t count, uint32_t index,
                        const char *kind) {
  if (index >= count)
    throw_error(TINH_INVALID_ARGUMENT,
                {"there is no ", kind, " ", index, "; the module has ", count});
  return items[index];
}

const tinh_function_desc_t &Module::function(uint32_t index) const {
  return item(descriptor->functions, descriptor->num_functions, index,
              "function");
}

const tinh_variable_desc_t &Module::variable(uint32_t index) const {
  return item(descriptor->variables, descriptor->num_variables, index,
              "variable");
}

} // namespace tinh::runtime
