//===- Save.cpp - Traced graphs as files ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/FunctionImpl.h"
#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh::eager {

static void check(llvm::Error error) {
  if (error)
    throw Error(TINH_IO_ERROR, llvm::toString(std::move(error)));
}

namespace {

/// Turns captured tensors that the function does not change into constants:
/// small ones in the graph, others in a file.
class CapturedConstants {
public:
  CapturedConstants(TracedGraph &graph, const StateDict &names, ModuleOp module)
      : graph(graph), names(names),
        main(module.lookupSymbol<func::FuncOp>(graph::names::kMain)) {}

  /// `reference` is what the graph calls the file at `path`, which is written
  /// if it is needed.
  void place(const std::string &path, StringRef reference) {
    for (size_t i = 0; i < graph.captured.size(); ++i)
      if (graph.captured[i] && !llvm::is_contained(graph.changed, i))
        placeOne(i, reference);
    for (size_t i = graph.captured.size(); i-- > 0;)
      if (graph.captured[i] && !llvm::is_contained(graph.changed, i))
        (void)main.eraseArgument(i);
    if (!bytes.empty())
      write(path);
  }

private:
  void placeOne(size_t index, StringRef reference) {
    Tensor tensor = TensorAccess::share(*graph.captured[index]).contiguous();
    auto type = cast<RankedTensorType>(main.getArgumentTypes()[index]);
    std::vector<char> content(static_cast<size_t>(graph::tensorSize(type)));
    tensor.copy_to(content.data());
    TypedAttr value;
    if (content.size() <= kMaxInlineBytes) {
      value = denseFromBytes(type, content);
    } else {
      bytes.resize((bytes.size() + 63) / 64 * 64);
      value = graph::ExternalAttr::get(type.getContext(), type, reference,
                                       bytes.size(), content.size());
      bytes.insert(bytes.end(), content.begin(), content.end());
    }
    OpBuilder b = OpBuilder::atBlockBegin(&main.front());
    Value constant =
        graph::ConstantOp::create(b, locationOf(tensor), type, value);
    main.getArgument(index).replaceAllUsesWith(constant);
  }

  /// The name that the caller has given, if it has.
  Location locationOf(const Tensor &tensor) {
    for (const NamedTensor &entry : names)
      if (entry.tensor.shares_memory_with(tensor) &&
          entry.tensor.shape() == tensor.shape())
        return NameLoc::get(StringAttr::get(main.getContext(), entry.name));
    return main.getLoc();
  }

  void write(const std::string &path) {
    auto file = PendingFile::create(path);
    check(file.takeError());
    auto memory = file->map(bytes.size());
    check(memory.takeError());
    std::copy(bytes.begin(), bytes.end(), memory->begin());
    check(file->keep(0666));
  }

  TracedGraph &graph;
  const StateDict &names;
  func::FuncOp main;
  std::vector<char> bytes;
};

} // namespace

void saveGraph(TracedGraph &graph, const FunctionOptions &options,
               const std::string &path) {
  const std::string &name = options.name;
  StringRef ending = llvm::sys::path::extension(path);
  CapturedConstants constants(graph, options.captured, *graph.module);
  if (ending == ".mlir" || ending == ".mlirbc") {
    constants.place(path + ".data",
                    llvm::sys::path::filename(path).str() + ".data");
    if (failed(writeModule(*graph.module, path)))
      graph.context.fail("function '" + name + "' cannot be saved:");
    return;
  }
  ScratchFile weights("tinh-weights");
  constants.place(weights.name, weights.name);
  LogicalResult written = success();
  if (ending == ".so")
    compileToFile(*graph.module, graph.context, name, path);
  else if (ending == ".onnx")
    written = exportOnnx(*graph.module, path, {});
  else if (ending == ".json")
    written = exportJson(*graph.module, path, {});
  else
    throw Error(TINH_INVALID_ARGUMENT,
                "cannot save function '" + name + "' as '" + path +
                    "': the name must end in .mlir, .mlirbc, .json, .onnx or "
                    ".so");
  if (failed(written))
    graph.context.fail("function '" + name + "' cannot be saved:");
}

} // namespace tinh::eager
