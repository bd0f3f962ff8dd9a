//===- GpuGraph.cpp - A graph, compiled for a GPU -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cuda/GpuGraph.h"

#include "compiler/Eager/Function/CompiledGraph.h"
#include "compiler/Support/Files.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tinh::eager {

GpuGraph::GpuGraph(Gpu &gpu, std::shared_ptr<GraphContext> context,
                   OwningOpRef<ModuleOp> module, std::string name)
    : device(gpu), name(std::move(name)), context(std::move(context)),
      graph(std::move(module)) {
  auto main = graph->lookupSymbol<func::FuncOp>(graph::names::kMain);
  for (TypeRange types :
       {TypeRange(main.getArgumentTypes()), TypeRange(main.getResultTypes())})
    for (Type type : types)
      sizes.push_back(static_cast<uint64_t>(graph::tensorSize(type)));
}

GpuGraph::~GpuGraph() = default;

bool GpuGraph::isCompiled() const {
  std::lock_guard lock(mutex);
  return module.has_value();
}

/// Makes variables on the GPU of all arguments and results.
static void declareVariables(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto declare = [&](Type type, const Twine &name) {
    auto tensor = cast<RankedTensorType>(type);
    auto variable =
        graph::VariableOp::create(b, main.getLoc(), b.getStringAttr(name),
                                  cast<TypedAttr>(b.getZeroAttr(tensor)));
    variable.setDeviceAttr(b.getStringAttr(graph::names::kOnCuda));
    return variable.getNameAttr();
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    main.removeArgAttr(i, graph::names::kName);
    main.setArgAttr(i, graph::names::kVariable,
                    declare(main.getArgumentTypes()[i], "argument" + Twine(i)));
  }
  // A variable that is written is an argument, too, if none that is read.
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    Type type = main.getResultTypes()[i];
    StringAttr variable = declare(type, "result" + Twine(i));
    main.removeResultAttr(i, b.getStringAttr(graph::names::kName));
    main.setResultAttr(i, graph::names::kVariable, variable);
    NamedAttribute named(graph::names::kVariable, variable);
    (void)main.insertArgument(main.getNumArguments(), type,
                              b.getDictionaryAttr(named), main.getLoc());
  }
}

void GpuGraph::compile() {
  std::lock_guard lock(mutex);
  if (failure)
    throw *failure;
  if (module)
    return;
  try {
    ScratchFile file("tinh-gpu");
    declareVariables(*graph);
    CudaOptions cuda;
    cuda.chips = {device.chip()};
    compileToFile(*graph, *context, name, file.name, cuda);
    module.emplace(file.name);
  } catch (const Error &error) {
    failure = error;
  }
  graph = nullptr;
  context = nullptr;
  if (failure)
    throw *failure;
}

/// Under the mutex.
const Context &GpuGraph::contextFor(tinh_check_numerics_t check) {
  ContextOptions options;
  options.threads = 1;
  options.max_in_flight = 1;
  options.check_numerics = check;
  options.cuda_stream = device.stream().handle();
  return contexts.try_emplace(check, *module, options).first->second;
}

void GpuGraph::run(std::span<void *const> tensors,
                   tinh_check_numerics_t check) {
  compile();
  std::vector<tinh_buffer_t> buffers;
  for (size_t i = 0; i < tensors.size(); ++i)
    buffers.push_back({tensors[i], sizes[i]});
  std::lock_guard lock(mutex);
  contextFor(check).run_on(buffers, {}, {});
}

} // namespace tinh::eager
