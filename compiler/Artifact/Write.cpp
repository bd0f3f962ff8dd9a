//===- Write.cpp - Linking artifacts and adding their weights ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Artifact/Artifact.h"

#include "compiler/Support/Files.h"
#include "tinh/safetensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <cstring>
#include <elf.h>
#include <list>

using namespace llvm;

namespace tinh::artifact {

static uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The section `name` of the linked file `bytes`; null if it has none.
static Elf64_Shdr *findSection(MutableArrayRef<char> bytes, StringRef name) {
  auto *header = reinterpret_cast<Elf64_Ehdr *>(bytes.data());
  auto *sections =
      reinterpret_cast<Elf64_Shdr *>(bytes.data() + header->e_shoff);
  const char *names = bytes.data() + sections[header->e_shstrndx].sh_offset;
  for (unsigned i = 0; i < header->e_shnum; ++i)
    if (StringRef(names + sections[i].sh_name) == name)
      return &sections[i];
  return nullptr;
}

/// Changes the note in the linked file `bytes`, where it need not be aligned.
static Error changeNote(MutableArrayRef<char> bytes,
                        function_ref<void(tinh_note_t &)> change) {
  constexpr unsigned kHeaderSize = 20; // Of an ELF note.
  char *place = nullptr;
  if (Elf64_Shdr *section = findSection(bytes, ".note.tinh"))
    place = bytes.data() + section->sh_offset + kHeaderSize;
  else if (Elf64_Shdr *section = findSection(bytes, kLinkedNote))
    place = bytes.data() + section->sh_offset;
  else
    return createStringError("internal error: the artifact has no note");
  tinh_note_t note;
  std::memcpy(&note, place, sizeof(note));
  change(note);
  std::memcpy(place, &note, sizeof(note));
  return Error::success();
}

static void digest(ArrayRef<char> weights, uint8_t (&out)[16]) {
  auto hash = BLAKE3::hash<16>(ArrayRef(
      reinterpret_cast<const uint8_t *>(weights.data()), weights.size()));
  std::memcpy(out, hash.data(), sizeof(out));
}

/// Writes the checksum of a whole file to its end, which has been left free;
/// `weights` are those within it.
static void addChecksum(MutableArrayRef<char> bytes,
                        ArrayRef<char> weights = {}) {
  MutableArrayRef<char> end = bytes.take_back(sizeof(uint64_t));
  const char *behind = weights.empty() ? end.data() : weights.end();
  const char *before = weights.empty() ? end.data() : weights.data();
  uint64_t checksum =
      tinh_checksum(TINH_CHECKSUM_START, bytes.data(), before - bytes.data());
  checksum = tinh_checksum(checksum, behind, end.data() - behind);
  std::memcpy(end.data(), &checksum, sizeof(checksum));
}

static Error copyTo(PendingFile &file, const Object &content) {
  auto bytes = file.map(content.size());
  if (!bytes)
    return bytes.takeError();
  std::memcpy(bytes->data(), content.data(), content.size());
  return Error::success();
}

/// Writes the linked file with a further section, ".tinh.weights", which is
/// filled in place: behind it come a new table of section names and a new table
/// of sections.
static Error writeEmbedded(PendingFile &file, Object &linked,
                           const Contents &contents, FillWeights fillWeights) {
  static const char kName[] = ".tinh.weights";
  Elf64_Ehdr header;
  std::memcpy(&header, linked.data(), sizeof(header));
  auto *first =
      reinterpret_cast<const Elf64_Shdr *>(linked.data() + header.e_shoff);
  std::vector<Elf64_Shdr> sections(first, first + header.e_shnum);
  Elf64_Shdr &table = sections[header.e_shstrndx];
  std::string names(linked.data() + table.sh_offset, table.sh_size);

  Elf64_Shdr weights = {};
  weights.sh_name = names.size();
  names.append(kName, sizeof(kName));
  weights.sh_type = SHT_PROGBITS;
  weights.sh_offset = alignUp(linked.size(), TINH_WEIGHTS_FILE_ALIGNMENT);
  weights.sh_size = contents.weightsSize;
  weights.sh_addralign = TINH_WEIGHTS_FILE_ALIGNMENT;
  table.sh_offset = weights.sh_offset + weights.sh_size;
  table.sh_size = names.size();
  header.e_shoff = alignUp(table.sh_offset + table.sh_size, 8);
  sections.push_back(weights);
  header.e_shnum = sections.size();
  uint64_t total =
      header.e_shoff + sections.size() * sizeof(Elf64_Shdr) + sizeof(uint64_t);

  auto bytes = file.map(total);
  if (!bytes)
    return bytes.takeError();
  std::memcpy(bytes->data(), linked.data(), linked.size());
  std::memcpy(bytes->data(), &header, sizeof(header));
  const Elf64_Shdr &moved = sections[header.e_shstrndx];
  std::memcpy(bytes->data() + moved.sh_offset, names.data(), names.size());
  std::memcpy(bytes->data() + header.e_shoff, sections.data(),
              sections.size() * sizeof(Elf64_Shdr));
  auto memory = bytes->slice(weights.sh_offset, weights.sh_size);
  if (Error error = fillWeights(memory))
    return error;
  if (Error error =
          changeNote(bytes->take_front(linked.size()), [&](tinh_note_t &note) {
            note.file_size = total;
            note.weights_offset = weights.sh_offset;
            digest(memory, note.weights_digest);
          }))
    return error;
  addChecksum(*bytes, memory);
  return Error::success();
}

/// Writes the object file with the weights at its end, as the content of their
/// section.
static Error writeEmbeddedInObject(PendingFile &file, Object &linked,
                                   const Contents &contents,
                                   FillWeights fillWeights) {
  uint64_t begin = alignUp(linked.size(), TINH_WEIGHTS_FILE_ALIGNMENT);
  if (contents.weightsSize == 0)
    return copyTo(file, linked);
  Elf64_Shdr *section = findSection(linked, kLinkedWeights);
  if (!section)
    return createStringError(
        "internal error: the object has no section of weights");
  section->sh_offset = begin;
  section->sh_size = contents.weightsSize;
  auto bytes = file.map(begin + contents.weightsSize);
  if (!bytes)
    return bytes.takeError();
  std::memcpy(bytes->data(), linked.data(), linked.size());
  auto memory = bytes->drop_front(begin);
  if (Error error = fillWeights(memory))
    return error;
  return changeNote(bytes->take_front(linked.size()), [&](tinh_note_t &note) {
    digest(memory, note.weights_digest);
  });
}

static constexpr StringLiteral kCompanionExtension = ".safetensors";

/// The metadata that ties a companion to its artifact.
static constexpr StringLiteral kDigestKey = "tinh.digest";

/// The header of the .safetensors file; as long whatever the digest.
static Expected<std::string> safetensorsHeader(const Contents &contents,
                                               const std::string &hexDigest) {
  std::vector<tinh_safetensors_tensor_t> tensors;
  std::list<std::pair<std::string, int64_t>> gaps; // Their names and sizes.
  uint64_t end = 0;
  for (const Tensor &tensor : contents.weights) {
    if (tensor.offset > end) { // The format allows no gaps.
      auto &[name, size] = gaps.emplace_back("__padding." + std::to_string(end),
                                             tensor.offset - end);
      tensors.push_back({{name.c_str(), TINH_DTYPE_U8, 1, &size,
                          static_cast<uint64_t>(size), nullptr},
                         nullptr,
                         0});
    }
    end = tensor.offset + tensor.size;
    tensors.push_back({{tensor.name.c_str(), tensor.dtype,
                        static_cast<uint32_t>(tensor.dims.size()),
                        tensor.dims.data(), tensor.size, nullptr},
                       nullptr,
                       0});
  }
  tinh_metadata_t metadata = {kDigestKey.data(), hexDigest.c_str()};
  std::string header;
  auto make = [&](size_t &size) {
    return tinh_safetensors_header(tensors.data(), tensors.size(), &metadata, 1,
                                   TINH_WEIGHTS_FILE_ALIGNMENT, header.data(),
                                   header.size(), &size) == TINH_OK;
  };
  size_t size = 0;
  if (!make(size))
    return createStringError(tinh_last_error());
  header.resize(size);
  make(size);
  return header;
}

static Error writeCompanion(PendingFile &file, const Contents &contents,
                            FillWeights fillWeights, tinh_note_t &note) {
  // The digest has a fixed width, so the header's size is known before it.
  auto header = safetensorsHeader(contents, std::string(32, '0'));
  if (!header)
    return header.takeError();
  auto bytes = file.map(header->size() + contents.weightsSize);
  if (!bytes)
    return bytes.takeError();
  MutableArrayRef<char> memory = bytes->drop_front(header->size());
  if (Error error = fillWeights(memory))
    return error;
  digest(memory, note.weights_digest);
  header = safetensorsHeader(
      contents, toHex(ArrayRef<uint8_t>(note.weights_digest), true));
  if (!header)
    return header.takeError();
  std::memcpy(bytes->data(), header->data(), header->size());
  note.weights_offset = header->size();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

/// Fails if `path` is a file of something else than our weights, such as the
/// model's own .safetensors of the same name.
static Error checkReplaceable(StringRef path) {
  auto size = MemoryBuffer::getFileSlice(path, 8, 0);
  if (!size || (*size)->getBufferSize() != 8)
    return Error::success(); // Not there, or too short to hold anything.
  uint64_t length = support::endian::read64le((*size)->getBufferStart());
  constexpr uint64_t kStart = 64; // Our header starts with the digest.
  auto header = MemoryBuffer::getFileSlice(path, std::min(length, kStart), 8);
  if (header && (*header)->getBuffer().contains(kDigestKey))
    return Error::success();
  return writeError(path, "it is there and holds no weights of an artifact; "
                          "remove it or choose another name for the output");
}

/// Writes and keeps the linked file, and the weights beside it as `companion`.
static Error writeExternal(PendingFile &file, Object &linked,
                           const Contents &contents, StringRef companion,
                           FillWeights fillWeights, unsigned permissions) {
  StringRef name = sys::path::filename(companion);
  constexpr size_t kMostBytes = sizeof(tinh_note_t::weights_file) - 1;
  if (name.size() > kMostBytes)
    return createStringError("the name '" + name + "' is too long: at most " +
                             Twine(kMostBytes) +
                             " bytes for a file of weights");
  auto weights = PendingFile::create(companion);
  if (!weights)
    return weights.takeError();
  if (Error error = checkReplaceable(companion))
    return error;
  linked.resize(linked.size() + sizeof(uint64_t));
  tinh_note_t written = {};
  if (Error error = writeCompanion(*weights, contents, fillWeights, written))
    return error;
  if (Error error = changeNote(linked, [&](tinh_note_t &note) {
        std::copy(std::begin(written.weights_digest),
                  std::end(written.weights_digest), note.weights_digest);
        note.weights_offset = written.weights_offset;
        note.weights_embedded = 0;
        note.file_size = linked.size();
        std::memcpy(note.weights_file, name.data(), name.size());
      }))
    return error;
  addChecksum(linked);
  if (Error error = copyTo(file, linked))
    return error;
  // Nothing that takes time may come between the two: what ends the compiler
  // there leaves a pair that does not belong together, which loading refuses.
  if (Error error = weights->keep(0666))
    return error;
  return file.keep(permissions);
}

static Expected<Object> linkAll(const Contents &contents,
                                ArrayRef<Object> kernels,
                                TargetMachine &machine,
                                const WriteOptions &options) {
  auto descriptor = makeDescriptor(contents, machine, options);
  if (!descriptor)
    return descriptor.takeError();
  return link(kernels, *descriptor, options.linkage);
}

Error write(const Contents &contents, ArrayRef<Object> kernels,
            TargetMachine &machine, StringRef path, FillWeights fillWeights,
            WriteOptions options) {
  options.externalWeights &= contents.weightsSize > 0;
  bool shared = options.linkage == Linkage::Shared;
  SmallString<128> companion(path);
  sys::path::replace_extension(companion, kCompanionExtension);
  if (options.externalWeights && companion == path)
    return writeError(path, "its external weights would have the same name; "
                            "call it otherwise, such as " +
                                Twine(sys::path::stem(path)) +
                                (shared ? ".so" : ".o"));
  auto file = PendingFile::create(path);
  if (!file)
    return file.takeError();
  auto linked = linkAll(contents, kernels, machine, options);
  if (!linked)
    return linked.takeError();
  unsigned permissions = shared ? 0777 : 0666;
  if (options.externalWeights)
    return writeExternal(*file, *linked, contents, companion, fillWeights,
                         permissions);
  if (Error error =
          shared ? writeEmbedded(*file, *linked, contents, fillWeights)
                 : writeEmbeddedInObject(*file, *linked, contents, fillWeights))
    return error;
  return file->keep(permissions);
}

Expected<MemoryFile> writeToMemory(const Contents &contents,
                                   ArrayRef<Object> kernels,
                                   TargetMachine &machine) {
  auto linked = linkAll(contents, kernels, machine, {});
  if (!linked)
    return linked.takeError();
  linked->resize(linked->size() + sizeof(uint64_t));
  if (Error error = changeNote(
          *linked, [&](tinh_note_t &note) { note.file_size = linked->size(); }))
    return error;
  addChecksum(*linked);
  return MemoryFile::create({linked->data(), linked->size()});
}

} // namespace tinh::artifact
