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

#include <algorithm>
#include <cstring>

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

void Matmul::transposeAll() {
  std::swap(shape.a, shape.b);
  std::swap(shape.m, shape.n);
  swapped = !swapped;
  for (Matrices *matrices : {&shape.a, &shape.b, &shape.bias, &shape.out})
    matrices->strides = transposed(matrices->strides);
}

bool Matmul::isUnpacked(int64_t rows) const {
  return direct && shape.b.strides.column == 1 &&
         rows <= cpu::kMostUnpackedRows;
}

/// Additions and multiplications.
double Matmul::operationsPerCycle() const {
  return library->machine().operationsPerCycle() * 4 / bytesOf(1);
}

/// Whether tiles read a dense copy of the left-hand side: of another dtype, or
/// where the elements that they read together, or one after the other, would
/// displace each other in the first-level cache.
bool Matmul::packsLeft() const {
  constexpr int64_t kPage = 4096, kFewRows = 64;
  auto aliases = [&](int64_t stride) {
    return stride && bytesOf(stride) % kPage == 0;
  };
  return !direct || (shape.m >= kFewRows && (aliases(shape.a.strides.row) ||
                                             aliases(shape.a.strides.column)));
}

/// Elements from one row of such a copy to the next: of a depth that is a power
/// of two they would displace each other, too.
static int64_t copiedRow(int64_t depth) {
  constexpr int64_t kLine = 16;
  return depth + kLine;
}

/// Cycles to pack an element of the right-hand side.
double Matmul::packCycles() const {
  using enum cpu::CopyOrder;
  if (isUnpacked(shape.m))
    return 0;
  RowStrides from = shape.b.strides;
  return cpu::copyCycles(library->machine(), bytesOf(1),
                         from.column == 1 ? Neighbours
                         : from.row == 1  ? Columns
                                          : Apart);
}

/// What it costs, in cycles of a core, to compute in tiles, with this
/// right-hand side.
double Matmul::cost() const {
  double m = shape.m, n = shape.n, k = shape.k;
  double stores = 0;
  if (direct && shape.out.strides.column != 1)
    stores =
        m * n *
        cpu::copyCycles(library->machine(), bytesOf(1), cpu::CopyOrder::Apart);
  double columns = divideUp(shape.n, panelWidth) * panelWidth;
  // Tiles of fewer rows wait for their sums.
  return k * n * packCycles() + stores +
         2 * std::max(m, 4.0) * columns * k / operationsPerCycle();
}

Matmul::Matmul(KernelLibrary &library, const MatmulShape &givenShape)
    : Products(library, givenShape.dtype), shape(givenShape) {
  // Rows up to which dot products are faster than tiles: they load two elements
  // for each product, where tiles load one or store a packed one.
  constexpr int64_t kMostDots = 8;
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

void Matmul::chooseBlocks() {
  int64_t k = std::max<int64_t>(shape.k, 1);
  rowsPerBlock = shape.m;
  depthPerBlock = k;
  // Columns that several rows go through. What the first-level cache has no
  // room for, the second one gives as fast as dot products read it.
  columnsPerBlock = std::min(
      std::max<int64_t>(2 * library->machine().l1.bytes / bytesOf(k), 8),
      shape.n);
  if (method == Method::Tiles)
    chooseTileBlocks();
  rowBlocks = divideUp(shape.m, rowsPerBlock);
  columnBlocks = divideUp(shape.n, columnsPerBlock);
  blocksPerChunk = cpu::blocksPerChunk(2.0 * rowsPerBlock * columnsPerBlock * k,
                                       numBlocks(), kEnoughChunks);
}

void Matmul::chooseTileBlocks() {
  // So deep, loads and stores of the sums take a hundredth of the time.
  constexpr int64_t kMostDepth = 1024;
  // Of a matrix that is read where it lies, whole pages of each row.
  constexpr int64_t kLeastPanels = 32, kMostPanels = 64;
  int64_t panels = divideUp(shape.n, panelWidth);
  bool unpacked = isUnpacked(shape.m);
  depthPerBlock =
      cpu::evenBlock(depthPerBlock, unpacked ? cpu::kMatrixDepth : kMostDepth);
  int64_t resident = cpu::residentBytes(library->machine());
  cpu::ProductSizes product;
  product.outer = shape.batch.product();
  product.rows = shape.m;
  product.columns = shape.n;
  product.depth = shape.k;
  int64_t most =
      std::max<int64_t>(resident / bytesOf(depthPerBlock * panelWidth), 1);
  if (unpacked)
    most = std::min(most, kMostPanels);
  product.leastGroups = divideUp(panels, most);
  product.mostGroups = unpacked ? divideUp(panels, kLeastPanels) : panels;
  int64_t height =
      cpu::mostTileRows(cpu::kTileVectors, library->machine().vectorRegisters);
  product.mostRowBlocks = unpacked ? 1 : divideUp(shape.m, height);
  product.rightCycles = packCycles();
  if (packsLeft()) { // To the same cache.
    product.leastRowBlocks =
        divideUp(bytesOf(shape.m * depthPerBlock), resident);
    product.leftCycles = cpu::copyCycles(library->machine(), bytesOf(1));
  }
  product.wantedChunks = cpu::chunksFor(
      2.0 * shape.m * shape.n * shape.k * product.outer, kEnoughChunks);
  product.operationsPerCycle = operationsPerCycle();
  cpu::ProductBlocks blocks = cpu::chooseBlocks(product);
  columnsPerBlock =
      std::min(divideUp(panels, blocks.groups) * panelWidth, shape.n);
  rowsPerBlock = std::min(
      divideUp(divideUp(shape.m, blocks.rowBlocks), height) * height, shape.m);
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
  MatrixPlace a, b, bias, out;
  bool isWhole; // Panels have all their columns.
};

struct Matmul::Scratch {
  int64_t *offsets; // Of the rows of the right-hand side.
  char *panel, *left, *sums, *turned;
};

Matmul::Block Matmul::blockOf(const Pointers &pointers, int64_t index) const {
  Digits digits(index);
  int64_t column = digits.take(columnBlocks) * columnsPerBlock;
  int64_t row = digits.take(rowBlocks) * rowsPerBlock;
  int64_t a = 0, b = 0, bias = 0, out = 0;
  for (size_t i = shape.batch.size(); i-- > 0;) {
    int64_t at = digits.take(shape.batch[i]);
    a += at * shape.a.batch[i];
    b += at * shape.b.batch[i];
    bias += shape.hasBias ? at * shape.bias.batch[i] : 0;
    out += at * shape.out.batch[i];
  }
  auto piece = [&](const void *data, const Matrices &matrices, int64_t offset) {
    auto *first = advance(static_cast<const char *>(data), offset, elements);
    return MatrixPlace{first, elements, matrices.strides};
  };
  Block block;
  block.rows = std::min(rowsPerBlock, shape.m - row);
  block.columns = std::min(columnsPerBlock, shape.n - column);
  block.a = piece(pointers.a, shape.a, a).from(row, 0);
  block.b = piece(pointers.b, shape.b, b).from(0, column);
  block.out = piece(pointers.out, shape.out, out).from(row, column);
  if (shape.hasBias)
    block.bias = piece(pointers.bias, shape.bias, bias).from(row, column);
  block.isWhole = block.columns % panelWidth == 0;
  return block;
}

Matmul::Scratch Matmul::takeScratch(Worker &worker) const {
  bool tiles = method == Method::Tiles;
  int64_t width = divideUp(columnsPerBlock, panelWidth) * panelWidth;
  int64_t panel = tiles ? bytesOf(depthPerBlock * width) : 0;
  int64_t left = tiles && packsLeft()
                     ? bytesOf(rowsPerBlock * copiedRow(depthPerBlock))
                     : 0;
  Scratch scratch;
  char *offsets;
  eager::takeScratch(
      worker,
      {{&offsets, depthPerBlock * static_cast<int64_t>(sizeof(int64_t))},
       {&scratch.panel, panel},
       {&scratch.turned, direct ? 0 : panel},
       {&scratch.left, left},
       {&scratch.sums, direct ? 0 : bytesOf(rowsPerBlock * columnsPerBlock)}});
  scratch.offsets = reinterpret_cast<int64_t *>(offsets);
  return scratch;
}

/// Where sums start from: the bias, or zero.
MatrixPlace Matmul::initialSums(const Block &block,
                                const Scratch &scratch) const {
  if (!shape.hasBias)
    return zeros();
  if (direct)
    return block.bias;
  MatrixPlace dense{scratch.sums, sums, {block.columns, 1}};
  copy(block.bias, dense, block.rows, block.columns);
  return dense;
}

/// The sums of a block: its results, if these have that dtype.
MatrixPlace Matmul::sumsOf(const Block &block, const Scratch &scratch) const {
  if (direct)
    return block.out;
  return {scratch.sums, sums, {block.columns, 1}};
}

/// Rows [k0, k0 + depth) of the block's columns of the right-hand side; gives
/// where they are.
MatrixPlace Matmul::packRight(const Block &block, const Scratch &scratch,
                              int64_t k0, int64_t depth) const {
  MatrixPlace from = block.b.from(k0, 0);
  bool unpacked = from.strides.column == 1 && direct &&
                  (block.rows == 1 ||
                   (block.rows <= cpu::kMostUnpackedRows && block.isWhole));
  if (unpacked)
    return from;
  int64_t width = divideUp(block.columns, panelWidth) * panelWidth;
  MatrixPlace packed{scratch.panel, sums, {width, 1}};
  for (int64_t i = 0; block.columns < width && i < depth; ++i)
    std::memset(scratch.panel + bytesOf(i * width + block.columns), 0,
                bytesOf(width - block.columns));
  copyMatrix(*library, from, packed, depth, block.columns, scratch.turned);
  return packed;
}

void Matmul::runTiles(const Block &block, const Scratch &scratch) const {
  MatrixPlace initial = initialSums(block, scratch),
              out = sumsOf(block, scratch);
  int64_t k0 = 0;
  do { // Even if there is nothing to sum.
    int64_t depth = std::min(depthPerBlock, shape.k - k0);
    MatrixPlace right = packRight(block, scratch, k0, depth);
    for (int64_t i = 0; i < depth; ++i)
      scratch.offsets[i] = i * right.strides.row;
    MatrixPlace left = block.a.from(0, k0);
    if (packsLeft()) {
      MatrixPlace dense{scratch.left, sums, {copiedRow(depth), 1}};
      copy(left, dense, block.rows, depth);
      left = dense;
    }
    multiply(block.rows, block.columns, depth, left, right.data,
             scratch.offsets, initial, out);
    initial = out;
    k0 += depthPerBlock;
  } while (k0 < shape.k);
}

/// Each element is the dot product of a row of each operand.
void Matmul::runDots(const Block &block, const Scratch &scratch) const {
  MatrixPlace initial = initialSums(block, scratch),
              out = sumsOf(block, scratch);
  RowSizes<4> sizes{shape.k,
                    {transposed(block.b.strides),
                     {0, block.a.strides.column},
                     {initial.strides.column, 0},
                     {out.strides.column, 0}}};
  for (int64_t row = 0; row < block.rows; ++row) {
    auto at = [&](const MatrixPlace &place) {
      return const_cast<void *>(place.from(row, 0).data);
    };
    void *buffers[] = {&sizes, const_cast<void *>(block.b.data), at(block.a),
                       at(initial), at(out)};
    kernel()(buffers, nullptr, 0, block.columns);
  }
}

Kernel &Matmul::kernel() const {
  return method == Method::Dots ? library->dot(elements, sums)
                                : library->contraction(sums);
}

void Matmul::run(const void *a, const void *b, const void *bias, void *out,
                 uint32_t begin, uint32_t end, Worker &worker) const {
  Pointers pointers{swapped ? b : a, swapped ? a : b, bias, out};
  if (!kernel().isCompiled())
    worker.expectDelay();
  Scratch scratch = takeScratch(worker);
  int64_t last = std::min(end * blocksPerChunk, numBlocks());
  for (int64_t index = begin * blocksPerChunk; index < last; ++index) {
    Block block = blockOf(pointers, index);
    if (method == Method::Dots)
      runDots(block, scratch);
    else
      runTiles(block, scratch);
    if (!direct)
      copy(sumsOf(block, scratch), block.out, block.rows, block.columns);
  }
}

} // namespace tinh::eager
