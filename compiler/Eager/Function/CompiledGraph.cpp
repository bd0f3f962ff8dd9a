//===- CompiledGraph.cpp - A graph, compiled and loaded ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/CompiledGraph.h"

#include "compiler/Eager/CheckNumerics.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Support/Files.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tinh::eager {

/// The most chunks of a step: so many threads can have work at a time.
static uint32_t mostChunks(ModuleOp module) {
  uint64_t most = 1;
  module.walk([&](plan::DispatchOp dispatch) {
    most = std::max<uint64_t>(most, dispatch.getChunks());
  });
  return static_cast<uint32_t>(std::min<uint64_t>(most, UINT32_MAX));
}

uint32_t compileToFile(ModuleOp module, GraphContext &context,
                       const std::string &name, const std::string &path,
                       const std::optional<CudaOptions> &cuda) {
  CompileOptions options;
  options.modelName = name;
  options.cuda = cuda;
  options.phases.plainVariables = true; // Tensors have their memory.
  std::optional<KernelCache> cache;
  if (std::string directory = KernelCache::defaultDirectory();
      !directory.empty())
    options.cache = &cache.emplace(directory);
  CompileReport report;
  for (auto function : module.getOps<func::FuncOp>())
    transforms::forgetGradients(function); // They have been taken.
  if (failed(verifyPhase(module, Phase::Graph)) ||
      failed(annotateModule(module, Phase::Graph, options)) ||
      failed(runPhases(module, Phase::Graph, Phase::Plan, options.phases,
                       report)) ||
      failed(writeArtifact(module, path, options, report)))
    context.fail("function '" + name + "' cannot be compiled:");
  return mostChunks(module);
}

/// Makes variables of the arguments `changed` and of the results that they are
/// changed to: a call gives their memory.
static void declareVariables(ModuleOp module, size_t numResults,
                             ArrayRef<size_t> changed) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  for (auto [i, argument] : llvm::enumerate(changed)) {
    auto type = cast<RankedTensorType>(main.getArgumentTypes()[argument]);
    StringAttr name = b.getStringAttr("changed" + std::to_string(i));
    TypedAttr zeros = DenseElementsAttr::get(type, ArrayRef<Attribute>());
    if (type.getNumElements() > 0)
      zeros = cast<TypedAttr>(b.getZeroAttr(type));
    graph::VariableOp::create(b, main.getLoc(), name, zeros);
    main.removeArgAttr(argument, graph::names::kName);
    main.setArgAttr(argument, graph::names::kVariable, name);
    main.removeResultAttr(numResults + i, b.getStringAttr(graph::names::kName));
    main.setResultAttr(numResults + i, graph::names::kVariable, name);
  }
}

std::shared_ptr<CompiledGraph>
CompiledGraph::create(ModuleOp module, GraphContext &context,
                      const std::string &name, size_t numResults,
                      std::vector<size_t> changed, uint32_t threads) {
  ScratchFile file("tinh-function");
  declareVariables(module, numResults, changed);
  uint32_t useful = compileToFile(module, context, name, file.name);
  ContextOptions options;
  options.threads = std::min(threads, useful);
  return std::shared_ptr<CompiledGraph>(
      new CompiledGraph(Module(file.name), options, std::move(changed)));
}

namespace {

struct Piece {
  Ref<Storage> storage;
  uint64_t offset, size; // In bytes.

  tinh_buffer_t buffer() const {
    return {static_cast<char *>(storage->data()) + offset, size};
  }
};

Piece pieceOf(const TensorImpl &tensor) {
  uint64_t width = DType(tensor.dtype).size();
  return {tensor.storage, static_cast<uint64_t>(tensor.offset) * width,
          static_cast<uint64_t>(tensor.numElements()) * width};
}

} // namespace

const Context &CompiledGraph::contextFor(tinh_check_numerics_t check) {
  if (check == TINH_CHECK_NOTHING)
    return context;
  std::lock_guard lock(mutex);
  ContextOptions wanted = options;
  wanted.check_numerics = check;
  return checking.try_emplace(check, module, wanted).first->second;
}

struct CompiledGraph::Run {
  std::shared_ptr<CompiledGraph> graph;
  tinh_check_numerics_t check;
  std::optional<Call> gradientOf;
  std::vector<Piece> variables, inputs, outputs;

  uint32_t numChunks() const { return 1; }
  bool mayTakeLong() const { return true; }
  void run(uint32_t, uint32_t, Worker &worker) {
    worker.expectDelay();
    const Context &context = graph->contextFor(check);
    try {
      if (variables.empty())
        context.run(buffersOf(inputs), buffersOf(outputs));
      else
        context.run_on(buffersOf(variables), buffersOf(inputs),
                       buffersOf(outputs));
    } catch (const Error &error) {
      throw Error(error.status(), error.what() + GradientOf::text(gradientOf));
    }
  }
  static std::vector<tinh_buffer_t> buffersOf(const std::vector<Piece> &from) {
    std::vector<tinh_buffer_t> buffers;
    for (const Piece &piece : from)
      buffers.push_back(piece.buffer());
    return buffers;
  }
};

void CompiledGraph::launch(std::span<const TensorImpl *const> arguments,
                           std::span<const TensorImpl *const> results,
                           const Call &call) {
  Run run{shared_from_this(),
          Engine::get().checkNumerics(),
          GradientOf::get(),
          {},
          {},
          {}};
  std::vector<Storage *> reads, writes;
  for (size_t index : changed) {
    run.variables.push_back(pieceOf(*arguments[index]));
    writes.push_back(arguments[index]->storage.get());
  }
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (llvm::is_contained(changed, i))
      continue;
    run.inputs.push_back(pieceOf(*argument));
    reads.push_back(argument->storage.get());
  }
  for (const TensorImpl *result : results) {
    run.outputs.push_back(pieceOf(*result));
    writes.push_back(result->storage.get());
  }
  Engine::get().push(call, reads, writes, std::move(run));
}

} // namespace tinh::eager
