//===- CudaDialect.cpp - Registration, and checks of plans ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is wrong with a plan whatever its kernel and chips are: the code that a
// strategy has knows nothing else. What these do not allow is said where
// kernels are divided into blocks (compiler/Codegen/CUDA).
//
//===----------------------------------------------------------------------===//
#include "dialects/cuda/Cuda.h"
#include "dialects/graph/PlanChecks.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::cuda;
using namespace tinh::graph;

#include "dialects/cuda/CudaDialect.cpp.inc"
#include "dialects/cuda/CudaEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cuda/CudaAttrs.cpp.inc"

void CudaDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/cuda/CudaAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Of a vector: its elements are 16 bytes, of the smallest that there are.
static PlanRule vectorLanes() { return powerOf2(1, 16); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult TensorCoresAttr::verify(EmitError emitError,
                                      DenseI64ArrayAttr warp, int64_t stages,
                                      DenseI64ArrayAttr loads, int64_t stores) {
  return checkNumbers(emitError,
                      {{"warp", warp, "rows, columns", powerOf2(16, 256)},
                       {"stages", stages, within(2, 8)},
                       {"loads", loads, "rows, columns", vectorLanes()},
                       {"stores", stores, vectorLanes()}});
}

LogicalResult WarpgroupsAttr::verify(EmitError emitError, int64_t stages,
                                     int64_t stores) {
  return checkNumbers(emitError, {{"stages", stages, within(3, 8)},
                                  {"stores", stores, vectorLanes()}});
}

/// Warps are 4 threads high and 8 wide.
static LogicalResult checkWarps(EmitError emitError, int64_t rows,
                                int64_t columns) {
  if (rows % 4 != 0 || columns % 8 != 0)
    return emitError() << "'thread' must leave a multiple of 4 × 8 threads for "
                          "'tile', found "
                       << rows << " × " << columns;
  return checkNumbers(emitError, {{"threads", rows * columns, wholeWarps()}});
}

LogicalResult ContractionPlanAttr::verify(
    EmitError emitError, DenseI64ArrayAttr tile, DenseI64ArrayAttr thread,
    int64_t depth, DenseI64ArrayAttr loads, int64_t stores,
    TensorCoresAttr tensorCores, WarpgroupsAttr warpgroups) {
  if (failed(checkNumbers(
          emitError, {{"tile", tile, "rows, columns", powerOf2(32, 256)},
                      {"thread", thread, "rows, columns", powerOf2(kGroup, 16)},
                      {"depth", depth, powerOf2(4, 64)},
                      {"loads", loads, "rows, columns", vectorLanes()},
                      {"stores", stores, either(1, kGroup)}})))
    return failure();
  int64_t rows = tile[0] / thread[0], columns = tile[1] / thread[1];
  if (failed(checkWarps(emitError, rows, columns)))
    return failure();
  if (warpgroups && !tensorCores)
    return emitError()
           << "'warpgroups' needs 'tensor_cores', whose code brings "
              "its factors";
  if (!tensorCores)
    return success();
  ArrayRef<int64_t> warp = tensorCores.getWarp();
  if (tile[0] % warp[0] != 0 || tile[1] % warp[1] != 0 ||
      tile[0] / warp[0] * (tile[1] / warp[1]) * kWarp != rows * columns)
    return emitError() << "'warp' must divide 'tile' among the "
                       << rows * columns << " threads that FFMA has, found "
                       << warp[0] << " × " << warp[1];
  return success();
}

LogicalResult AttentionTensorCoresAttr::verify(EmitError emitError,
                                               int64_t keys, QueriesIn,
                                               DenseI64ArrayAttr loads,
                                               int64_t masks, int64_t stores) {
  return checkNumbers(emitError,
                      {{"keys", keys, powerOf2(32, 128)},
                       {"loads", loads, "queries, keys, values", vectorLanes()},
                       {"masks", masks, powerOf2(1, 2)},
                       {"stores", stores, vectorLanes()}});
}

LogicalResult AttentionPlanAttr::verify(EmitError emitError, int64_t queries,
                                        int64_t keys, int64_t rows,
                                        int64_t depth, int64_t step,
                                        DenseI64ArrayAttr loads, int64_t masks,
                                        int64_t stores,
                                        AttentionTensorCoresAttr tensorCores) {
  constexpr int64_t kKeys = kSharers * kGroup;
  // On tensor cores each warp has 16 queries.
  PlanRule rowsRule = tensorCores ? within(8, 8).because(" with 'tensor_cores'")
                                  : powerOf2(kGroup, 8);
  // So a block has 32 threads to 1024.
  return checkNumbers(
      emitError,
      {{"queries", queries, powerOf2(16, 256)},
       {"keys", keys,
        within(kKeys, kKeys).because(", of which 16 threads have four each")},
       {"rows", rows, rowsRule},
       {"depth", depth, powerOf2(4, 32)},
       {"step", step, powerOf2(1, 32)},
       {"loads", loads, "queries, keys, values", vectorLanes()},
       {"masks", masks, either(1, kGroup)},
       {"stores", stores, powerOf2(1, kGroup)}});
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

LogicalResult RowsPlanAttr::verify(EmitError emitError, int64_t outer,
                                   int64_t columns, int64_t lanes, int64_t team,
                                   int64_t threads, int64_t unrolled) {
  // A block has whole teams, and whole warps.
  return checkNumbers(
      emitError,
      {{"outer", outer, atLeast(0)},
       {"columns", columns, zeroOrPowerOf2(kWarp)},
       {"lanes", lanes, vectorLanes()},
       {"team", team, powerOf2(1, kMostThreads)},
       {"threads", threads, powerOf2(std::max(team, kWarp), kMostThreads)},
       {"unrolled", unrolled, within(1, 16)}});
}

LogicalResult WindowsPlanAttr::verify(EmitError emitError, int64_t lanes,
                                      int64_t outputs, int64_t threads) {
  return checkNumbers(emitError, {{"lanes", lanes, vectorLanes()},
                                  {"outputs", outputs, within(1, 16)},
                                  {"threads", threads, wholeWarps()}});
}

LogicalResult ScanPlanAttr::verify(EmitError emitError, SumsAlong,
                                   int64_t threads) {
  return checkNumbers(emitError, {{"threads", threads, wholeWarps()}});
}

LogicalResult ScatterPlanAttr::verify(EmitError emitError, int64_t lanes,
                                      int64_t columns, int64_t slots,
                                      int64_t rows, int64_t group) {
  if (failed(checkNumbers(emitError,
                          {{"lanes", lanes, vectorLanes()},
                           {"columns", columns, within(1, kMostThreads)},
                           {"slots", slots, within(1, kMostThreads)},
                           {"rows", rows, atLeast(0)},
                           {"group", group, within(1, 16)}})))
    return failure();
  if (rows == 0)
    return checkNumbers(
        emitError,
        {{"columns", columns, wholeWarps()},
         {"slots", slots, within(1, 1).because(" where 'rows' is 0")}});
  int64_t threads = llvm::alignTo(columns * slots, kWarp);
  return checkNumbers(
      emitError,
      {{"rows", rows, multipleOf(slots).because(", as 'slots' says")},
       {"threads", threads, wholeWarps()}});
}

LogicalResult TransposePlanAttr::verify(EmitError emitError, int64_t lanes,
                                        int64_t warps) {
  return checkNumbers(emitError, {{"lanes", lanes, powerOf2(1, 4)},
                                  {"warps", warps, powerOf2(1, kWarp)}});
}

LogicalResult ThreadsPlanAttr::verify(EmitError emitError,
                                      DenseI64ArrayAttr lanes,
                                      int64_t threads) {
  return checkNumbers(emitError, {{"lanes", lanes, "", vectorLanes()},
                                  {"threads", threads, wholeWarps()}});
}
