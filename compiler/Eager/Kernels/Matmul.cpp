//===- Matmul.cpp - Batches of matrix products ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk computes a block of the result of one product of the batch. It copies
// its columns of the right-hand side to scratch memory, so that they are
// contiguous, and reads the left-hand side where it lies, whatever its strides.
// So either operand may be the one that is packed: out = a · b is computed as
// outᵀ = bᵀ · aᵀ where that costs less.
//
// A few rows times a matrix whose rows along k are contiguous are dot products;
// there is nothing to pack then.
//
// Narrow floats and integers are converted on the way, and summed in scratch
// memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Matmul.h"

#include "compiler/Eager/Kernels/Copy.h"

#include <algorithm>
#include <cstring>

namespace tinh::eager {

/// Rows up to which dot products are faster than tiles, and up to which packing
/// the right-hand side does not pay.
static constexpr int64_t kMostDots = 8, kMostUnpacked = 16;

static int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
static uint64_t align(uint64_t bytes) { return (bytes + 63) & ~uint64_t(63); }

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static RowStrides transposed(RowStrides strides) {
  return {strides.column, strides.row};
}

void Matmul::transposeAll() {
  std::swap(shape.a, shape.b);
  std::swap(shape.m, shape.n);
  swapped = !swapped;
  for (Matrices *matrices : {&shape.a, &shape.b, &shape.bias, &shape.out})
    matrices->strides = transposed(matrices->strides);
}

bool Matmul::isUnpacked(int64_t rows) const {
  return direct && shape.b.strides.column == 1 && rows <= kMostUnpacked;
}

/// What it costs, in cycles of a core with the widest vectors, to compute in
/// tiles, with this right-hand side.
double Matmul::cost() const {
  double m = shape.m, n = shape.n, k = shape.k;
  RowStrides right = shape.b.strides;
  double each = right.column == 1 ? 0.06 : right.row == 1 ? 0.3 : 1.5;
  if (isUnpacked(shape.m))
    each = 0;
  double stores = direct && shape.out.strides.column != 1 ? m * n : 0;
  double columns = divideUp(shape.n, panelWidth) * panelWidth;
  return k * n * each + stores + std::max(m, 4.0) * columns * k / 32;
}

Matmul::Matmul(KernelLibrary &library, const MatmulShape &givenShape)
    : library(&library), shape(givenShape), sums(sumsType(shape.dtype)),
      direct(tinh_dtype_size(sums) == tinh_dtype_size(shape.dtype)),
      panelWidth(library.panelWidth(sums)) {
  auto dots = [&] {
    return shape.m <= kMostDots && shape.b.strides.row == 1 &&
           shape.a.strides.column == 1;
  };
  double asGiven = cost();
  bool isDots = dots();
  transposeAll();
  if (isDots || (!dots() && asGiven <= cost()))
    transposeAll();
  method = dots() ? Method::Dots : Method::Tiles;
  chooseBlocks();
}

/// Pieces of work that are enough to share among workers.
static constexpr int64_t kEnoughChunks = 16;
/// Operations that are worth a chunk.
static constexpr double kLeastWork = 1e6;

void Matmul::chooseBlocks() {
  constexpr int64_t kDotBytes = 64 << 10;
  int64_t k = std::max<int64_t>(shape.k, 1);
  rowsPerBlock = shape.m;
  depthPerBlock = k;
  int64_t rowBytes = tinh_dtype_size(sums) * k;
  columnsPerBlock =
      std::min(std::max<int64_t>(kDotBytes / rowBytes, 8), shape.n);
  if (method == Method::Tiles)
    chooseTileBlocks();
  rowBlocks = divideUp(shape.m, rowsPerBlock);
  columnBlocks = divideUp(shape.n, columnsPerBlock);
  double work = 2.0 * rowsPerBlock * columnsPerBlock * k;
  blocksPerChunk =
      std::clamp<int64_t>(static_cast<int64_t>(kLeastWork / work), 1,
                          std::max<int64_t>(numBlocks() / kEnoughChunks, 1));
}

void Matmul::chooseTileBlocks() {
  constexpr int64_t kBlockBytes = 384 << 10, kMostDepth = 1024, kMostPanels = 8,
                    kUnpackedDepth = 16, kUnpackedPanels = 64,
                    kLeastUnpackedPanels = 32, kLeastRows = 96,
                    kMostConvertedRows = 192;
  int64_t m = shape.m, n = shape.n, batch = shape.batch.product();
  auto wanted = static_cast<int64_t>(std::clamp<double>(
      2.0 * m * n * depthPerBlock * batch / kLeastWork, 1, kEnoughChunks));
  // What is read where it lies should be read page by page.
  bool unpacked = isUnpacked(m);
  depthPerBlock =
      std::min(depthPerBlock, unpacked ? kUnpackedDepth : kMostDepth);
  int64_t panelBytes = depthPerBlock * panelWidth * tinh_dtype_size(sums);
  int64_t most = std::clamp<int64_t>(kBlockBytes / panelBytes, 1,
                                     unpacked ? kUnpackedPanels : kMostPanels);
  // Fewer for each if that gives work to more.
  most = std::clamp<int64_t>(
      divideUp(n, panelWidth) * batch / wanted,
      unpacked ? std::min(kLeastUnpackedPanels, most) : 1, most);
  columnsPerBlock = std::min(most * panelWidth, n);
  int64_t blocks = batch * divideUp(n, columnsPerBlock);
  int64_t parts = std::clamp<int64_t>(divideUp(wanted, blocks), 1,
                                      std::max<int64_t>(m / kLeastRows, 1));
  if (!direct)
    parts = std::max(parts, divideUp(m, kMostConvertedRows));
  // A multiple of the heights of tiles.
  rowsPerBlock = std::min(divideUp(divideUp(m, parts), 12) * 12, m);
}

int64_t Matmul::numBlocks() const {
  return shape.batch.product() * rowBlocks * columnBlocks;
}

uint32_t Matmul::numChunks() const {
  return static_cast<uint32_t>(divideUp(numBlocks(), blocksPerChunk));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct Matmul::Block {
  int64_t rows, columns;
  Piece a, b, bias, out;
  bool isWhole; // Panels have all their columns.
};

struct Matmul::Scratch {
  int64_t *offsets; // Of the rows of the right-hand side.
  char *panel, *left, *sums, *turned;
};

Matmul::Block Matmul::blockOf(const Pointers &pointers, int64_t index) const {
  int64_t rest = index;
  int64_t column = rest % columnBlocks * columnsPerBlock;
  rest /= columnBlocks;
  int64_t row = rest % rowBlocks * rowsPerBlock;
  rest /= rowBlocks;
  int64_t a = 0, b = 0, bias = 0, out = 0;
  for (size_t i = shape.batch.size(); i-- > 0;) {
    int64_t at = rest % shape.batch[i];
    rest /= shape.batch[i];
    a += at * shape.a.batch[i];
    b += at * shape.b.batch[i];
    bias += shape.hasBias ? at * shape.bias.batch[i] : 0;
    out += at * shape.out.batch[i];
  }
  auto piece = [&](const void *data, const Matrices &matrices, int64_t offset,
                   int64_t row, int64_t column) {
    RowStrides strides = matrices.strides;
    offset += row * strides.row + column * strides.column;
    return Piece{advance(static_cast<const char *>(data), offset, shape.dtype),
                 strides};
  };
  Block block;
  block.rows = std::min(rowsPerBlock, shape.m - row);
  block.columns = std::min(columnsPerBlock, shape.n - column);
  block.a = piece(pointers.a, shape.a, a, row, 0);
  block.b = piece(pointers.b, shape.b, b, 0, column);
  block.out = piece(pointers.out, shape.out, out, row, column);
  if (shape.hasBias)
    block.bias = piece(pointers.bias, shape.bias, bias, row, column);
  block.isWhole = block.columns % panelWidth == 0;
  return block;
}

Matmul::Scratch Matmul::takeScratch(Worker &worker) const {
  uint64_t size = tinh_dtype_size(sums);
  uint64_t width = divideUp(columnsPerBlock, panelWidth) * panelWidth;
  uint64_t offsets = align(depthPerBlock * sizeof(int64_t)), panel = 0,
           turned = 0, left = 0, results = 0;
  if (method == Method::Tiles)
    panel = align(depthPerBlock * width * size);
  if (!direct) {
    turned = panel;
    left = method == Method::Tiles ? align(rowsPerBlock * depthPerBlock * size)
                                   : 0;
    results = align(rowsPerBlock * columnsPerBlock * size);
  }
  auto *memory = static_cast<char *>(
      worker.scratch(offsets + panel + turned + left + results));
  Scratch scratch;
  scratch.offsets = reinterpret_cast<int64_t *>(memory);
  scratch.panel = memory + offsets;
  scratch.turned = scratch.panel + panel;
  scratch.left = scratch.turned + turned;
  scratch.sums = scratch.left + left;
  return scratch;
}

/// Where sums start from: the bias, or zero.
Matmul::Piece Matmul::initialSums(const Block &block,
                                  const Scratch &scratch) const {
  alignas(64) static const char zero[64] = {};
  if (!shape.hasBias)
    return {zero, {0, 0}};
  if (direct)
    return block.bias;
  Piece dense{scratch.sums, {block.columns, 1}};
  copyMatrix(*library, {block.bias.data, shape.dtype, block.bias.strides},
             {dense.data, sums, dense.strides}, block.rows, block.columns);
  return dense;
}

/// Rows [k0, k0 + depth) of the block's columns of the right-hand side; gives
/// where they are.
Matmul::Piece Matmul::packRight(const Block &block, const Scratch &scratch,
                                int64_t k0, int64_t depth) const {
  RowStrides from = block.b.strides;
  const char *data = advance(block.b.data, k0 * from.row, shape.dtype);
  bool unpacked =
      from.column == 1 && direct &&
      (block.rows == 1 || (block.rows <= kMostUnpacked && block.isWhole));
  if (unpacked)
    return {data, from};
  int64_t width = divideUp(block.columns, panelWidth) * panelWidth;
  int64_t size = tinh_dtype_size(sums), rest = width - block.columns;
  for (int64_t i = 0; rest && i < depth; ++i)
    std::memset(scratch.panel + (i * width + block.columns) * size, 0,
                rest * size);
  tinh_dtype_t dtype = direct ? sums : shape.dtype;
  copyMatrix(*library, {data, dtype, from}, {scratch.panel, sums, {width, 1}},
             depth, block.columns, scratch.turned);
  return {scratch.panel, {width, 1}};
}

void Matmul::runTiles(Kernel &kernel, const Block &block,
                      const Scratch &scratch) const {
  Piece initial = initialSums(block, scratch), out = block.out;
  if (!direct)
    out = {scratch.sums, {block.columns, 1}};
  int64_t k0 = 0;
  do { // Even if there is nothing to sum.
    int64_t depth = std::min(depthPerBlock, shape.k - k0);
    Piece right = packRight(block, scratch, k0, depth);
    for (int64_t i = 0; i < depth; ++i)
      scratch.offsets[i] = i * right.strides.row;
    Piece left{advance(block.a.data, k0 * block.a.strides.column, shape.dtype),
               block.a.strides};
    if (!direct) {
      MatrixPlace to{scratch.left, sums, {depth, 1}};
      copyMatrix(*library, {left.data, shape.dtype, left.strides}, to,
                 block.rows, depth);
      left = {scratch.left, to.strides};
    }
    ContractionSizes sizes{block.columns, depth, left.strides, initial.strides,
                           out.strides};
    void *buffers[] = {&sizes,
                       const_cast<char *>(left.data),
                       const_cast<char *>(right.data),
                       scratch.offsets,
                       const_cast<char *>(initial.data),
                       const_cast<char *>(out.data)};
    kernel(buffers, nullptr, 0, block.rows);
    initial = out;
    k0 += depthPerBlock;
  } while (k0 < shape.k);
}

/// Each element is the dot product of a row of each operand.
void Matmul::runDots(Kernel &kernel, const Block &block,
                     const Scratch &scratch) const {
  Piece initial = initialSums(block, scratch), out = block.out;
  if (!direct)
    out = {scratch.sums, {block.columns, 1}};
  auto at = [](const Piece &piece, int64_t row, tinh_dtype_t dtype) {
    return const_cast<char *>(
        advance(piece.data, row * piece.strides.row, dtype));
  };
  RowSizes<4> sizes{shape.k,
                    {transposed(block.b.strides),
                     {0, block.a.strides.column},
                     {initial.strides.column, 0},
                     {out.strides.column, 0}}};
  for (int64_t row = 0; row < block.rows; ++row) {
    void *buffers[] = {&sizes, const_cast<char *>(block.b.data),
                       at(block.a, row, shape.dtype), at(initial, row, sums),
                       at(out, row, sums)};
    kernel(buffers, nullptr, 0, block.columns);
  }
}

void Matmul::run(const void *a, const void *b, const void *bias, void *out,
                 uint32_t begin, uint32_t end, Worker &worker) const {
  Pointers pointers{swapped ? b : a, swapped ? a : b, bias, out};
  Kernel &kernel = method == Method::Dots
                       ? library->dot(direct ? sums : shape.dtype, sums)
                       : library->contraction(sums);
  if (!kernel.isCompiled())
    worker.expectDelay();
  Scratch scratch = takeScratch(worker);
  int64_t last = std::min(end * blocksPerChunk, numBlocks());
  for (int64_t index = begin * blocksPerChunk; index < last; ++index) {
    Block block = blockOf(pointers, index);
    if (method == Method::Dots)
      runDots(kernel, block, scratch);
    else
      runTiles(kernel, block, scratch);
    if (!direct)
      copyMatrix(*library, {scratch.sums, sums, {block.columns, 1}},
                 {block.out.data, shape.dtype, block.out.strides}, block.rows,
                 block.columns);
  }
}

} // namespace tinh::eager
