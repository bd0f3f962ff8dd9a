//===- KernelLibrary.h - The kernels of one CPU -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All kernels by what they compute. They live as long as the library; to find
// one again costs a load.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_KERNELLIBRARY_H
#define TINH_EAGER_KERNELS_KERNELLIBRARY_H

#include "compiler/Codegen/CPU/Machine.h"
#include "compiler/Eager/Kernels/Kernel.h"
#include "compiler/Eager/Primitives/Attributes.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace tinh::eager {

/// Where the lanes of vectors lie, in a kernel of rows. It is fast where
/// strides in that direction are 1 (or, along columns, 0) and right where they
/// are not.
enum class Lanes : uint8_t { AlongColumns, AcrossRows };

class KernelLibrary {
public:
  /// For this machine, with the user's cache of compiled kernels.
  static KernelLibrary &get();
  /// For the CPU of that name; no `cacheDirectory`: nothing is kept.
  KernelLibrary(const std::string &cpu, const std::string &cacheDirectory);
  ~KernelLibrary();

  //===--------------------------------------------------------------------===//
  // Kernels of rows: RowSizes, inputs, result.
  //===--------------------------------------------------------------------===//

  /// Element by element, on operands of `dtype`.
  Kernel &elementwise(ElementwiseOp op, tinh_dtype_t dtype);
  /// The one of that text, a function @`symbol` of a row that is computed
  /// element by element. Equal texts have the same symbol.
  Kernel &function(const std::string &symbol, const std::string &text);
  /// Converts; between different dtypes.
  Kernel &cast(tinh_dtype_t from, tinh_dtype_t to);
  /// Copies elements of that many bytes, a power of two up to 8.
  Kernel &copy(unsigned elementSize);
  /// Copies them, fast where neighbours of a column are
  /// neighbours in memory of the operand, and of a row in the result's.
  Kernel &transpose(unsigned elementSize);
  /// y[r] = init[r] ⊕ x[r, 0] ⊕ …, with x converted to `to`, in which all is
  /// computed. Operands x, init, y; `init` may be y. Mean is Sum.
  Kernel &reduce(ReduceOp op, tinh_dtype_t from, tinh_dtype_t to, Lanes lanes);
  /// y[r], an i64, is the first column with the extreme; operands x, y.
  Kernel &argreduce(ArgOp op, tinh_dtype_t dtype, Lanes lanes);
  /// Operands x, y, of `dtype`.
  Kernel &softmax(SoftmaxOp op, tinh_dtype_t dtype, Lanes lanes);
  /// y[r, c] = (x[r, c] - mean) / √(variance + epsilon) · scale[c] + bias[c];
  /// with `rms` nothing is subtracted. Operands x, scale, bias, 1/columns,
  /// epsilon, y; the two numbers in f32, or in f64 if that is `dtype`.
  Kernel &layerNorm(bool rms, tinh_dtype_t dtype, Lanes lanes);
  /// y[r] = init[r] + Σ a[r, c] · b[r, c], converted to `to`; operands a, b,
  /// init, y.
  Kernel &dot(tinh_dtype_t from, tinh_dtype_t to);

  //===--------------------------------------------------------------------===//
  // Contractions: ContractionSizes, A, B, offsets, I, C.
  //===--------------------------------------------------------------------===//

  /// In f32, f64, i32 or i64. Elements of B beyond its N columns, up to the
  /// next multiple of panelWidth(), are read.
  Kernel &contraction(tinh_dtype_t dtype);
  /// The columns of a register tile.
  int64_t panelWidth(tinh_dtype_t dtype) const;

  /// What kernels are planned for.
  const cpu::Machine &machine() const;

private:
  static constexpr size_t kDtypes = TINH_DTYPE_F64 + 1;
  /// Kernels of one family; made when they are first asked for.
  template <size_t N> using Family = std::array<std::atomic<Kernel *>, N>;
  static constexpr size_t kElementwiseOps =
      static_cast<size_t>(ElementwiseOp::MulAdd) + 1;

  template <typename Source>
  Kernel &find(std::atomic<Kernel *> &slot, Source source);

  std::unique_ptr<Jit> jit;
  std::mutex mutex; // Guards `kernels`.
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::map<std::string, Kernel *> functions; // By symbol.
  Family<kElementwiseOps * kDtypes> elementwiseKernels{};
  Family<kDtypes * kDtypes> castKernels{}, dotKernels{};
  Family<4> copyKernels{}, transposeKernels{}; // By log2 of the size.
  Family<5 * kDtypes * kDtypes * 2> reduceKernels{};
  Family<2 * kDtypes * 2> argreduceKernels{}, softmaxKernels{},
      layerNormKernels{};
  Family<kDtypes> contractionKernels{};
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_KERNELLIBRARY_H
