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
#include "module.h"

#include "check_artifact.h"
#include "elf_note.h"
#include "error.h"

#include <cstring>
#include <dlfcn.h>

namespace tinh::runtime {

/// The longest header of a companion file that is believed.
static constexpr uint64_t kMaxSafetensorsHeader = 100u << 20;

static std::string hexadecimal(const uint8_t (&digest)[16]) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

static std::string companion_path(const std::string &artifact,
                                  const tinh_note_t &note) {
  std::string name = note.weights_file;
  if (name.empty() || name.find('/') != std::string::npos)
    throw Error(TINH_INVALID_ARTIFACT,
                "cannot load '" + artifact + "': its Tinh note is damaged");
  size_t slash = artifact.rfind('/');
  return slash == std::string::npos ? name
                                    : artifact.substr(0, slash + 1) + name;
}

/// Maps the weights of the companion .safetensors file at `path`: 8 bytes of
/// header length, a JSON header that carries the digest, and the weights as its
/// only data. `what` names the artifact.
static MappedMemory map_companion(const std::string &what,
                                  const std::string &path,
                                  const tinh_note_t &note) {
  File file(path, "the weights file");
  auto fail = [&](const char *why) {
    throw Error(TINH_INVALID_ARTIFACT, "cannot load " + what +
                                           ": its weights file '" + path +
                                           "' " + why);
  };
  uint64_t header_size = 0;
  if (!file.read_at(0, &header_size, sizeof header_size) ||
      header_size > kMaxSafetensorsHeader ||
      header_size + 8 != note.weights_offset ||
      note.weights_offset > file.size() ||
      note.weights_size != file.size() - note.weights_offset)
    fail("is truncated, damaged or of another model");
  std::string header(header_size, '\0');
  if (!file.read_at(8, header.data(), header.size()))
    fail("cannot be read");
  std::string digest = hexadecimal(note.weights_digest);
  if (header.find("\"tinh.digest\"") == std::string::npos ||
      header.find('"' + digest + '"') == std::string::npos)
    fail("does not belong to it: the digests differ; compile the model again "
         "or put the matching file beside it");
  return MappedMemory::of_file(file, note.weights_offset, note.weights_size,
                               path);
}

Module::Module(const std::string &path) {
  File file(path, "the artifact");
  note = read_note(file, path);
  mapped_weights =
      note.weights_embedded || note.weights_size == 0
          ? MappedMemory::of_file(file, note.weights_offset, note.weights_size,
                                  path)
          : map_companion('\'' + path + '\'', companion_path(path, note), note);
  weights_data = mapped_weights.data();
  // Without a slash dlopen would search the library path.
  std::string file_name =
      path.find('/') == std::string::npos ? "./" + path : path;
  library = dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(TINH_INVALID_ARTIFACT,
                "cannot load '" + path + "': " + dlerror());
  descriptor = static_cast<const tinh_artifact_t *>(
      dlsym(library, TINH_ARTIFACT_SYMBOL));
  if (!descriptor || descriptor->version != TINH_ARTIFACT_VERSION ||
      descriptor->weights_size != note.weights_size ||
      !valid_artifact(*descriptor)) {
    dlclose(library);
    throw Error(TINH_INVALID_ARTIFACT,
                "cannot load '" + path + "': its description '" +
                    TINH_ARTIFACT_SYMBOL + "' is missing or damaged");
  }
}

Module::Module(const tinh_model_t &model, const char *weights_path)
    : note(*model.note), descriptor(model.artifact) {
  // What another version's structures mean is unknown: no name before this.
  check_compatible(note, "a model that is linked into the program");
  if (descriptor->version != TINH_ARTIFACT_VERSION ||
      descriptor->weights_size != note.weights_size ||
      !valid_artifact(*descriptor))
    throw Error(TINH_INVALID_ARTIFACT,
                "cannot load a model that is linked into the program: its "
                "description is damaged");
  if (note.weights_embedded || note.weights_size == 0) {
    // They are only read.
    weights_data = static_cast<char *>(const_cast<void *>(model.weights));
    return;
  }
  std::string what =
      std::string("the model '") + descriptor->model + "' in the program";
  if (!weights_path)
    throw Error(TINH_INVALID_ARGUMENT,
                "cannot load " + what +
                    ": its weights are external; give the path of '" +
                    note.weights_file + "'");
  mapped_weights = map_companion(what, weights_path, note);
  weights_data = mapped_weights.data();
}

Module::~Module() {
  if (library)
    dlclose(library);
}

const tinh_function_desc_t &Module::function(uint32_t index) const {
  if (index >= descriptor->num_functions)
    throw Error(TINH_INVALID_ARGUMENT,
                "there is no function " + std::to_string(index) +
                    "; the module has " +
                    std::to_string(descriptor->num_functions));
  return descriptor->functions[index];
}

} // namespace tinh::runtime
