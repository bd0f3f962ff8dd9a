//===- RowsTest.cpp - Kernels of rows against loops -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/eager/kernels/KernelsTesting.h"

#include <algorithm>
#include <functional>

using namespace tinh::eager;

namespace {

/// An operand of a kernel of rows; single ones have one element a row.
struct Operand {
  tinh_dtype_t dtype;
  RowStrides strides;
  bool single = false;
  Memory memory;

  Operand(tinh_dtype_t dtype, RowStrides strides, int64_t rows, int64_t columns,
          bool single = false)
      : dtype(dtype), strides(strides), single(single),
        memory(dtype, (rows - 1) * strides.row +
                          (single ? 0 : (columns - 1) * strides.column) + 1) {}
  double at(int64_t row, int64_t column) const {
    return memory.get(row * strides.row +
                      (single ? 0 : column * strides.column));
  }
};

/// Runs `kernel` on all but the first row; the last operand is the result.
void run(Kernel &kernel, std::vector<Operand> &operands, int64_t rows,
         int64_t columns) {
  std::vector<int64_t> sizes{columns};
  std::vector<void *> buffers{nullptr};
  for (Operand &operand : operands) {
    sizes.push_back(operand.strides.row);
    sizes.push_back(operand.strides.column);
    buffers.push_back(operand.memory.data());
  }
  buffers[0] = sizes.data();
  std::vector<char> scratch(kernel.scratchSize(columns) + 64);
  kernel(buffers.data(), scratch.data(), 1, rows);
  EXPECT_TRUE(operands.back().memory.marginsAreWhole()) << kernel.name();
}

using Formula = std::function<double(const std::vector<double> &)>;

class RowsTest : public ForCpus {
protected:
  /// Checks an element-wise kernel, for several sizes and strides.
  void checkElementwise(Kernel &kernel, const std::vector<tinh_dtype_t> &inputs,
                        tinh_dtype_t output, const Formula &formula,
                        bool positive = false, double factor = 1);
  /// The layouts of operands: rows, then lines, then single elements apart.
  RowStrides layout(int kind, int64_t rows, int64_t columns) {
    switch (kind) {
    case 0:
      return {columns, 1};
    case 1:
      return {0, 1}; // The same row.
    case 2:
      return {1, 0}; // The same element in a row.
    case 3:
      return {1, rows}; // Transposed.
    default:
      return {columns * 3, 3};
    }
  }
  std::mt19937 random{1};
};

void RowsTest::checkElementwise(Kernel &kernel,
                                const std::vector<tinh_dtype_t> &inputs,
                                tinh_dtype_t output, const Formula &formula,
                                bool positive, double factor) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{4, 3}, {3, 33}, {2, 300}})
    for (int kinds = 0; kinds < 7; ++kinds) {
      std::vector<Operand> operands;
      for (size_t i = 0; i < inputs.size(); ++i) {
        int kind = kinds < 5 ? (i == inputs.size() - 1 ? kinds : 0)
                             : (kinds == 5 ? 3 : 0);
        operands.emplace_back(inputs[i], layout(kind, rows, columns), rows,
                              columns);
        operands.back().memory.fill(random, positive);
      }
      operands.emplace_back(output, layout(kinds == 6 ? 4 : 0, rows, columns),
                            rows, columns);
      run(kernel, operands, rows, columns);
      for (int64_t r = 1; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          std::vector<double> values;
          for (size_t i = 0; i < inputs.size(); ++i)
            values.push_back(operands[i].at(r, c));
          double expected = formula(values), found = operands.back().at(r, c);
          if (std::isnan(expected) && std::isnan(found))
            continue;
          if (expected == found) // Infinities, too.
            continue;
          ASSERT_NEAR(found, expected, factor * tolerance(output, expected))
              << kernel.name() << " of " << values[0] << " at " << r << ", "
              << c << " of " << rows << "x" << columns << ", layout " << kinds;
        }
    }
}

} // namespace

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

TEST_P(RowsTest, unaryOps) {
  using enum ElementwiseOp;
  struct Op {
    ElementwiseOp op;
    double (*formula)(double);
    bool positive = false;
  };
  const Op ops[] = {
      {Neg, [](double x) { return -x; }},
      {Abs, [](double x) { return std::abs(x); }},
      {Sign, [](double x) { return double((x > 0) - (x < 0)); }},
      {Relu, [](double x) { return std::max(x, 0.0); }},
      {Exp, [](double x) { return std::exp(x); }},
      {Log, [](double x) { return std::log(x); }, true},
      {Sqrt, [](double x) { return std::sqrt(x); }, true},
      {Rsqrt, [](double x) { return 1 / std::sqrt(x); }, true},
      {Reciprocal, [](double x) { return 1 / x; }, true},
      {Erf, [](double x) { return std::erf(x); }},
      {Tanh, [](double x) { return std::tanh(x); }},
      {Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Softplus, [](double x) { return std::log1p(std::exp(x)); }},
      {Floor, [](double x) { return std::floor(x); }},
      {Ceil, [](double x) { return std::ceil(x); }},
      {Round, [](double x) { return std::nearbyint(x); }},
      {Sin, [](double x) { return std::sin(x); }},
      {Cos, [](double x) { return std::cos(x); }},
      {Tan, [](double x) { return std::tan(x); }},
      {Atan, [](double x) { return std::atan(x); }},
      {Sinh, [](double x) { return std::sinh(x); }},
      {Cosh, [](double x) { return std::cosh(x); }},
      {Asinh, [](double x) { return std::asinh(x); }, true},
      {Acosh, [](double x) { return std::acosh(x); }, true},
      {Gelu, [](double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); }},
      {GeluTanh,
       [](double x) {
         return x / 2 *
                (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 *
                               (x + 0.044715 * x * x * x)));
       }},
      {Silu, [](double x) { return x / (1 + std::exp(-x)); }}};
  for (const Op &op : ops)
    checkElementwise(
        library().elementwise(op.op, TINH_DTYPE_F32), {TINH_DTYPE_F32},
        TINH_DTYPE_F32,
        [&](const std::vector<double> &v) { return op.formula(v[0]); },
        op.positive, /*factor=*/4);
  for (auto op : {IsNan, IsInf})
    checkElementwise(library().elementwise(op, TINH_DTYPE_F32),
                     {TINH_DTYPE_F32}, TINH_DTYPE_BOOL,
                     [](const std::vector<double> &) { return 0; });
}

TEST_P(RowsTest, binaryOps) {
  using enum ElementwiseOp;
  struct Op {
    ElementwiseOp op;
    double (*formula)(double, double);
    bool isTest = false;
  };
  const Op ops[] = {
      {Add, [](double a, double b) { return a + b; }},
      {Sub, [](double a, double b) { return a - b; }},
      {Mul, [](double a, double b) { return a * b; }},
      {Max, [](double a, double b) { return std::max(a, b); }},
      {Min, [](double a, double b) { return std::min(a, b); }},
      {Equal, [](double a, double b) { return double(a == b); }, true},
      {Less, [](double a, double b) { return double(a < b); }, true},
      {GreaterEqual, [](double a, double b) { return double(a >= b); }, true}};
  for (const Op &op : ops)
    for (tinh_dtype_t dtype :
         {TINH_DTYPE_I8, TINH_DTYPE_U16, TINH_DTYPE_I32, TINH_DTYPE_U64,
          TINH_DTYPE_F16, TINH_DTYPE_BF16, TINH_DTYPE_F32, TINH_DTYPE_F64})
      checkElementwise(library().elementwise(op.op, dtype), {dtype, dtype},
                       op.isTest ? TINH_DTYPE_BOOL : dtype,
                       [&](const std::vector<double> &v) {
                         Memory wrapped(op.isTest ? TINH_DTYPE_BOOL : dtype, 1);
                         double value = op.formula(v[0], v[1]);
                         if (isFloating(wrapped.dtype))
                           return value;
                         wrapped.set(0, value);
                         return wrapped.get(0);
                       });
}

TEST_P(RowsTest, otherOps) {
  using enum ElementwiseOp;
  auto f32 = TINH_DTYPE_F32, i32 = TINH_DTYPE_I32, boolean = TINH_DTYPE_BOOL;
  using V = const std::vector<double> &;
  checkElementwise(library().elementwise(Div, f32), {f32, f32}, f32,
                   [](V v) { return v[0] / v[1]; });
  checkElementwise(library().elementwise(Div, i32), {i32, i32}, i32,
                   [](V v) { return v[1] == 0 ? 0 : std::trunc(v[0] / v[1]); });
  checkElementwise(
      library().elementwise(Pow, f32), {f32, f32}, f32,
      [](V v) { return std::pow(v[0], v[1]); }, true, 10);
  checkElementwise(
      library().elementwise(Fmod, f32), {f32, f32}, f32,
      [](V v) { return std::fmod(v[0], v[1]); }, true);
  checkElementwise(library().elementwise(And, i32), {i32, i32}, i32, [](V v) {
    return static_cast<int>(v[0]) & static_cast<int>(v[1]);
  });
  checkElementwise(library().elementwise(Not, boolean), {boolean}, boolean,
                   [](V v) { return 1 - v[0]; });
  checkElementwise(library().elementwise(Xor, boolean), {boolean, boolean},
                   boolean, [](V v) { return v[0] != v[1]; });
  checkElementwise(library().elementwise(LeakyRelu, f32), {f32, f32}, f32,
                   [](V v) { return v[0] > 0 ? v[0] : v[0] * v[1]; });
  for (auto dtype : {f32, TINH_DTYPE_F16})
    checkElementwise(
        library().elementwise(Elu, dtype), {dtype, dtype}, dtype,
        [](V v) { return v[0] > 0 ? v[0] : v[1] * (std::exp(v[0]) - 1); });
  for (auto dtype :
       {boolean, TINH_DTYPE_U8, TINH_DTYPE_F16, f32, TINH_DTYPE_I64})
    checkElementwise(library().elementwise(Where, dtype),
                     {boolean, dtype, dtype}, dtype,
                     [](V v) { return v[0] != 0 ? v[1] : v[2]; });
  checkElementwise(library().elementwise(Clamp, i32), {i32, i32, i32}, i32,
                   [](V v) { return std::min(std::max(v[0], v[1]), v[2]); });
  checkElementwise(
      library().elementwise(MulAdd, f32), {f32, f32, f32}, f32,
      [](V v) { return v[0] * v[1] + v[2]; }, false, 20);
}

TEST_P(RowsTest, casts) {
  auto check = [&](tinh_dtype_t from, tinh_dtype_t to) {
    bool positive = to == TINH_DTYPE_U8 || to == TINH_DTYPE_U16 ||
                    to == TINH_DTYPE_U32 || to == TINH_DTYPE_U64;
    checkElementwise(
        library().cast(from, to), {from}, to,
        [&](const std::vector<double> &v) {
          if (to == TINH_DTYPE_BOOL)
            return double(v[0] != 0);
          return isFloating(to) ? v[0] : std::trunc(v[0]);
        },
        positive);
  };
  for (int i = TINH_DTYPE_BOOL; i <= TINH_DTYPE_F64; ++i) {
    auto dtype = static_cast<tinh_dtype_t>(i);
    for (tinh_dtype_t other : {TINH_DTYPE_F32, TINH_DTYPE_I64})
      if (dtype != other) {
        check(dtype, other);
        check(other, dtype);
      }
  }
  check(TINH_DTYPE_F16, TINH_DTYPE_BF16);
  check(TINH_DTYPE_U8, TINH_DTYPE_F16);
}

TEST_P(RowsTest, copies) {
  for (tinh_dtype_t dtype :
       {TINH_DTYPE_U8, TINH_DTYPE_I16, TINH_DTYPE_F32, TINH_DTYPE_F64}) {
    auto same = [](const std::vector<double> &v) { return v[0]; };
    unsigned size = tinh_dtype_size(dtype);
    checkElementwise(library().copy(size), {dtype}, dtype, same);
    checkElementwise(library().transpose(size), {dtype}, dtype, same);
    for (auto [rows, columns] :
         {std::pair<int64_t, int64_t>{70, 40}, {33, 130}, {9, 5}}) {
      std::vector<Operand> operands;
      operands.emplace_back(dtype, RowStrides{1, rows + 3}, rows, columns);
      operands.back().memory.fill(random);
      operands.emplace_back(dtype, RowStrides{columns + 1, 1}, rows, columns);
      run(library().transpose(size), operands, rows, columns);
      for (int64_t r = 1; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(operands[0].at(r, c), operands[1].at(r, c));
    }
  }
}

//===----------------------------------------------------------------------===//
// With reductions
//===----------------------------------------------------------------------===//

namespace {

/// Sizes and layouts of x that reductions are tested with.
struct Layout {
  int64_t rows, columns;
  RowStrides strides;
};
const Layout kLayouts[] = {
    {4, 5, {5, 1}},     {70, 5, {1, 70}},    {3, 33, {33, 1}}, {33, 3, {1, 40}},
    {2, 700, {700, 1}}, {150, 40, {1, 150}}, {5, 20, {60, 3}}, {5, 20, {0, 1}}};

} // namespace

TEST_P(RowsTest, reductions) {
  struct Types {
    tinh_dtype_t from, to;
  };
  for (Types types : {Types{TINH_DTYPE_F32, TINH_DTYPE_F32},
                      {TINH_DTYPE_F16, TINH_DTYPE_F32},
                      {TINH_DTYPE_U8, TINH_DTYPE_I64},
                      {TINH_DTYPE_I16, TINH_DTYPE_I16}})
    for (auto op :
         {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min})
      for (Lanes lanes : {Lanes::AlongColumns, Lanes::AcrossRows})
        for (const Layout &layout : kLayouts) {
          int64_t rows = layout.rows, columns = layout.columns;
          std::vector<Operand> operands;
          operands.emplace_back(types.from, layout.strides, rows, columns);
          operands.emplace_back(types.to, RowStrides{1, 0}, rows, 1, true);
          operands.emplace_back(types.to, RowStrides{1, 0}, rows, 1, true);
          for (Operand &operand : operands)
            operand.memory.fill(random);
          if (op == ReduceOp::Prod) // No overflow.
            for (int64_t i = 0; i < operands[0].memory.count; ++i)
              operands[0].memory.set(i, random() % 8 ? 1 : 2 - (i % 3));
          run(library().reduce(op, types.from, types.to, lanes), operands, rows,
              columns);
          for (int64_t r = 1; r < rows; ++r) {
            double total = operands[1].at(r, 0), size = 0;
            for (int64_t c = 0; c < columns; ++c) {
              double x = operands[0].at(r, c);
              size += std::abs(x);
              total = op == ReduceOp::Sum    ? total + x
                      : op == ReduceOp::Prod ? total * x
                      : op == ReduceOp::Max  ? std::max(total, x)
                                             : std::min(total, x);
            }
            Memory wrapped(types.to, 1);
            wrapped.set(0, total);
            ASSERT_NEAR(operands[2].at(r, 0), wrapped.get(0),
                        tolerance(types.to, std::max(size, std::abs(total))))
                << "op " << static_cast<int>(op) << " of " << types.from
                << ", lanes " << static_cast<int>(lanes) << ", row " << r
                << " of " << rows << "x" << columns;
          }
        }
}

/// The first of equal elements, and NaN above all.
TEST_P(RowsTest, argReductions) {
  for (tinh_dtype_t dtype : {TINH_DTYPE_F32, TINH_DTYPE_U8, TINH_DTYPE_F16})
    for (auto op : {ArgOp::Max, ArgOp::Min})
      for (Lanes lanes : {Lanes::AlongColumns, Lanes::AcrossRows})
        for (const Layout &layout : kLayouts) {
          int64_t rows = layout.rows, columns = layout.columns;
          std::vector<Operand> operands;
          operands.emplace_back(dtype, layout.strides, rows, columns);
          operands.emplace_back(TINH_DTYPE_I64, RowStrides{1, 0}, rows, 1,
                                true);
          operands[0].memory.fill(random);
          run(library().argreduce(op, dtype, lanes), operands, rows, columns);
          for (int64_t r = 1; r < rows; ++r) {
            int64_t best = 0;
            for (int64_t c = 1; c < columns; ++c) {
              double x = operands[0].at(r, c), y = operands[0].at(r, best);
              if (op == ArgOp::Max ? x > y : x < y)
                best = c;
            }
            ASSERT_EQ(operands[1].at(r, 0), best)
                << "row " << r << " of " << rows << "x" << columns;
          }
        }
}

TEST_P(RowsTest, softmaxes) {
  for (tinh_dtype_t dtype : {TINH_DTYPE_F32, TINH_DTYPE_BF16, TINH_DTYPE_F64})
    for (auto op : {SoftmaxOp::Softmax, SoftmaxOp::LogSoftmax})
      for (Lanes lanes : {Lanes::AlongColumns, Lanes::AcrossRows})
        for (const Layout &layout : kLayouts) {
          int64_t rows = layout.rows, columns = layout.columns;
          std::vector<Operand> operands;
          operands.emplace_back(dtype, layout.strides, rows, columns);
          RowStrides to = layout.strides;
          if (to.row == 0)
            to.row = columns;
          operands.emplace_back(dtype, to, rows, columns);
          operands[0].memory.fill(random);
          run(library().softmax(op, dtype, lanes), operands, rows, columns);
          for (int64_t r = 1; r < rows; ++r) {
            double sum = 0;
            for (int64_t c = 0; c < columns; ++c)
              sum += std::exp(operands[0].at(r, c));
            for (int64_t c = 0; c < columns; ++c) {
              double expected = operands[0].at(r, c) - std::log(sum);
              if (op == SoftmaxOp::Softmax)
                expected = std::exp(expected);
              ASSERT_NEAR(operands[1].at(r, c), expected,
                          tolerance(dtype, expected))
                  << "at " << r << ", " << c << " of " << rows << "x" << columns
                  << ", lanes " << static_cast<int>(lanes);
            }
          }
        }
}

TEST_P(RowsTest, layerNorms) {
  for (tinh_dtype_t dtype : {TINH_DTYPE_F32, TINH_DTYPE_F16, TINH_DTYPE_F64})
    for (bool rms : {false, true})
      for (int64_t columns : {3, 50, 768}) {
        int64_t rows = 4;
        tinh_dtype_t compute = dtype == TINH_DTYPE_F16 ? TINH_DTYPE_F32 : dtype;
        std::vector<Operand> operands;
        operands.emplace_back(dtype, RowStrides{columns, 1}, rows, columns);
        for (int i = 0; i < 2; ++i)
          operands.emplace_back(dtype, RowStrides{0, 1}, rows, columns);
        for (int i = 0; i < 2; ++i)
          operands.emplace_back(compute, RowStrides{0, 0}, rows, 1, true);
        operands.emplace_back(dtype, RowStrides{columns, 1}, rows, columns);
        for (Operand &operand : operands)
          operand.memory.fill(random);
        operands[3].memory.set(0, 1.0 / columns);
        operands[4].memory.set(0, 1e-5);
        run(library().layerNorm(rms, dtype, Lanes::AlongColumns), operands,
            rows, columns);
        for (int64_t r = 1; r < rows; ++r) {
          double mean = 0, variance = 0;
          for (int64_t c = 0; c < columns && !rms; ++c)
            mean += operands[0].at(r, c) / columns;
          for (int64_t c = 0; c < columns; ++c)
            variance += std::pow(operands[0].at(r, c) - mean, 2) / columns;
          for (int64_t c = 0; c < columns; ++c) {
            double expected = (operands[0].at(r, c) - mean) /
                                  std::sqrt(variance + 1e-5) *
                                  operands[1].at(r, c) +
                              operands[2].at(r, c);
            ASSERT_NEAR(operands[5].at(r, c), expected,
                        5 * tolerance(dtype, expected))
                << "at " << r << ", " << c;
          }
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Cpu, RowsTest, testedCpus(), cpuName);
