//===- ChooseStrategies.cpp - Strategies and chunks of kernels --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts.h"
#include "compiler/Codegen/CPU/Packing.h"
#include "compiler/Codegen/CPU/Scatter.h"
#include "compiler/Codegen/CPU/SplitStages.h"
#include "compiler/Codegen/CPU/Transpose.h"
#include "compiler/Codegen/CPU/WindowReduction.h"
#include "compiler/Codegen/Kernel/Choosing.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether the weights of `c` are the argument `index` of the kernel, unpacked.
static bool unpacksArgument(const Contraction &c, int64_t index,
                            const Target &target) {
  Value value = c.weights;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return false;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value).getArgNumber() == index &&
         c.weightsMap.isProjectedPermutation() &&
         value.getType() == planPacking(c, target).packed;
}

std::optional<Division> divideKernel(func::FuncOp kernel, StringRef strategy,
                                     const Target &target) {
  if (strategy == "contraction") {
    auto contraction = matchContraction(kernel);
    auto packed = kernel->getAttrOfType<IntegerAttr>(graph::names::kPacked);
    if (!contraction ||
        (packed && !unpacksArgument(*contraction, packed.getInt(), target)) ||
        !hasWholeVectors(contraction->result, contraction->lanes(target)))
      return std::nullopt;
    ContractionPlan plan =
        planContraction(*contraction, target, /*packed=*/bool(packed));
    return Division{plan.chunks, plan.scratch};
  }
  if (strategy == "outer-products") {
    auto products = matchOuterProducts(kernel);
    if (!products ||
        !hasWholeVectors(products->result,
                         target.vectorBytes / products->elementBytes()))
      return std::nullopt;
    OuterProductsPlan plan = planOuterProducts(*products, target);
    return Division{plan.chunks, plan.scratch};
  }
  if (strategy == "windows") {
    auto windows = matchWindows(kernel);
    if (!windows)
      return std::nullopt;
    return Division{planWindows(*windows).chunks, 0};
  }
  if (strategy == "transpose") {
    auto transpose = matchTranspose(kernel);
    if (!transpose)
      return std::nullopt;
    return Division{planTranspose(*transpose, target).chunks, 0};
  }
  if (strategy == "scatter") {
    auto scatter = matchScatter(kernel);
    if (!scatter)
      return std::nullopt;
    return Division{planScatter(*scatter).chunks, 0};
  }
  if (strategy != "rows")
    return std::nullopt;
  RowsPlan plan = planRows(kernel);
  return Division{plan.chunks, plan.scratch};
}

StringRef chooseStrategy(func::FuncOp kernel) {
  bool packed = kernel->hasAttr(graph::names::kPacked);
  auto products = matchOuterProducts(kernel);
  // What slides is staged once for all taps.
  if (products && !products->taps.empty())
    return "outer-products";
  auto contraction = matchContraction(kernel);
  if (contraction && (packed || isWorthTiling(*contraction)))
    return "contraction";
  if (products)
    return "outer-products";
  if (matchWindows(kernel))
    return "windows";
  if (matchScatter(kernel))
    return "scatter";
  return matchTranspose(kernel) ? "transpose" : "rows";
}

/// Splits and packs, until the kernel is what its strategy wants.
static SmallVector<graph::DispatchOp>
prepare(OpBuilder &b, SymbolTable &symbols, func::FuncOp kernel,
        graph::DispatchOp dispatch, const Target &target) {
  StringRef strategy = chooseStrategy(kernel);
  graph::DispatchOp stage;
  if (strategy == "rows") {
    stage = splitStage(b, symbols, kernel, dispatch);
    if (!stage)
      stage = splitReduction(b, symbols, kernel, dispatch);
  } else if (strategy == "outer-products") {
    stage = splitSums(b, symbols, kernel, dispatch, target);
  }
  if (stage)
    return {dispatch, stage};
  packWeights(b, symbols, kernel, dispatch, target);
  return {};
}

LogicalResult chooseStrategies(ModuleOp module, const Target &target) {
  OpBuilder b(module.getContext());
  auto prepareOne = [&](SymbolTable &symbols, func::FuncOp kernel,
                        graph::DispatchOp dispatch) {
    return prepare(b, symbols, kernel, dispatch, target);
  };
  if (failed(prepareKernels(module, /*onCuda=*/false, prepareOne)))
    return failure();
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel.isPrivate() || kernel.isExternal() || graph::isOnCuda(kernel))
      continue;
    StringRef strategy = chooseStrategy(kernel);
    auto division = divideKernel(kernel, strategy, target);
    if (!division)
      return kernel.emitError("internal error: strategy '")
             << strategy << "' cannot divide this kernel";
    kernel->setAttr(graph::names::kStrategy, b.getStringAttr(strategy));
    kernel->setAttr(graph::names::kChunks,
                    b.getI64IntegerAttr(division->chunks));
    kernel->setAttr(graph::names::kScratch,
                    b.getI64IntegerAttr(division->scratch));
    setInplace(kernel, [&](BlockArgument argument) {
      return isReadAtItsIndex(argument) || isScatteredInto(kernel, argument);
    });
  }
  return success();
}

} // namespace tinh::cpu
