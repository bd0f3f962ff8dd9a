//===- Diagnostics.cpp - Messages for people --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Diagnostics.h"

#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/ResourceLimits.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <unistd.h>

using namespace mlir;

namespace tinh {

static const char *severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  return "note";
}

std::string escapeControls(StringRef text) {
  std::string shown;
  llvm::raw_string_ostream os(shown);
  const auto *at = text.bytes_begin(), *end = text.bytes_end();
  while (at != end) {
    const llvm::UTF8 *next = at;
    llvm::UTF32 code = 0;
    bool isText =
        llvm::convertUTF8Sequence(&next, end, &code, llvm::strictConversion) ==
        llvm::conversionOK;
    if (!isText) {
      os << "\\x" << llvm::format_hex_no_prefix(*at++, 2);
      continue;
    }
    if (code == '\n' || llvm::sys::unicode::isPrintable(code))
      os << StringRef(reinterpret_cast<const char *>(at), next - at);
    else if (code < 0x80)
      os << "\\x" << llvm::format_hex_no_prefix(code, 2);
    else
      os << "\\u{" << llvm::format_hex_no_prefix(code, 4) << "}";
    at = next;
  }
  return shown;
}

std::string formatDiagnostic(const Diagnostic &diagnostic,
                             StringRef modelFile) {
  FileLineColLoc file;
  StringAttr node;
  diagnostic.getLocation()->walk([&](Location inner) {
    if (auto found = dyn_cast<FileLineColLoc>(inner); found && !file)
      file = found;
    if (auto found = dyn_cast<NameLoc>(inner); found && !node)
      node = found.getName();
    return WalkResult::advance();
  });
  std::string message;
  llvm::raw_string_ostream os(message);
  if (file) {
    os << file.getFilename().getValue();
    if (file.getLine())
      os << ':' << file.getLine() << ':' << file.getColumn();
    os << ": ";
  } else if (node && !modelFile.empty()) {
    os << modelFile << ": ";
  }
  std::string words = diagnostic.str();
  StringRef text = words;
  if (text.consume_front(kInternalError))
    os << kInternalError;
  else
    os << severityName(diagnostic.getSeverity()) << ": ";
  // Messages that name their node need no second name for it.
  if (node && !text.contains(node.getValue()))
    os << "node '" << node.getValue() << "': ";
  os << text;
  for (const Diagnostic &note : diagnostic.getNotes())
    os << '\n' << formatDiagnostic(note);
  return escapeControls(message);
}

void emitNote(Location location, const Twine &text) {
  // MLIR's own functions have notes as parts of errors only.
  Diagnostic note(location, DiagnosticSeverity::Note);
  note << text;
  location.getContext()->getDiagEngine().emit(std::move(note));
}

void reportExhaustedMemory() {
  static const double allowed = static_cast<double>(availableMemory()) / 1e6;
  // Nothing here may want memory.
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    char message[256];
    int length = std::snprintf(
        message, sizeof message,
        "error: out of memory: the process has %.0f MB, and the machine, its "
        "cgroups and ulimit allow %.0f MB; allow more, or give the model "
        "smaller shapes\n",
        static_cast<double>(ownMemory()) / 1e6, allowed);
    [[maybe_unused]] ssize_t size = ::write(STDERR_FILENO, message, length);
    llvm::sys::RunInterruptHandlers(); // Removes unfinished files.
    ::_exit(1);
  });
  llvm::install_out_of_memory_new_handler();
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context, StringRef modelFile)
    : ScopedDiagnosticHandler(context) {
  context->printOpOnDiagnostic(false);
  setHandler([modelFile = modelFile.str()](Diagnostic &diagnostic) {
    llvm::errs() << formatDiagnostic(diagnostic, modelFile) << '\n';
    return success();
  });
}

} // namespace tinh
