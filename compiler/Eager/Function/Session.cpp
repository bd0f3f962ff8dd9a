//===- Session.cpp - Graphs that are built by hand --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/session.h"

#include "compiler/Eager/Function/CompiledGraph.h"
#include "compiler/Eager/Function/TraceBackend.h"
#include "tinh/engine.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <optional>

using namespace mlir;

namespace tinh {

using eager::implOf;
using eager::TensorAccess;
using eager::TensorImpl;

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

class Graph::Impl {
public:
  Impl()
      : trace(context.get()), autograd(trace, /*keepsGradients=*/false),
        backend(trace, &autograd) {}

  /// A placeholder or, with an initial value, a variable: the argument of the
  /// graph with the same index.
  struct Declaration {
    std::string name;
    Tensor tensor;
    std::optional<Tensor> initial;
  };
  struct Update {
    Tensor fetch;
    size_t variable;
  };

  Tensor declare(const std::string &name, const TensorImpl &like,
                 std::optional<Tensor> initial) {
    Tensor tensor = TensorAccess::share(*trace.addInput(like));
    declarations.resize(trace.arguments().size());
    declarations.back() = {name, tensor, std::move(initial)};
    return tensor;
  }
  /// The index of a placeholder or a variable.
  std::optional<size_t> find(const Tensor &tensor) const {
    for (auto [i, declaration] : llvm::enumerate(declarations))
      if (declaration.tensor.defined() && declaration.tensor.is_same(tensor))
        return i;
    return std::nullopt;
  }

  eager::GraphContext context;
  eager::Trace trace;
  eager::TraceAutograd autograd;
  eager::TraceBackend backend;
  std::vector<Declaration> declarations; // Of captured tensors: empty.
  std::vector<Update> updates;
};

Graph::Graph() : impl(std::make_shared<Impl>()) {}
Graph::~Graph() = default;

class Graph::Scope::Impl {
public:
  explicit Impl(Graph::Impl &graph) : scope(graph.backend) {}

private:
  eager::BackendScope scope;
};

Graph::Scope::Scope(Graph &graph) : impl(std::make_unique<Impl>(*graph.impl)) {}
Graph::Scope::~Scope() = default;

Tensor Graph::placeholder(const std::string &name, const Shape &shape,
                          DType dtype) {
  eager::Ref<TensorImpl> like = eager::newTensor(dtype, eager::Dims(shape));
  return impl->declare(name, *like, std::nullopt);
}

Tensor Graph::variable(const std::string &name, const Tensor &initial) {
  return impl->declare(name, implOf(initial), initial);
}

Tensor Graph::assign(const Tensor &variable, const Tensor &value) {
  auto index = impl->find(variable);
  if (!index || !impl->declarations[*index].initial)
    throw Error(TINH_INVALID_ARGUMENT,
                "assign: the first argument is not a variable of this graph");
  const TensorImpl &held = implOf(value);
  const TensorImpl &declared = implOf(variable);
  if (held.dtype != declared.dtype || !(held.sizes == declared.sizes))
    throw Error(TINH_INVALID_ARGUMENT,
                "assign: variable '" + impl->declarations[*index].name +
                    "' is " + variable.dtype().name() +
                    to_string(variable.shape()) + ", the value " +
                    value.dtype().name() + to_string(value.shape()));
  Tensor update =
      TensorAccess::share(*impl->trace.hold(held, impl->trace.read(held)));
  impl->updates.push_back({update, *index});
  return update;
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

class Session::Impl {
public:
  explicit Impl(std::shared_ptr<Graph::Impl> graph) : graph(std::move(graph)) {}

  std::vector<Tensor> run(const std::vector<Tensor> &fetches,
                          const Feeds &feeds, std::source_location at);
  Tensor &state(size_t variable);

  std::shared_ptr<Graph::Impl> graph;

private:
  /// The part of the graph that some fetches need, compiled.
  struct Program {
    std::vector<size_t> arguments; // Of the graph, by the program's.
    std::shared_ptr<eager::CompiledGraph> compiled;
  };

  Program &find(const std::vector<Tensor> &fetches, std::source_location at);
  Program compile(ArrayRef<Value> values, ArrayRef<size_t> updated);
  Tensor argument(size_t index, const Feeds &feeds, std::source_location at);

  // By the values that are fetched, and the variables that they update.
  std::map<std::pair<std::vector<void *>, std::vector<size_t>>, Program>
      programs;
  std::map<size_t, Tensor> states;
};

Tensor &Session::Impl::state(size_t variable) {
  auto known = states.find(variable);
  if (known == states.end())
    known =
        states.emplace(variable, graph->declarations[variable].initial->clone())
            .first;
  return known->second;
}

/// The graph with `values` for results, without what they do not need.
/// `needed` are the arguments to keep in any case, then all that are kept.
static OwningOpRef<ModuleOp> extract(eager::Trace &trace,
                                     ArrayRef<Value> values,
                                     std::vector<size_t> &needed) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> module(
      cast<ModuleOp>(trace.getModule()->clone(mapping)));
  auto main = module->lookupSymbol<func::FuncOp>(graph::names::kMain);
  SmallVector<Value> results;
  for (Value value : values)
    results.push_back(mapping.lookup(value));
  OpBuilder b = OpBuilder::atBlockEnd(&main.front());
  func::ReturnOp::create(b, b.getUnknownLoc(), results);
  eraseDeadOps(main.front());
  std::vector<size_t> kept;
  for (size_t i = main.front().getNumArguments(); i-- > 0;) {
    if (main.front().getArgument(i).use_empty() &&
        !llvm::is_contained(needed, i))
      main.front().eraseArgument(i);
    else
      kept.insert(kept.begin(), i);
  }
  needed = std::move(kept);
  main.setFunctionType(b.getFunctionType(main.front().getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  for (auto [i, index] : llvm::enumerate(needed))
    main.setArgAttr(i, graph::names::kName,
                    b.getStringAttr("input" + std::to_string(index)));
  for (size_t i = 0; i < results.size(); ++i)
    main.setResultAttr(i, graph::names::kName,
                       b.getStringAttr("output" + std::to_string(i)));
  return module;
}

Session::Impl::Program Session::Impl::compile(ArrayRef<Value> values,
                                              ArrayRef<size_t> updated) {
  for (auto [i, argument] : llvm::enumerate(graph->trace.arguments()))
    if (argument.isChanged())
      throw Error(TINH_INVALID_ARGUMENT,
                  "a tensor of the graph was changed in place; give variables "
                  "their next value with assign()");
  Program program;
  program.arguments.assign(updated.begin(), updated.end());
  OwningOpRef<ModuleOp> module =
      extract(graph->trace, values, program.arguments);
  std::vector<size_t> changed;
  for (size_t variable : updated)
    changed.push_back(llvm::find(program.arguments, variable) -
                      program.arguments.begin());
  program.compiled = eager::CompiledGraph::create(
      *module, graph->context, "session", values.size() - updated.size(),
      std::move(changed), engine_options().workers);
  return program;
}

Session::Impl::Program &Session::Impl::find(const std::vector<Tensor> &fetches,
                                            std::source_location at) {
  SmallVector<Value> values;
  for (const Tensor &fetch : fetches)
    values.push_back(graph->trace.read(implOf(fetch)));
  llvm::SmallSetVector<const Graph::Impl::Update *, 4> updates;
  for (const Tensor &fetch : fetches)
    for (const Graph::Impl::Update &update : graph->updates)
      if (update.fetch.is_same(fetch))
        updates.insert(&update);
  std::vector<size_t> updated;
  for (const Graph::Impl::Update *update : updates) {
    if (llvm::is_contained(updated, update->variable))
      eager::failWith({"run", at},
                      "variable '" +
                          graph->declarations[update->variable].name +
                          "' is given two values; fetch one of its updates");
    updated.push_back(update->variable);
    values.push_back(graph->trace.read(implOf(update->fetch)));
  }
  std::pair<std::vector<void *>, std::vector<size_t>> key{{}, updated};
  for (Value value : values)
    key.first.push_back(value.getAsOpaquePointer());
  auto known = programs.find(key);
  if (known == programs.end())
    known = programs.emplace(std::move(key), compile(values, updated)).first;
  return known->second;
}

Tensor Session::Impl::argument(size_t index, const Feeds &feeds,
                               std::source_location at) {
  const auto &argument = graph->trace.arguments()[index];
  if (argument.captured)
    return TensorAccess::share(*argument.captured).contiguous(at);
  if (argument.generator.state)
    return advance(argument.generator, at);
  const Graph::Impl::Declaration &declaration = graph->declarations[index];
  if (declaration.initial)
    return state(index);
  auto fail = [&](const std::string &what) {
    eager::failWith({"run", at},
                    "placeholder '" + declaration.name + "' " + what);
  };
  for (const auto &[placeholder, value] : feeds) {
    if (!placeholder.is_same(declaration.tensor))
      continue;
    if (TensorAccess::get(value)->traced)
      fail("is fed a tensor of a graph; make values outside of "
           "Graph::Scope");
    if (value.dtype() != placeholder.dtype() ||
        !(value.shape() == placeholder.shape()))
      fail(std::string("is ") + placeholder.dtype().name() +
           to_string(placeholder.shape()) + ", but fed " +
           value.dtype().name() + to_string(value.shape()));
    return value.contiguous(at);
  }
  fail("is needed for the fetches and not fed");
  llvm_unreachable("that throws");
}

std::vector<Tensor> Session::Impl::run(const std::vector<Tensor> &fetches,
                                       const Feeds &feeds,
                                       std::source_location at) {
  Program &program = find(fetches, at);
  std::vector<Tensor> kept, results;
  std::vector<const TensorImpl *> arguments, outputs;
  for (size_t index : program.arguments) {
    kept.push_back(argument(index, feeds, at));
    arguments.push_back(&implOf(kept.back()));
  }
  for (const Tensor &fetch : fetches) {
    results.push_back(empty(fetch.shape(), fetch.dtype(), at));
    outputs.push_back(&implOf(results.back()));
  }
  program.compiled->launch(arguments, outputs, {"run", at});
  return results;
}

Session::Session(const Graph &graph)
    : impl(std::make_shared<Impl>(graph.impl)) {}

std::vector<Tensor> Session::run(const std::vector<Tensor> &fetches,
                                 const Feeds &feeds, std::source_location at) {
  // The graph's scope may be open: what is run is not recorded.
  eager::BackendScope scope(eager::eagerBackend());
  return impl->run(fetches, feeds, at);
}

Tensor Session::value(const Tensor &variable) const {
  auto index = impl->graph->find(variable);
  if (!index || !impl->graph->declarations[*index].initial)
    throw Error(TINH_INVALID_ARGUMENT,
                "value: the argument is not a variable of the session's graph");
  eager::BackendScope scope(eager::eagerBackend());
  return impl->state(*index);
}

} // namespace tinh
