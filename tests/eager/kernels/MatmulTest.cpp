//===- MatmulTest.cpp - Products against loops ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Matmul.h"

#include "tests/eager/kernels/KernelsTesting.h"

#include <thread>

using namespace tinh::eager;

namespace {

Dims dims(std::initializer_list<int64_t> values) {
  return Dims(std::span<const int64_t>(values.begin(), values.size()));
}

/// A product with its operands, of random elements.
struct Case {
  Case(const MatmulShape &shape, std::mt19937 &random)
      : shape(shape), a(shape.dtype, extent(shape.a, shape.m, shape.k)),
        b(shape.dtype, extent(shape.b, shape.k, shape.n)),
        bias(shape.dtype,
             shape.hasBias ? extent(shape.bias, shape.m, shape.n) : 1),
        out(shape.dtype, extent(shape.out, shape.m, shape.n)) {
    a.fill(random);
    b.fill(random);
    bias.fill(random);
    out.fill(random);
  }

  /// Elements of the memory that matrices reach over.
  int64_t extent(const Matrices &matrices, int64_t rows, int64_t columns) {
    int64_t last = (rows - 1) * matrices.strides.row +
                   (columns - 1) * matrices.strides.column;
    for (size_t i = 0; i < shape.batch.size(); ++i)
      last += (shape.batch[i] - 1) * matrices.batch[i];
    return std::max<int64_t>(last + 1, 1);
  }

  void run(const Matmul &matmul, uint32_t begin, uint32_t end) {
    Worker worker;
    matmul.run(a.data(), b.data(), shape.hasBias ? bias.data() : nullptr,
               out.data(), begin, end, worker);
  }

  void expectRight();

  MatmulShape shape;
  Memory a, b, bias, out;
};

void Case::expectRight() {
  int64_t count = shape.batch.product();
  for (int64_t batch = 0; batch < count; ++batch) {
    int64_t rest = batch, ofA = 0, ofB = 0, ofBias = 0, ofOut = 0;
    for (size_t i = shape.batch.size(); i-- > 0;) {
      int64_t index = rest % shape.batch[i];
      rest /= shape.batch[i];
      ofA += index * shape.a.batch[i];
      ofB += index * shape.b.batch[i];
      ofBias += shape.hasBias ? index * shape.bias.batch[i] : 0;
      ofOut += index * shape.out.batch[i];
    }
    auto at = [](const Memory &memory, int64_t offset,
                 const RowStrides &strides, int64_t row, int64_t column) {
      return memory.get(offset + row * strides.row + column * strides.column);
    };
    for (int64_t m = 0; m < shape.m; ++m)
      for (int64_t n = 0; n < shape.n; ++n) {
        double sum = shape.hasBias ? at(bias, ofBias, shape.bias.strides, m, n)
                                   : 0,
               size = std::abs(sum);
        for (int64_t k = 0; k < shape.k; ++k) {
          double product = at(a, ofA, shape.a.strides, m, k) *
                           at(b, ofB, shape.b.strides, k, n);
          sum += product;
          size += std::abs(product);
        }
        if (!isFloating(shape.dtype)) { // They wrap.
          Memory wrapped(shape.dtype, 1);
          wrapped.set(0, sum);
          sum = wrapped.get(0);
        }
        ASSERT_NEAR(at(out, ofOut, shape.out.strides, m, n), sum,
                    tolerance(shape.dtype, size))
            << "at " << batch << ", " << m << ", " << n << " of " << shape.m
            << "x" << shape.k << "x" << shape.n << " in dtype " << shape.dtype
            << ", a " << shape.a.strides.row << " " << shape.a.strides.column
            << ", b " << shape.b.strides.row << " " << shape.b.strides.column
            << ", out " << shape.out.strides.row << " "
            << shape.out.strides.column;
      }
  }
  EXPECT_TRUE(out.marginsAreWhole());
}

/// Dense matrices, or their transposes.
Matrices matrices(int64_t rows, int64_t columns, bool transposed) {
  return {{}, transposed ? RowStrides{1, rows} : RowStrides{columns, 1}};
}

class MatmulTest : public ForCpus {
protected:
  void check(const MatmulShape &shape) {
    Case product(shape, random);
    Matmul matmul(library(), shape);
    product.run(matmul, 0, matmul.numChunks());
    product.expectRight();
  }
  std::mt19937 random{1};
};

} // namespace

TEST_P(MatmulTest, anyTransposes) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                         {1, 37, 65},
                         {37, 1, 65},
                         {5, 70, 33},
                         {70, 5, 33},
                         {13, 31, 7},
                         {33, 97, 129},
                         {200, 150, 100},
                         {3, 200, 1500}})
    for (int bits = 0; bits < 16; ++bits) {
      MatmulShape shape{TINH_DTYPE_F32, m, n, k, {}, {}, {}, {}, {}};
      shape.a = matrices(m, k, bits & 1);
      shape.b = matrices(k, n, bits & 2);
      shape.out = matrices(m, n, bits & 4);
      shape.hasBias = bits & 8;
      shape.bias = matrices(m, n, bits & 1);
      check(shape);
      if (HasFatalFailure())
        return;
    }
}

TEST_P(MatmulTest, anyDtype) {
  for (int dtype = TINH_DTYPE_I8; dtype <= TINH_DTYPE_F64; ++dtype)
    for (bool transposed : {false, true})
      for (int64_t m : {2, 45}) {
        int64_t n = 50, k = 39;
        MatmulShape shape{
            static_cast<tinh_dtype_t>(dtype), m, n, k, {}, {}, {}, {}, {}};
        shape.a = matrices(m, k, false);
        shape.b = matrices(k, n, transposed);
        shape.out = matrices(m, n, false);
        shape.hasBias = true;
        shape.bias = {{}, {0, 1}};
        check(shape);
        if (HasFatalFailure())
          return;
      }
}

TEST_P(MatmulTest, anyStrides) {
  MatmulShape shape{TINH_DTYPE_F32, 21, 40, 50, dims({3, 2}), {}, {}, {}, {}};
  shape.a = {dims({0, 21 * 150}), {150, 3}};
  shape.b = {dims({50 * 160, 0}), {160, 2}};
  shape.out = {dims({2 * 21 * 80, 21 * 80}), {80, 2}};
  check(shape);
  // Every element the same, and a bias for each row.
  shape.b = {dims({0, 0}), {0, 0}};
  shape.bias = {dims({0, 0}), {1, 0}};
  shape.hasBias = true;
  check(shape);
}

/// Several blocks of k, of rows and of columns.
TEST_P(MatmulTest, manyBlocks) {
  auto f16 = TINH_DTYPE_F16, f32 = TINH_DTYPE_F32;
  for (auto [dtype, transposed] :
       {std::pair{f32, false}, {f32, true}, {f16, true}}) {
    MatmulShape shape{dtype, 200, 130, 1100, {}, {}, {}, {}, {}};
    shape.a = matrices(200, 1100, false);
    shape.b = matrices(1100, 130, transposed);
    shape.out = matrices(200, 130, false);
    check(shape);
  }
}

/// The sum of nothing is the bias, or zero.
TEST_P(MatmulTest, noProducts) {
  for (tinh_dtype_t dtype : {TINH_DTYPE_F32, TINH_DTYPE_F16})
    for (int64_t m : {1, 30})
      for (bool hasBias : {false, true}) {
        MatmulShape shape{dtype, m, 40, 0, {}, {}, {}, {}, {}};
        shape.a = shape.b = {{}, {1, 1}};
        shape.out = matrices(m, 40, false);
        shape.hasBias = hasBias;
        shape.bias = {{}, {0, 1}};
        check(shape);
      }
}

TEST_P(MatmulTest, sameBitsForAnyWorkers) {
  MatmulShape shape{TINH_DTYPE_F32, 150, 200, 300, dims({2}), {}, {}, {}, {}};
  shape.a = {dims({150 * 300}), {300, 1}};
  shape.b = {dims({300 * 200}), {1, 300}};
  shape.out = {dims({150 * 200}), {200, 1}};
  Case product(shape, random);
  Matmul matmul(library(), shape);
  uint32_t chunks = matmul.numChunks();
  ASSERT_GT(chunks, 3u);
  product.run(matmul, 0, chunks);
  Memory whole = product.out;
  product.out.fill(random);
  std::thread other([&] { product.run(matmul, chunks / 3, chunks); });
  product.run(matmul, 0, chunks / 3);
  other.join();
  EXPECT_EQ(0, std::memcmp(whole.data(), product.out.data(),
                           whole.count * sizeof(float)));
}

INSTANTIATE_TEST_SUITE_P(Cpu, MatmulTest, testedCpus(), cpuName);
