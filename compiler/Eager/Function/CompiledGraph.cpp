//===- CompiledGraph.cpp - A graph, compiled and loaded ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/CompiledGraph.h"

#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Support/Files.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

#include <cstring>

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
                       const std::string &name, const std::string &path) {
  CompileOptions options;
  options.modelName = name;
  std::optional<KernelCache> cache;
  if (std::string directory = KernelCache::defaultDirectory();
      !directory.empty())
    options.cache = &cache.emplace(directory);
  CompileReport report;
  if (failed(verifyPhase(module, Phase::Graph)) ||
      failed(annotateModule(module, Phase::Graph, options)) ||
      failed(runPhases(module, Phase::Graph, Phase::Plan, options.phases,
                       report)) ||
      failed(writeArtifact(module, path, options, report)))
    context.fail("function '" + name + "' cannot be compiled:");
  return mostChunks(module);
}

std::shared_ptr<CompiledGraph>
CompiledGraph::create(ModuleOp module, GraphContext &context,
                      const std::string &name, size_t numResults,
                      std::vector<size_t> changed, uint32_t threads) {
  ScratchFile file("tinh-function");
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

/// One run: what the graph says of changed arguments is computed beside them
/// and put in their place at the end.
struct CompiledGraph::Run {
  std::shared_ptr<CompiledGraph> graph;
  std::vector<Piece> inputs, outputs;

  uint32_t numChunks() const { return 1; }
  bool mayTakeLong() const { return true; }
  void run(uint32_t, uint32_t, Worker &worker) {
    worker.expectDelay();
    std::vector<tinh_buffer_t> in, out;
    for (const Piece &piece : inputs)
      in.push_back(piece.buffer());
    for (const Piece &piece : outputs)
      out.push_back(piece.buffer());
    graph->context.run(in, out);
    size_t numResults = outputs.size() - graph->changed.size();
    for (size_t i = 0; i < graph->changed.size(); ++i) {
      tinh_buffer_t to = in[graph->changed[i]];
      std::memcpy(to.data, out[numResults + i].data, to.size);
    }
  }
};

void CompiledGraph::launch(std::span<const TensorImpl *const> arguments,
                           std::span<const TensorImpl *const> results,
                           const Call &call) {
  Run run{shared_from_this(), {}, {}};
  std::vector<Storage *> reads, writes;
  for (const TensorImpl *argument : arguments) {
    run.inputs.push_back(pieceOf(*argument));
    reads.push_back(argument->storage.get());
  }
  for (const TensorImpl *result : results) {
    run.outputs.push_back(pieceOf(*result));
    writes.push_back(result->storage.get());
  }
  for (size_t index : changed) {
    const Piece &target = run.inputs[index];
    run.outputs.push_back({Storage::create(target.size), 0, target.size});
    writes.push_back(run.outputs.back().storage.get());
    writes.push_back(target.storage.get());
  }
  Engine::get().push(call, reads, writes, std::move(run));
}

} // namespace tinh::eager
