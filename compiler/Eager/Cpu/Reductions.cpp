//===- Reductions.cpp - Sums and extremes over axes -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel reduces the columns of rows. What is kept of the input is the rows;
// of what is reduced, one dimension is the columns, and a call for each index
// of the others goes on from what the calls before have left.
//
// If little is kept, the input is reduced in pieces first, and then these.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Iteration.h"
#include "compiler/Eager/Cpu/RowsOperation.h"
#include "compiler/Eager/Kernels/KernelLibrary.h"

using namespace tinh;
using namespace tinh::eager;

// Rows that are reduced side by side, at least, and pieces at most.
static constexpr int64_t kRowsTogether = 64;
static constexpr int64_t kMostPieces = 64;
// Elements that are added one after the other, at most: sums of these are then
// added, so that rounding errors grow with the root of their number. Kernels
// whose lanes lie along the columns have many sums for each row.
static constexpr int64_t kMostAlongColumns = 1 << 15, kMostAcrossRows = 512;

namespace {

/// What a reduction visits, in elements: the dimensions that it keeps, of the
/// input and the result, and those that it reduces, of the input.
struct ReductionSpace {
  Iteration<2> kept;
  Iteration<1> reduced;
  // One dimension of `reduced` may be in pieces, which are a dimension kept:
  // the last piece may be smaller.
  uint32_t splitDimension = 0;
  int64_t splitExtent = 0, pieceStride = 0;

  Lanes lanes() const {
    return reduced.strides[0][0] == 1 ? Lanes::AlongColumns : Lanes::AcrossRows;
  }
};

class ReduceOperation {
public:
  ReduceOperation(ReduceOp op, const ReductionSpace &space, Elements x,
                  tinh_dtype_t xType, Elements result, tinh_dtype_t resultType,
                  tinh_dtype_t sumType, int64_t divisor);

  bool overwrites() const { return true; }
  bool isQuick() const {
    return eager::isQuick(space.kept.elements() * space.reduced.elements()) &&
           reduceKernel->isCompiled() &&
           (!divideKernel || divideKernel->isCompiled()) &&
           (!convertKernel || convertKernel->isCompiled());
  }
  uint32_t numChunks() const {
    return static_cast<uint32_t>(ceilDiv(space.kept.elements(), perChunk));
  }
  void run(uint32_t begin, uint32_t end, Worker &worker);

private:
  void reduceRows(int64_t xOffset, int64_t resultOffset, int64_t count,
                  Worker &worker) const;
  void reduceInto(char *sums, int64_t stride, int64_t xOffset, int64_t piece,
                  int64_t count, Worker &worker) const;
  void finish(char *sums, int64_t resultOffset, int64_t count) const;

  ReductionSpace space;
  Elements x, result;
  Kernel *reduceKernel;
  Kernel *divideKernel = nullptr;  // Of a mean.
  Kernel *convertKernel = nullptr; // None: sums are where the results are.
  int64_t xSize, resultSize, sumSize;
  uint64_t identity, divisor;
  int64_t perChunk; // Elements kept.
};

} // namespace

/// The number that changes no result.
static Scalar identityOf(ReduceOp op, tinh_dtype_t dtype) {
  Scalar number = {dtype, {}};
  withElement(dtype, [&]<typename Element>(Element) {
    if constexpr (std::is_integral_v<Element>) {
      using Limits = std::numeric_limits<Element>;
      number.integer = op == ReduceOp::Max    ? int64_t(Limits::lowest())
                       : op == ReduceOp::Min  ? int64_t(Limits::max())
                       : op == ReduceOp::Prod ? 1
                                              : 0;
    } else {
      double infinity = std::numeric_limits<double>::infinity();
      number.real = op == ReduceOp::Max    ? -infinity
                    : op == ReduceOp::Min  ? infinity
                    : op == ReduceOp::Prod ? 1
                                           : 0;
    }
  });
  return number;
}

ReduceOperation::ReduceOperation(ReduceOp op, const ReductionSpace &space,
                                 Elements x, tinh_dtype_t xType,
                                 Elements result, tinh_dtype_t resultType,
                                 tinh_dtype_t sumType, int64_t divisor)
    : space(space), x(x), result(result), xSize(elementSize(xType)),
      resultSize(elementSize(resultType)), sumSize(elementSize(sumType)) {
  KernelLibrary &library = KernelLibrary::get();
  reduceKernel = &library.reduce(op, xType, sumType, space.lanes());
  identity = bitsOf(identityOf(op, sumType));
  if (op == ReduceOp::Mean) {
    divideKernel = &library.elementwise(ElementwiseOp::Div, sumType);
    this->divisor = bitsOf({sumType, {static_cast<double>(divisor)}});
  }
  if (resultType != sumType)
    convertKernel = &library.cast(sumType, resultType);
  int64_t reducedCount = std::max<int64_t>(1, space.reduced.elements());
  perChunk = std::max<int64_t>(1, elementsPerChunk(xType) / reducedCount);
  if (space.lanes() == Lanes::AcrossRows)
    perChunk = std::max(perChunk, kRowsTogether);
}

void ReduceOperation::run(uint32_t begin, uint32_t end, Worker &worker) {
  if (!reduceKernel->isCompiled())
    worker.expectDelay();
  // Elements that are kept, a run of neighbours at a time.
  const Iteration<2> &kept = space.kept;
  int64_t last = std::min(end * perChunk, kept.elements());
  for (int64_t i = begin * perChunk; i < last;) {
    int64_t column = i % kept.columns(), row = i / kept.columns();
    int64_t count = std::min(kept.columns() - column, last - i);
    kept.forRows(row, row + 1, [&](const int64_t (&offsets)[2], int64_t) {
      reduceRows(offsets[0] + column * kept.strides[0][0],
                 offsets[1] + column * kept.strides[1][0], count, worker);
    });
    i += count;
  }
}

void ReduceOperation::reduceRows(int64_t xOffset, int64_t resultOffset,
                                 int64_t count, Worker &worker) const {
  int64_t piece = space.splitExtent ? resultOffset / space.pieceStride : 0;
  if (!convertKernel) {
    char *sums = result.data() + resultOffset * resultSize;
    reduceInto(sums, space.kept.strides[1][0], xOffset, piece, count, worker);
    return finish(sums, resultOffset, count);
  }
  // Sums of another dtype, a few at a time.
  constexpr int64_t kMost = 256;
  alignas(64) char sums[kMost * sizeof(double)];
  for (int64_t first = 0; first < count; first += kMost) {
    int64_t some = std::min(kMost, count - first);
    reduceInto(sums, 1, xOffset + first * space.kept.strides[0][0], piece, some,
               worker);
    finish(sums, resultOffset + first * space.kept.strides[1][0], some);
  }
}

void ReduceOperation::reduceInto(char *sums, int64_t stride, int64_t xOffset,
                                 int64_t piece, int64_t count,
                                 Worker &worker) const {
  Iteration<1> reduced(space.reduced);
  if (space.splitExtent) {
    int64_t &extent = reduced.extents[space.splitDimension];
    extent = std::min(extent, space.splitExtent - piece * extent);
  }
  uint64_t start = identity;
  RowSizes<3> sizes{
      reduced.columns(),
      {{space.kept.strides[0][0], reduced.strides[0][0]}, {0, 0}, {stride, 0}}};
  char *data = x.data() + xOffset * xSize;
  void *buffers[] = {&sizes, data, &start, sums};
  void *scratch = worker.scratch(reduceKernel->scratchSize(sizes.columns));
  if (reduced.elements() == 0) { // Nothing to reduce: the identity.
    sizes.columns = 0;
    return (*reduceKernel)(buffers, scratch, 0, count);
  }
  int64_t most = space.lanes() == Lanes::AlongColumns ? kMostAlongColumns
                                                      : kMostAcrossRows;
  auto reduceRow = [&](int64_t at) {
    for (int64_t first = 0; first < reduced.columns(); first += most) {
      sizes.columns = std::min(most, reduced.columns() - first);
      buffers[1] = data + (at + first * reduced.strides[0][0]) * xSize;
      (*reduceKernel)(buffers, scratch, 0, count);
      // Go on from there.
      sizes.operands[1].row = stride;
      buffers[2] = sums;
    }
  };
  reduced.forRows(0, reduced.rows(),
                  [&](const int64_t (&offsets)[1], int64_t rows) {
                    for (int64_t row = 0; row < rows; ++row)
                      reduceRow(offsets[0] + row * reduced.rowStride(0));
                  });
}

void ReduceOperation::finish(char *sums, int64_t resultOffset,
                             int64_t count) const {
  int64_t stride = convertKernel ? 1 : space.kept.strides[1][0];
  if (divideKernel) {
    uint64_t by = divisor;
    RowSizes<3> sizes{1, {{stride, 0}, {0, 0}, {stride, 0}}};
    if (stride == 1)
      sizes = {count, {{0, 1}, {0, 0}, {0, 1}}};
    void *buffers[] = {&sizes, sums, &by, sums};
    (*divideKernel)(buffers, nullptr, 0, stride == 1 ? 1 : count);
  }
  if (convertKernel) {
    RowSizes<2> sizes{count, {{0, 1}, {0, space.kept.strides[1][0]}}};
    void *buffers[] = {&sizes, sums, result.data() + resultOffset * resultSize};
    (*convertKernel)(buffers, nullptr, 0, 1);
  }
}

/// Splits the dimensions of x.
static ReductionSpace makeSpace(const TensorImpl &x,
                                std::span<const int64_t> axes,
                                const TensorImpl &out) {
  ReductionSpace space;
  for (uint32_t d = x.rank(); d-- > 0;) {
    if (x.sizes[d] == 1)
      continue;
    bool isReduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (isReduced)
      space.reduced.add(x.sizes[d], {x.strides[d]});
    else
      space.kept.add(x.sizes[d], {x.strides[d], out.strides[d]});
  }
  space.kept.sort(0);
  space.kept.merge();
  space.reduced.sort(0);
  space.reduced.merge();
  return space;
}

/// How many pieces are worth a thread each, if those that the kept elements
/// give are few.
static int64_t choosePieces(const ReductionSpace &space, tinh_dtype_t dtype) {
  int64_t kept = space.kept.elements(), reduced = space.reduced.elements();
  int64_t perChunk = elementsPerChunk(dtype);
  int64_t worthwhile = std::min(kMostPieces, kept * reduced / perChunk);
  int64_t together =
      space.lanes() == Lanes::AcrossRows ? kRowsTogether : int64_t(1);
  int64_t without = ceilDiv(
      kept, std::max(together, perChunk / std::max<int64_t>(1, reduced)));
  return without * 4 <= worthwhile ? worthwhile / without : 1;
}

/// Cuts the longest of the reduced dimensions, for partial results in order of
/// the kept elements, one piece after the other; returns how many there are.
static int64_t cutReduced(ReductionSpace &space, int64_t pieces) {
  Iteration<1> &reduced = space.reduced;
  uint32_t longest = 0;
  for (uint32_t d = 1; d < reduced.rank; ++d)
    if (reduced.extents[d] > reduced.extents[longest])
      longest = d;
  space.splitDimension = longest;
  space.splitExtent = reduced.extents[longest];
  reduced.extents[longest] = ceilDiv(space.splitExtent, pieces);
  pieces = ceilDiv(space.splitExtent, reduced.extents[longest]);

  int64_t stride = 1;
  for (uint32_t d = 0; d < space.kept.rank; ++d) {
    space.kept.strides[1][d] = stride;
    stride *= space.kept.extents[d];
  }
  space.pieceStride = stride;
  space.kept.add(
      pieces, {reduced.extents[longest] * reduced.strides[0][longest], stride});
  return pieces;
}

void eager::queueReduce(ReduceOp op, const TensorImpl &x,
                        std::span<const int64_t> axes, TensorImpl &out,
                        const Call &call) {
  int64_t kept = out.numElements();
  bool isHalf = x.dtype == TINH_DTYPE_F16 || x.dtype == TINH_DTYPE_BF16;
  tinh_dtype_t sumType = isHalf ? TINH_DTYPE_F32 : x.dtype;
  int64_t divisor = x.numElements() / kept;
  ReductionSpace space = makeSpace(x, axes, out);
  Storage *writes[] = {out.storage.get()};
  int64_t pieces = choosePieces(space, x.dtype);
  if (pieces == 1) {
    Engine::get().emplace<ReduceOperation>(
        call, std::array{x.storage.get()}, writes, op, space, Elements(x),
        x.dtype, Elements(out), out.dtype, sumType, divisor);
    return;
  }
  ReductionSpace first(space), second(space);
  pieces = cutReduced(first, pieces);
  Ref<TensorImpl> partial = makeTemporary(sumType, std::array{pieces * kept});
  ReduceOp firstOp = op == ReduceOp::Mean ? ReduceOp::Sum : op;
  Engine::get().emplace<ReduceOperation>(
      call, std::array{x.storage.get()}, std::array{partial->storage.get()},
      firstOp, first, Elements(x), x.dtype, Elements(*partial), sumType,
      sumType, divisor);
  for (uint32_t d = 0; d < space.kept.rank; ++d)
    second.kept.strides[0][d] = first.kept.strides[1][d];
  second.reduced = Iteration<1>();
  second.reduced.add(pieces, {kept});
  Engine::get().emplace<ReduceOperation>(
      call, std::array{partial->storage.get()}, writes, op, second,
      Elements(*partial), sumType, Elements(out), out.dtype, sumType, divisor);
}

void kernels::reduce(const Primitive &primitive) {
  const auto &[op, axes] = primitive.get<primitives::Reduce>();
  queueReduce(op, primitive.input(0), axes, primitive.output(), primitive.call);
}
