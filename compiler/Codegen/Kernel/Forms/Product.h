//===- Product.h - The product that a kernel computes -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of a product is a sum of products, maybe a reshape of it, and what
// is element-wise: matrix products, convolutions and their gradients. This is
// how all strategies of all devices, layouts of weights and libraries see it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_FORMS_PRODUCT_H
#define TINH_CODEGEN_KERNEL_FORMS_PRODUCT_H

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/MemoryAccess.h"
#include "compiler/Codegen/Kernel/Pull.h"
#include "compiler/Codegen/Kernel/Strategy.h"

#include "llvm/ADT/DenseSet.h"

namespace tinh::codegen {

//===----------------------------------------------------------------------===//
// What follows it
//===----------------------------------------------------------------------===//

/// What the kernel reads of the result of `op`: a reshape in which the groups
/// of a convolution are merged with their channels, either of the two in panels
/// of its last dimension, or the result itself.
mlir::Value mergedResult(mlir::linalg::GenericOp op);
/// The indices in `result`, a `mergedResult`, of what stands at `at` of the
/// product.
Indices indicesInResult(Pull &pull, mlir::Value product, mlir::Value result,
                        Indices at);
/// The product and what brings its results to `result`, a `mergedResult`.
llvm::DenseSet<mlir::Operation *> opsOfProduct(mlir::Value product,
                                               mlir::Value result);
/// The columns of all panels of `result`, a `mergedResult`; nothing if it has
/// none.
std::optional<int64_t> columnsOfPanels(mlir::Value result);
/// Whether no vector of so many columns lies across panels of `result`.
bool hasWholeVectors(mlir::Value result, int64_t lanes);

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// Several loops as one: their digits in mixed radix, the last one fastest.
using Loops = llvm::SmallVector<unsigned>;

/// One factor of a product.
struct Factor {
  mlir::Value value;
  unsigned input = 0;  ///< Of the op.
  mlir::AffineMap map; ///< How the loops index it.
  Loops loops;         ///< The rows or columns of the result that it alone has.
  std::optional<MemoryAccess> access;
  /// Its elements lie side by side along the depth; else along its own loops.
  bool alongDepth = false;
  /// They do so along neither.
  bool isScattered = false;
  /// So many of them, up to 16 bytes, can be loaded as one vector.
  int64_t width = 1;
};

/// result[batch, rows, columns] = Σ left[batch, rows, depth] *
///                                  right[batch, depth, columns]
///
/// where each role is any number of loops, in the order of the result. A factor
/// that is padded, or a window, is indexed by sums of loops.
struct Product {
  mlir::linalg::GenericOp op;
  mlir::Value result;     ///< What the kernel reads of it: a merged form of it.
  mlir::AffineMap output; ///< How the loops index the product itself.
  Factor left, right;     ///< With the rows and with the columns as own loops.
  Loops batch;            ///< Those that both factors have.
  Loops depth;            ///< Those that are summed over.
  llvm::SmallVector<int64_t> extents; ///< Of all loops.

  mlir::func::FuncOp kernel() const {
    return op->getParentOfType<mlir::func::FuncOp>();
  }
  /// The number of iterations of these loops together.
  int64_t extentOf(llvm::ArrayRef<unsigned> loops) const;
  /// The type of the sums: f32, f64 or, of products of bytes, i32.
  mlir::Type element() const {
    return mlir::getElementTypeOrSelf(op->getResult(0).getType());
  }
  int64_t elementBytes() const { return element().isF64() ? 8 : 4; }
  bool isOfBytes() const { return element().isInteger(32); }
  /// Says how each factor is best loaded, from its access and the loops.
  void findVectors();
};

/// The product of `op`; its right factor is this input. No match if a loop of
/// the result has no role.
Match<Product> describeProduct(mlir::linalg::GenericOp op, unsigned right);

/// The loop of `own` and the one of `summed` whose sum `expr` is, as the index
/// of a window; nothing if it is no such sum.
std::optional<std::pair<unsigned, unsigned>>
matchSlide(mlir::AffineExpr expr, llvm::ArrayRef<unsigned> own,
           llvm::ArrayRef<unsigned> summed);

/// What is multiplied: floats, or bytes, too.
enum class Elements : uint8_t { Floats, FloatsOrBytes };

/// The kernel's one reduction if it is a sum of products, and all that follows
/// does so element by element.
Match<mlir::linalg::GenericOp>
matchSumOfProducts(mlir::func::FuncOp kernel,
                   Elements elements = Elements::Floats);

/// What a strategy sees in the product of `kernel`: `assignRoles` says so of
/// the product with input `first` as its right factor or, if that does not
/// match, the other one.
template <typename T>
Match<T> matchProducts(mlir::func::FuncOp kernel, unsigned first,
                       Match<T> (*assignRoles)(Product),
                       Elements elements = Elements::Floats) {
  auto op = matchSumOfProducts(kernel, elements);
  if (!op)
    return NoMatch{op.whyNot()};
  auto match = [&](unsigned right) -> Match<T> {
    Match<Product> product = describeProduct(*op, right);
    if (!product)
      return NoMatch{product.whyNot()};
    product->result = mergedResult(*op);
    return assignRoles(std::move(*product));
  };
  Match<T> found = match(first);
  return found ? found : match(1 - first);
}

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_FORMS_PRODUCT_H
