//===- elf_note.h - An artifact's note, read before loading it --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that must be known of an artifact before dlopen may touch it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_ELF_NOTE_H
#define TINH_RUNTIME_ELF_NOTE_H

#include "files/mapped_memory.h"
#include "tinh/artifact.h"

namespace tinh::runtime {

/// Reads the note of the artifact `file`, checks that every piece that a loader
/// or this runtime will map lies within the file, and that version and CPU fit.
/// Throws INVALID_ARTIFACT or INCOMPATIBLE with a message that names `path`.
tinh_note_t read_note(const File &file, const std::string &path);

/// All notes of the artifact `file`, which read_note has accepted. The build
/// ID, a digest of the code, is among them.
std::string notes_of(const File &file, const std::string &path);

/// Those of a library that dlopen has given, from memory.
std::string notes_of(void *library);

/// Throws INCOMPATIBLE unless this runtime has the note's version, and this
/// machine what the code needs; `what` names the artifact.
void check_compatible(const tinh_note_t &note, const std::string &what);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_ELF_NOTE_H
