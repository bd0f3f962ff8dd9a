//===- PackWeights.cpp - Weights as kernels want them -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where %w is constant,
//
//   %y = graph.dispatch @matmul_0(%x, %w)
//       : (tensor<64x1000xf32>, tensor<1000x100xf32>) -> …
//
// becomes
//
//   %p = graph.dispatch @matmul_0_pack(%w)
//       : (tensor<1000x100xf32>) -> tensor<4x1000x32xf32>
//   %y = graph.dispatch @matmul_0(%x, %p)
//       : (tensor<64x1000xf32>, tensor<4x1000x32xf32>) -> …
//
// and @matmul_0 says of its argument, in `cpu.layout`, how it holds the
// weights, and unpacks it, in linalg. What packs constants moves to @init in
// the end, and what packs one twice in the same way is done once: products that
// read one, in several functions maybe, share panels where these are nearly as
// good for each as those that it wants. Other weights are packed each time,
// where several chunks would have to pack them or would find no vectors to load
// in them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Layouts/Layouts.h"
#include "compiler/Codegen/CPU/Layouts/TransformFilters.h"
#include "compiler/Codegen/CPU/Layouts/Weights.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CPU/Windows/Windows.h"
#include "compiler/Codegen/CPU/Winograd/WinogradGradient.h"
#include "compiler/Codegen/Kernel/Rewrites.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

/// Packs what products and windows read.
class WeightPacker {
public:
  WeightPacker(ModuleOp module, const Target &target,
               AllowedTransforms transforms, bool remarks)
      : module(module), target(target), transforms(transforms),
        remarks(remarks), b(module.getContext()) {}

  LogicalResult run();

private:
  void share();
  void pack(WeightsReader &reader);
  void packWindows(graph::DispatchOp dispatch);
  void transformFilters();

  ModuleOp module;
  const Target &target;
  AllowedTransforms transforms;
  bool remarks;
  OpBuilder b;
  std::optional<SymbolTable> symbols;
  SmallVector<WeightsReader, 0> readers;
  SmallVector<graph::DispatchOp> windows, dequantizers;
};

/// What a product costs that finds its weights in some layout: its estimated
/// cycles, and the instructions of its tiles.
struct Estimate {
  double cycles;
  int64_t step;
};

} // namespace

//===----------------------------------------------------------------------===//
// Layouts of constants that several kernels read
//===----------------------------------------------------------------------===//

static Estimate estimate(WeightsReader &reader, PanelsAttr layout,
                         const Target &target) {
  OpBuilder b(reader.kernel.getContext());
  OwningOpRef<func::FuncOp> trial = reader.kernel.clone();
  readPanels(b, *trial, *ContractionStrategy::match(*trial), layout);
  auto c = ContractionStrategy::match(*trial);
  ContractionPlan plan = planContraction(*c, target, /*packed=*/true);
  return {strategies().cheapest(*trial, target)->cost(),
          stepCost(*c, plan, target)};
}

/// The cycles of that if they are hardly more than with what the product wants:
/// then it costs less than another copy of the weights, its memory and its
/// place in the caches. Nor may tiles be much slower: by estimates, memory
/// hides that more often than it does.
static std::optional<double>
cyclesIfShared(WeightsReader &reader, PanelsAttr layout, const Target &target) {
  constexpr double kCycles = 1.05, kStep = 1.1;
  if (!reader.canRead(layout))
    return std::nullopt;
  Estimate own = estimate(reader, reader.layout, target),
           shared = estimate(reader, layout, target);
  bool isGood =
      shared.cycles <= kCycles * own.cycles && shared.step <= kStep * own.step;
  return isGood ? std::optional(shared.cycles) : std::nullopt;
}

/// The layout that most readers of one constant can share, and of several the
/// one with which they take least.
static PanelsAttr bestLayout(ArrayRef<WeightsReader *> readers,
                             ArrayRef<PanelsAttr> layouts,
                             const Target &target) {
  PanelsAttr best;
  std::pair<int64_t, double> least{0, 0};
  for (PanelsAttr layout : layouts) {
    std::pair<int64_t, double> cost{0, 0};
    for (WeightsReader *reader : readers)
      if (auto cycles = cyclesIfShared(*reader, layout, target)) {
        --cost.first;
        cost.second += *cycles;
      }
    if (cost < least) {
      least = cost;
      best = layout;
    }
  }
  return best;
}

/// Lets those readers of one constant share a layout that can; says why.
static std::string shareLayout(ArrayRef<WeightsReader *> readers,
                               const Target &target) {
  SmallVector<PanelsAttr> layouts;
  for (WeightsReader *reader : readers)
    if (!llvm::is_contained(layouts, reader->layout))
      layouts.push_back(reader->layout);
  std::string text;
  if (layouts.size() == 1)
    return text;
  PanelsAttr shared = bestLayout(readers, layouts, target);
  llvm::raw_string_ostream stream(text);
  for (WeightsReader *reader : readers) {
    bool shares = cyclesIfShared(*reader, shared, target).has_value();
    PanelsAttr layout = shares ? shared : reader->layout;
    stream << "\n  kernel '" << reader->kernel.getName() << "': " << layout;
    for (PanelsAttr each : layouts)
      if (reader->canRead(each)) {
        Estimate cost = estimate(*reader, each, target);
        stream << llvm::format(", %.0f cycles", cost.cycles) << " and "
               << cost.step << " instructions a step with " << each.getWidth();
      }
    reader->layout = layout;
  }
  return text;
}

/// What tells constants apart: equal ones of several functions are one.
static const void *identityOf(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getX();
  if (auto constant = value.getDefiningOp<graph::ConstantOp>())
    return constant.getValue().getAsOpaquePointer();
  return value.getAsOpaquePointer();
}

void WeightPacker::share() {
  llvm::MapVector<const void *, SmallVector<WeightsReader *>> groups;
  for (WeightsReader &reader : readers)
    if (isOfConstants(reader.weights()))
      groups[identityOf(reader.weights())].push_back(&reader);
  for (auto &[constant, group] : groups) {
    std::string text = shareLayout(group, target);
    if (remarks && !text.empty())
      group[0]->dispatch.emitRemark()
          << "weights of type " << group[0]->weights().getType()
          << ", which several kernels read" << text;
  }
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// What `kernel` gives for `source`.
static Value inlineKernel(OpBuilder &b, func::FuncOp kernel, Value source) {
  Block &body = kernel.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), source);
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookup(body.getTerminator()->getOperand(0));
}

/// Whether weights that are no constants are to be packed before.
static bool isWorthPacking(WeightsReader &reader, const Target &target) {
  const Contraction &c = reader.contraction;
  if (reader.layout.getGroup() == 1 || c.isOfBytes())
    return isWorthPackingBefore(c, target);
  // Twice what it takes in vectors, as pairs come together.
  double each = 2 * copyCycles(*target.machine, c.factorBytes());
  double packing = each * reader.layout.getPacked().getNumElements() +
                   dispatchCycles(target, /*chunks=*/1);
  return estimate(reader, reader.layout, target).cycles + packing <
         strategies().cheapest(reader.kernel, target)->cost();
}

/// Packs the weights of a product, and does what moves them, if anything does.
void WeightPacker::pack(WeightsReader &reader) {
  const Contraction &c = reader.contraction;
  Value source = reader.weights();
  graph::DispatchOp movement;
  if (!isOfConstants(source)) {
    if (source.hasOneUse())
      movement = asMovement(*symbols, source.getDefiningOp());
    if (!isWorthPacking(reader, target) && !(movement && isWorthTiling(c)))
      return;
  }
  if (movement)
    source = movement.getInputs()[0];
  b.setInsertionPoint(reader.dispatch);
  convertOperand(b, {*symbols, reader.kernel, reader.dispatch}, reader.operand,
                 source, source.getType(), [&](Value x) {
                   if (movement)
                     x = inlineKernel(
                         b, symbols->lookup<func::FuncOp>(movement.getKernel()),
                         x);
                   return packPanels(b, reader.kernel.getLoc(),
                                     reshapeLike(b, c.right.value, x),
                                     reader.layout.ofPlain());
                 });
  readPanels(b, reader.kernel, c, reader.layout);
  if (movement)
    eraseDispatch(*symbols, movement);
}

/// Moves the channels of constant weights under a window to the end, where the
/// lanes want them: [C, kernel…] becomes [kernel…, C].
void WeightPacker::packWindows(graph::DispatchOp dispatch) {
  auto kernel = symbols->lookup<func::FuncOp>(dispatch.getKernel());
  auto w = WindowsStrategy::match(kernel);
  for (OpOperand *operand : w->op.getDpsInputOperands())
    if (operand->getOperandNumber() != w->input)
      packAlong({*symbols, kernel, dispatch}, *operand, w->lane,
                /*ofConstants=*/true);
}

/// Those of convolutions that read them in panels now.
void WeightPacker::transformFilters() {
  SmallVector<graph::DispatchOp> dispatches;
  module.walk([&](graph::DispatchOp op) { dispatches.push_back(op); });
  for (graph::DispatchOp dispatch : dispatches) {
    auto kernel = symbols->lookup<func::FuncOp>(dispatch.getKernel());
    if (!graph::isOnCuda(kernel) && !kernel->hasAttr(graph::names::kPlan))
      cpu::transformFilters({*symbols, kernel, dispatch}, transforms, target,
                            remarks);
  }
}

LogicalResult WeightPacker::run() {
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel.isPrivate() && !kernel.isExternal() && !graph::isOnCuda(kernel))
      allowTransforms(kernel, transforms);
  auto visit = [&](DispatchedKernel dispatched, Attribute plan) {
    auto [_, kernel, dispatch] = dispatched;
    auto w = WindowsStrategy::match(kernel);
    if (w && !WindowsStrategy::plans(*w, target).empty())
      windows.push_back(dispatch);
    bool isTurned = turnLeftFactor(dispatched, target);
    // Outer products read both factors where they lie.
    if (isa<OuterProductsPlanAttr, WinogradGradientPlanAttr>(plan) && !isTurned)
      return;
    if (auto reader = findReader(dispatch, kernel, target))
      readers.push_back(*reader);
    else if (dequantizesWeights(dispatch, kernel))
      dequantizers.push_back(dispatch);
  };
  if (failed(splitKernels(module, target, visit)))
    return failure();
  symbols.emplace(module);
  share();
  for (WeightsReader &reader : readers)
    pack(reader);
  for (graph::DispatchOp dispatch : windows)
    packWindows(dispatch);
  for (graph::DispatchOp dispatch : dequantizers)
    packQuantizedWeights(*symbols, dispatch, target);
  transformFilters();
  return success();
}

LogicalResult packWeights(ModuleOp module, const Target &target,
                          AllowedTransforms transforms, bool remarks) {
  return WeightPacker(module, target, transforms, remarks).run();
}

} // namespace tinh::cpu
