//===- Toolkit.cpp - The programs of the CUDA toolkit -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Toolkit.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace llvm;

namespace tinh::cuda {

/// The first of these folders that exists.
static std::string findRoot(StringRef path) {
  if (!path.empty())
    return path.str();
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(name); value && *value)
      return value;
  return "/usr/local/cuda";
}

Expected<Toolkit> findToolkit(StringRef path) {
  std::string root = findRoot(path);
  Toolkit toolkit{root + "/bin/ptxas", root + "/bin/fatbinary",
                  root + "/nvvm/libdevice/libdevice.10.bc"};
  for (const std::string *file :
       {&toolkit.ptxas, &toolkit.fatbinary, &toolkit.libdevice})
    if (!sys::fs::exists(*file))
      return createStringError(
          "the CUDA toolkit, version 13 or later, is needed to compile for "
          "GPUs: there is no '" +
          *file +
          "'; name the toolkit's folder by --cuda-path or the environment "
          "variable CUDA_HOME");
  return toolkit;
}

std::string Toolkit::identity() const {
  std::string text;
  for (const std::string *file : {&ptxas, &libdevice}) {
    sys::fs::file_status status;
    if (!sys::fs::status(*file, status))
      text += *file + " " + std::to_string(status.getSize()) + " " +
              std::to_string(sys::toTimeT(status.getLastModificationTime())) +
              "\n";
  }
  return text;
}

namespace {

/// A folder for the files of one call of a program, removed with them.
class WorkFolder {
public:
  static Expected<WorkFolder> create() {
    WorkFolder folder;
    if (auto error = sys::fs::createUniqueDirectory("tinh-cuda", folder.path))
      return createStringError(error,
                               "cannot make a folder for temporary files");
    return folder;
  }
  WorkFolder(WorkFolder &&other) { std::swap(path, other.path); }
  ~WorkFolder() {
    if (!path.empty())
      sys::fs::remove_directories(path);
  }

  std::string file(const Twine &name) const {
    return (path + "/" + name).str();
  }

  Error write(const Twine &name, StringRef bytes) const {
    std::error_code error;
    raw_fd_ostream stream(file(name), error);
    if (!error) {
      stream << bytes;
      stream.flush();
      error = stream.error();
      stream.clear_error();
    }
    return error ? createStringError(error, "cannot write '" + file(name) + "'")
                 : Error::success();
  }

  Expected<std::string> read(const Twine &name) const {
    auto buffer = MemoryBuffer::getFile(file(name));
    if (!buffer)
      return createStringError(buffer.getError(),
                               "cannot read '" + file(name) + "'");
    return (*buffer)->getBuffer().str();
  }

private:
  WorkFolder() = default;
  SmallString<128> path;
};

} // namespace

/// Runs a program with these arguments; fails with what it has printed.
static Error run(const WorkFolder &folder, StringRef program,
                 ArrayRef<std::string> arguments) {
  SmallVector<StringRef> list{program};
  list.append(arguments.begin(), arguments.end());
  std::string log = folder.file("log"), message;
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log),
                                          StringRef(log)};
  int code = sys::ExecuteAndWait(program, list, std::nullopt, redirects, 0, 0,
                                 &message);
  if (code == 0)
    return Error::success();
  auto printed = folder.read("log");
  if (printed)
    message += *printed;
  else
    consumeError(printed.takeError());
  return createStringError("'" + program +
                           "' failed: " + StringRef(message).trim());
}

Error assemble(const Toolkit &toolkit, ChipCode &code) {
  if (code.staysPtx())
    return Error::success();
  auto folder = WorkFolder::create();
  if (!folder)
    return folder.takeError();
  if (Error error = folder->write("kernel.ptx", code.bytes))
    return error;
  if (Error error =
          run(*folder, toolkit.ptxas,
              {"-arch=" + code.chip, "-O3", folder->file("kernel.ptx"), "-o",
               folder->file("kernel.cubin")}))
    return error;
  auto bytes = folder->read("kernel.cubin");
  if (!bytes)
    return bytes.takeError();
  code.bytes = std::move(*bytes);
  return Error::success();
}

Expected<SmallVector<char, 0>> makeFatBinary(const Toolkit &toolkit,
                                             ArrayRef<ChipCode> codes) {
  auto folder = WorkFolder::create();
  if (!folder)
    return folder.takeError();
  std::vector<std::string> arguments{"-64", "--compress-all",
                                     "--create=" + folder->file("fatbin")};
  for (const ChipCode &code : codes) {
    if (Error error = folder->write(code.chip, code.bytes))
      return error;
    StringRef number = StringRef(code.chip).split('_').second;
    std::string kind = code.staysPtx() ? "ptx" : "elf";
    arguments.push_back("--image3=kind=" + kind + ",sm=" + number.str() +
                        ",file=" + folder->file(code.chip));
  }
  if (Error error = run(*folder, toolkit.fatbinary, arguments))
    return error;
  auto bytes = folder->read("fatbin");
  if (!bytes)
    return bytes.takeError();
  return SmallVector<char, 0>(bytes->begin(), bytes->end());
}

} // namespace tinh::cuda
