//===- Check.cpp - Runs a module in every way there is ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Check.h"

#include "compiler/Eager/Model/EagerModel.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Reference/Interpreter.h"
#include "tests/end-to-end/random-graphs/Generator.h"
#include "tinh/engine.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include <random>

using namespace mlir;

namespace tinh::test {

using reference::Tensor;

namespace {

using Bytes = std::vector<char>;
using Outputs = std::vector<Bytes>;

std::vector<tinh_buffer_t> buffers(std::vector<Bytes> &memory) {
  std::vector<tinh_buffer_t> list;
  for (Bytes &bytes : memory)
    list.push_back({bytes.data(), bytes.size()});
  return list;
}

Outputs allocate(TypeRange types) {
  Outputs memory;
  for (Type type : types)
    memory.emplace_back(graph::tensorSize(type));
  return memory;
}

/// Floats in [-1, 1] or special ones, integers in [-8, 8] or [0, 8].
std::vector<Tensor> makeInputs(TypeRange types, uint64_t seed,
                               MLIRContext &context) {
  Generator random(~seed, context);
  bool special = hasSpecialNumbers(seed);
  std::vector<Tensor> inputs;
  for (Type type : types) {
    Tensor &x = inputs.emplace_back(type);
    bool isSigned =
        x.element().isSignlessInteger() && !x.element().isInteger(1);
    for (double &value : x.floats)
      value = special && random.chance(0.01)
                  ? random.choose<double>({NAN, INFINITY, -INFINITY, -0.0})
                  : random.real(-1, 1);
    for (reference::Integer &value : x.integers)
      value = random.number(isSigned ? -8 : 0, 8);
    roundElements(x);
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// The ways
//===----------------------------------------------------------------------===//

/// Leaves the kernels of about every third op that there is to the CPU.
void placeSome(ModuleOp fused, uint64_t seed) {
  std::mt19937_64 random(seed);
  llvm::SetVector<StringRef> names;
  fused.walk([&](graph::KernelOp kernel) {
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (!isa<graph::ConstantOp>(op))
        names.insert(op.getName().stripDialect());
  });
  SmallVector<Attribute> rules;
  Builder builder(fused.getContext());
  for (StringRef name : names)
    if (random() % 3 == 0)
      rules.push_back(builder.getStringAttr(name + "=cpu"));
  if (!rules.empty())
    fused->setAttr(graph::names::kPlace, builder.getArrayAttr(rules));
}

struct Ways {
  ModuleOp module;
  CompileOptions options;
  std::vector<Bytes> inputs;
  std::string message; // Of the first diagnostic.
  std::optional<uint64_t>
      places; // What decides them, if there are two devices.

  func::FuncOp main() {
    return module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  }
  bool fail(const Twine &what) {
    if (message.empty())
      message = what.str();
    return false;
  }
  /// The module in a later phase; null if there is none.
  OwningOpRef<ModuleOp> lower(Phase phase);
  bool runCompiled(Outputs &one, Outputs &two);
  /// Nothing, if eager execution does not take so many dimensions.
  bool runEager(std::optional<Outputs> &outputs);
};

OwningOpRef<ModuleOp> Ways::lower(Phase phase) {
  OwningOpRef<ModuleOp> copy = module.clone();
  CompileReport report;
  Phase first = std::min(phase, Phase::Fused);
  if (failed(annotateModule(*copy, Phase::Graph, options)) ||
      failed(runPhases(*copy, Phase::Graph, first, {}, report)))
    return nullptr;
  if (places)
    placeSome(*copy, *places);
  if (failed(runPhases(*copy, first, phase, {}, report)))
    return nullptr;
  return copy;
}

bool Ways::runCompiled(Outputs &one, Outputs &two) {
  OwningOpRef<ModuleOp> copy = lower(Phase::Plan);
  SmallString<128> path;
  if (!copy || llvm::sys::fs::createTemporaryFile("tinh-random", "so", path))
    return fail("cannot be lowered");
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove(path); });
  CompileReport report;
  tinh_module_t *loaded = nullptr;
  if (failed(writeArtifact(*copy, path, options, report)) ||
      tinh_module_load(path.c_str(), &loaded) != TINH_OK)
    return fail(Twine("cannot be compiled: ") + tinh_last_error());
  llvm::scope_exit unload([&] { tinh_module_release(loaded); });
  for (uint32_t threads : {1, 2}) {
    tinh_context_options_t runtime;
    tinh_context_options_init(&runtime);
    runtime.threads = threads;
    tinh_context_t *context = nullptr;
    if (tinh_context_create(loaded, &runtime, &context) != TINH_OK)
      return fail(tinh_last_error());
    llvm::scope_exit close([&] { tinh_context_release(context); });
    auto in = buffers(inputs), out = buffers(threads == 1 ? one : two);
    if (tinh_context_run(context, 0, in.data(), in.size(), out.data(),
                         out.size()) != TINH_OK)
      return fail(tinh_last_error());
  }
  return true;
}

bool hasManyDimensions(ModuleOp module) {
  auto isMany = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() > TINH_MAX_RANK;
  };
  return module
      .walk([&](Operation *op) {
        return WalkResult(failure(llvm::any_of(op->getOperandTypes(), isMany) ||
                                  llvm::any_of(op->getResultTypes(), isMany)));
      })
      .wasInterrupted();
}

bool Ways::runEager(std::optional<Outputs> &outputs) {
  OwningOpRef<ModuleOp> copy = lower(Phase::Normalised);
  if (!copy)
    return fail("cannot be normalised");
  if (hasManyDimensions(*copy)) {
    outputs.reset();
    return true;
  }
  try {
    configure({.workers = 2});
    eager::EagerModel(*copy, "").run(buffers(inputs), buffers(*outputs));
  } catch (const Error &error) {
    return fail(Twine("op by op: ") + error.what());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The largest difference, as a part of the largest number, that the coarsest
/// type on the way to a value lets pass.
double tolerance(Value value, llvm::DenseMap<Value, double> &known) {
  auto [entry, isNew] = known.try_emplace(value, 0);
  if (!isNew)
    return entry->second;
  Type element = getElementTypeOrSelf(value);
  double result = element.isF64()    ? 1e-9
                  : element.isF32()  ? 1e-4
                  : element.isF16()  ? 3e-2
                  : element.isBF16() ? 2e-1
                                     : 0;
  Operation *op = value.getDefiningOp();
  for (Value read : op ? graph::readValues(op) : SmallVector<Value>())
    result = std::max(result, tolerance(read, known));
  for (Region &region : op ? op->getRegions() : MutableArrayRef<Region>())
    region.walk([&](Operation *inner) {
      for (Value made : inner->getResults())
        result = std::max(result, tolerance(made, known));
    });
  return known[value] = result;
}

/// "" if `found` is close enough.
std::string compare(const Bytes &found, const Tensor &expected,
                    double allowed) {
  auto d =
      largestDifference(reference::fromBytes(expected.type, found), expected);
  if (!expected.isFloat())
    allowed = 0;
  // Numbers near one may have cancelled to something small.
  if (d.relative <= allowed || d.absolute <= allowed / 10)
    return {};
  return llvm::formatv("differs from the reference by {0:E2}, {1:E2} of the "
                       "largest element; {2:E2} is allowed",
                       d.absolute, d.relative, allowed);
}

} // namespace

std::vector<Problem> check(ModuleOp module, uint64_t seed,
                           const Machine &machine) {
  Ways ways{module, {}, {}, {}, {}};
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    ways.fail(diagnostic.str());
                                    return success();
                                  });
  ways.options.cpu = machine.cpu;
  if (machine.hasGpu)
    ways.options.cuda.emplace().chips = {"emulated"};
  if (machine.hasGpu && machine.splits)
    ways.places = seed;
  ways.options.modelName = "random";
  func::FuncOp main = ways.main();
  std::vector<Tensor> inputs =
      makeInputs(main.getArgumentTypes(), seed, *module.getContext());
  for (const Tensor &input : inputs)
    ways.inputs.push_back(toBytes(input));
  Outputs one = allocate(main.getResultTypes()), two = one;
  std::optional<Outputs> eager = one;
  auto expected =
      reference::evaluate(main, std::move(inputs), [](graph::ExternalAttr) {
        return llvm::Expected<ArrayRef<char>>(
            llvm::createStringError("random graphs have no files"));
      });
  if (failed(expected) || !ways.runCompiled(one, two) || !ways.runEager(eager))
    return {{std::nullopt, ways.message}};

  std::vector<Problem> problems;
  llvm::DenseMap<Value, double> known;
  for (auto [i, value] :
       llvm::enumerate(main.getBody().front().getTerminator()->getOperands())) {
    unsigned output = i;
    double allowed = tolerance(value, known);
    if (one[i] != two[i])
      problems.push_back({output, "depends on the number of threads"});
    std::string what = compare(one[i], (*expected)[i], allowed);
    if (!what.empty())
      problems.push_back({output, "compiled: " + what});
    what = eager ? compare((*eager)[i], (*expected)[i], allowed) : "";
    if (!what.empty())
      problems.push_back({output, "op by op: " + what});
  }
  return problems;
}

OwningOpRef<ModuleOp> keepOutput(ModuleOp module, unsigned output) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto main = copy->lookupSymbol<func::FuncOp>(graph::names::kMain);
  Block &body = main.getBody().front();
  Operation *end = body.getTerminator();
  Value kept = end->getOperand(output);
  end->setOperands(kept);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && &op != end)
      op.erase();
  llvm::BitVector unusedArguments(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unusedArguments.set(argument.getArgNumber());
  llvm::BitVector results(main.getNumResults(), true);
  results.reset(output);
  (void)main.eraseResults(results);
  (void)main.eraseArguments(unusedArguments);
  return copy;
}

} // namespace tinh::test
