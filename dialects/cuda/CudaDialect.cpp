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

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::cuda;

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

using EmitError = function_ref<InFlightDiagnostic()>;

/// Threads of a warp, and at most of a block.
static constexpr int64_t kWarp = 32, kMostThreads = 1024;
/// Elements of a vector: 16 bytes of the smallest that there are.
static constexpr int64_t kMostLanes = 16;

static LogicalResult checkNumber(EmitError emitError, StringRef name,
                                 int64_t value, bool isGood,
                                 const Twine &expected) {
  if (isGood)
    return success();
  return emitError() << "'" << name << "' must be " << expected << ", found "
                     << value;
}

static bool isPowerUpTo(int64_t value, int64_t most) {
  return value > 0 && value <= most && llvm::isPowerOf2_64(value);
}

static LogicalResult checkPower(EmitError emitError, StringRef name,
                                int64_t value, int64_t least, int64_t most) {
  return checkNumber(
      emitError, name, value, value >= least && isPowerUpTo(value, most),
      "a power of two from " + Twine(least) + " to " + Twine(most));
}

static LogicalResult checkLanes(EmitError emitError, StringRef name,
                                int64_t value) {
  return checkPower(emitError, name, value, 1, kMostLanes);
}

static LogicalResult checkPositive(EmitError emitError, StringRef name,
                                   int64_t value) {
  return checkNumber(emitError, name, value, value > 0, "positive");
}

static LogicalResult checkThreads(EmitError emitError, int64_t threads) {
  if (threads > 0 && threads <= kMostThreads && threads % kWarp == 0)
    return success();
  return emitError() << "a block has a multiple of 32 threads, at most 1024, "
                        "found "
                     << threads;
}

/// So many numbers, each of which is good.
static LogicalResult
checkList(EmitError emitError, StringRef name, DenseI64ArrayAttr list,
          int64_t count,
          function_ref<LogicalResult(EmitError, StringRef, int64_t)> check) {
  if (list.size() != count)
    return emitError() << "'" << name << "' must be " << count
                       << " numbers, found " << list.size();
  return success(llvm::all_of(list.asArrayRef(), [&](int64_t value) {
    return succeeded(check(emitError, name, value));
  }));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums that a thread adds up with FFMA, side by side.
static constexpr int64_t kGroup = 4;

LogicalResult TensorCoresAttr::verify(EmitError emitError,
                                      DenseI64ArrayAttr warp, int64_t stages,
                                      DenseI64ArrayAttr loads, int64_t stores) {
  auto isBlock = [](EmitError emitError, StringRef name, int64_t value) {
    return checkPower(emitError, name, value, 16, 256);
  };
  return failure(
      failed(checkList(emitError, "warp", warp, 2, isBlock)) ||
      failed(checkNumber(emitError, "stages", stages,
                         stages >= 2 && stages <= 8, "from 2 to 8")) ||
      failed(checkList(emitError, "loads", loads, 2, checkLanes)) ||
      failed(checkLanes(emitError, "stores", stores)));
}

LogicalResult WarpgroupsAttr::verify(EmitError emitError, int64_t stages,
                                     int64_t stores) {
  return failure(
      failed(checkNumber(emitError, "stages", stages,
                         stages >= 3 && stages <= 8, "from 3 to 8")) ||
      failed(checkLanes(emitError, "stores", stores)));
}

/// Warps are 4 threads high and 8 wide.
static LogicalResult checkTile(EmitError emitError, DenseI64ArrayAttr tile,
                               DenseI64ArrayAttr thread) {
  auto isSide = [](EmitError emitError, StringRef name, int64_t value) {
    return checkPower(emitError, name, value, 32, 256);
  };
  auto isGroup = [](EmitError emitError, StringRef name, int64_t value) {
    return checkPower(emitError, name, value, kGroup, 16);
  };
  if (failed(checkList(emitError, "tile", tile, 2, isSide)) ||
      failed(checkList(emitError, "thread", thread, 2, isGroup)))
    return failure();
  int64_t rows = tile[0] / thread[0], columns = tile[1] / thread[1];
  if (rows % 4 != 0 || columns % 8 != 0)
    return emitError() << "'thread' must leave a multiple of 4 × 8 threads for "
                          "'tile', found "
                       << rows << " × " << columns;
  return checkThreads(emitError, rows * columns);
}

LogicalResult ContractionPlanAttr::verify(
    EmitError emitError, DenseI64ArrayAttr tile, DenseI64ArrayAttr thread,
    int64_t depth, DenseI64ArrayAttr loads, int64_t stores,
    TensorCoresAttr tensorCores, WarpgroupsAttr warpgroups) {
  if (failed(checkTile(emitError, tile, thread)) ||
      failed(checkPower(emitError, "depth", depth, 4, 64)) ||
      failed(checkList(emitError, "loads", loads, 2, checkLanes)) ||
      failed(checkNumber(emitError, "stores", stores,
                         stores == 1 || stores == kGroup, "1 or 4")))
    return failure();
  if (warpgroups && !tensorCores)
    return emitError()
           << "'warpgroups' needs 'tensor_cores', whose code brings "
              "its factors";
  if (!tensorCores)
    return success();
  ArrayRef<int64_t> warp = tensorCores.getWarp();
  int64_t threads = tile[0] / thread[0] * (tile[1] / thread[1]);
  if (tile[0] % warp[0] != 0 || tile[1] % warp[1] != 0 ||
      tile[0] / warp[0] * (tile[1] / warp[1]) * kWarp != threads)
    return emitError() << "'warp' must divide 'tile' among the " << threads
                       << " threads that FFMA has, found " << warp[0] << " × "
                       << warp[1];
  return success();
}

LogicalResult AttentionTensorCoresAttr::verify(EmitError emitError,
                                               int64_t keys, QueriesIn,
                                               DenseI64ArrayAttr loads,
                                               int64_t masks, int64_t stores) {
  return failure(failed(checkPower(emitError, "keys", keys, 32, 128)) ||
                 failed(checkList(emitError, "loads", loads, 3, checkLanes)) ||
                 failed(checkPower(emitError, "masks", masks, 1, 2)) ||
                 failed(checkLanes(emitError, "stores", stores)));
}

LogicalResult AttentionPlanAttr::verify(EmitError emitError, int64_t queries,
                                        int64_t keys, int64_t rows,
                                        int64_t depth, int64_t step,
                                        DenseI64ArrayAttr loads, int64_t masks,
                                        int64_t stores,
                                        AttentionTensorCoresAttr tensorCores) {
  constexpr int64_t kSharers = 16;
  if (failed(checkPower(emitError, "queries", queries, 16, 256)) ||
      failed(checkNumber(emitError, "keys", keys, keys == kSharers * kGroup,
                         "64, of which 16 threads have four each")) ||
      failed(checkPower(emitError, "rows", rows, kGroup, 8)) ||
      failed(checkPower(emitError, "depth", depth, 4, 32)) ||
      failed(checkPower(emitError, "step", step, 1, 32)) ||
      failed(checkList(emitError, "loads", loads, 3, checkLanes)) ||
      failed(checkNumber(emitError, "masks", masks,
                         masks == 1 || masks == kGroup, "1 or 4")) ||
      failed(checkPower(emitError, "stores", stores, 1, kGroup)) ||
      failed(checkThreads(emitError, queries / rows * kSharers)))
    return failure();
  // Each warp has 16 queries there.
  if (tensorCores && rows != 8)
    return emitError() << "with 'tensor_cores' 'rows' must be 8, found "
                       << rows;
  return success();
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

LogicalResult RowsPlanAttr::verify(EmitError emitError, int64_t outer,
                                   int64_t columns, int64_t lanes, int64_t team,
                                   int64_t threads, int64_t unrolled) {
  if (failed(
          checkNumber(emitError, "outer", outer, outer >= 0, "at least 0")) ||
      failed(checkNumber(emitError, "columns", columns,
                         columns == 0 || isPowerUpTo(columns, kWarp),
                         "0, or a power of two up to 32")) ||
      failed(checkLanes(emitError, "lanes", lanes)) ||
      failed(checkPower(emitError, "team", team, 1, kMostThreads)) ||
      failed(checkThreads(emitError, threads)) ||
      failed(checkNumber(emitError, "unrolled", unrolled,
                         unrolled >= 1 && unrolled <= 16, "from 1 to 16")))
    return failure();
  return checkNumber(emitError, "threads", threads,
                     threads % team == 0 && llvm::isPowerOf2_64(threads),
                     "a power of two of whole teams of " + Twine(team));
}

LogicalResult WindowsPlanAttr::verify(EmitError emitError, int64_t lanes,
                                      int64_t outputs, int64_t threads) {
  return failure(
      failed(checkLanes(emitError, "lanes", lanes)) ||
      failed(checkNumber(emitError, "outputs", outputs,
                         outputs >= 1 && outputs <= 16, "from 1 to 16")) ||
      failed(checkThreads(emitError, threads)));
}

LogicalResult ScanPlanAttr::verify(EmitError emitError, SumsAlong,
                                   int64_t threads) {
  return checkThreads(emitError, threads);
}

LogicalResult ScatterPlanAttr::verify(EmitError emitError, int64_t lanes,
                                      int64_t columns, int64_t slots,
                                      int64_t rows, int64_t group) {
  if (failed(checkLanes(emitError, "lanes", lanes)) ||
      failed(checkPositive(emitError, "columns", columns)) ||
      failed(checkPositive(emitError, "slots", slots)) ||
      failed(checkNumber(emitError, "rows", rows, rows >= 0, "at least 0")) ||
      failed(checkNumber(emitError, "group", group, group >= 1 && group <= 16,
                         "from 1 to 16")))
    return failure();
  if (rows == 0)
    return failure(failed(checkThreads(emitError, columns)) ||
                   failed(checkNumber(emitError, "slots", slots, slots == 1,
                                      "1 where 'rows' is 0")));
  if (failed(checkNumber(emitError, "rows", rows, rows % slots == 0,
                         "a multiple of 'slots', " + Twine(slots))))
    return failure();
  return checkThreads(emitError, llvm::alignTo(columns * slots, kWarp));
}

LogicalResult TransposePlanAttr::verify(EmitError emitError, int64_t lanes,
                                        int64_t warps) {
  return failure(failed(checkPower(emitError, "lanes", lanes, 1, 4)) ||
                 failed(checkPower(emitError, "warps", warps, 1, kWarp)));
}

LogicalResult ThreadsPlanAttr::verify(EmitError emitError,
                                      DenseI64ArrayAttr lanes,
                                      int64_t threads) {
  return failure(
      failed(checkList(emitError, "lanes", lanes, lanes.size(), checkLanes)) ||
      failed(checkThreads(emitError, threads)));
}
