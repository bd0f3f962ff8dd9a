//===- Teacher.cpp - A model that another one learns from -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/Teacher.h"

#include "compiler/Nn/OptionReader.h"
#include "compiler/Pipelines/Compile.h"
#include "dialects/graph/Graph.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;

namespace tinh::training {

func::FuncOp Teacher::main() {
  return module->lookupSymbol<func::FuncOp>(graph::names::kMain);
}

//===----------------------------------------------------------------------===//
// What fits
//===----------------------------------------------------------------------===//

/// The arguments that are inputs, not variables.
static SmallVector<unsigned> inputsOf(func::FuncOp main) {
  SmallVector<unsigned> inputs;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (main.getArgAttr(i, graph::names::kName))
      inputs.push_back(i);
  return inputs;
}

std::optional<unsigned> studentArgument(func::FuncOp teacher, unsigned index,
                                        func::FuncOp student) {
  SmallVector<unsigned> inputs = inputsOf(student);
  Attribute name = teacher.getArgAttr(index, graph::names::kName);
  for (unsigned i : inputs)
    if (student.getArgAttr(i, graph::names::kName) == name)
      return i;
  if (teacher.getNumArguments() == 1 && inputs.size() == 1)
    return inputs[0];
  return std::nullopt;
}

static LogicalResult checkFits(func::FuncOp teacher, func::FuncOp student) {
  for (unsigned i = 0; i < teacher.getNumArguments(); ++i) {
    auto name = teacher.getArgAttrOfType<StringAttr>(i, graph::names::kName);
    std::optional<unsigned> of = studentArgument(teacher, i, student);
    if (!of)
      return student.emitError() << "the teacher takes " << name
                                 << ", and the model has no such input";
    Type given = student.getArgumentTypes()[*of],
         wanted = teacher.getArgumentTypes()[i];
    if (given != wanted)
      return student.emitError() << "the teacher takes " << name << " as "
                                 << wanted << ", and the model as " << given
                                 << "; export both for one batch size";
  }
  ArrayRef<Type> outputs = teacher.getResultTypes();
  if (outputs.empty() || outputs[0] != student.getResultTypes()[0])
    return student.emitError()
           << "the teacher's first output is "
           << (outputs.empty() ? Type() : outputs[0]) << ", and the model's "
           << student.getResultTypes()[0];
  return success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Constants in files lie beside the teacher, not beside the model.
static void nameFilesInFull(ModuleOp module, StringRef path) {
  SmallString<256> directory(path);
  llvm::sys::fs::make_absolute(directory);
  llvm::sys::path::remove_filename(directory);
  module.walk([&](graph::ConstantOp op) {
    auto file = dyn_cast<graph::ExternalAttr>(op.getValue());
    if (!file)
      return;
    SmallString<256> full(directory);
    llvm::sys::path::append(full, file.getFile());
    op.setValueAttr(graph::ExternalAttr::get(
        op.getContext(), cast<RankedTensorType>(op.getType()), full.str(),
        file.getOffset(), file.getSize()));
  });
}

FailureOr<Teacher> readTeacher(const std::string &text, func::FuncOp student) {
  auto [path, rest] = StringRef(text).split(',');
  eager::Call call{"--distill", At{}};
  Options options = parse_options(rest.str(), At{});
  nn::OptionReader reader("--distill", options, call);
  Teacher teacher{
      {}, reader.number("temperature", 4), reader.number("weight", 0.5)};
  reader.finish();
  if (!(teacher.temperature > 0 && std::isfinite(teacher.temperature)))
    return student.emitError()
           << "the teacher's temperature is " << teacher.temperature
           << "; it must be a number above 0";
  if (!(teacher.weight > 0 && teacher.weight <= 1))
    return student.emitError()
           << "the weight of the teacher is " << teacher.weight
           << "; it must be above 0 and at most 1";
  teacher.module = readModel(path, {}, Phase::Graph, *student.getContext());
  CompileReport report;
  if (!teacher.module)
    return failure();
  nameFilesInFull(*teacher.module, path);
  if (failed(runPhases(*teacher.module, Phase::Graph, Phase::Normalised, {},
                       report)) ||
      failed(checkFits(teacher.main(), student)))
    return failure();
  return std::move(teacher);
}

} // namespace tinh::training
