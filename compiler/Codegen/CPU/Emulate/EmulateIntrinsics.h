//===- EmulateIntrinsics.h - What stands for intrinsics ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_EMULATE_EMULATEINTRINSICS_H
#define TINH_CODEGEN_CPU_EMULATE_EMULATEINTRINSICS_H

#include "llvm/IR/IRBuilder.h"

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// Which of two factors have signs.
struct Signs {
  bool left, right;
};

/// i32 with the products of the integers of so many bits in each lane added.
llvm::Value *addProducts(llvm::IRBuilderBase &b, llvm::Value *sum,
                         llvm::Value *left, llvm::Value *right, unsigned bits,
                         Signs signs);

/// f32 as the products of bf16 see it: denormals are zeros.
llvm::Value *flushDenormals(llvm::IRBuilderBase &b, llvm::Value *x);

/// left · right + sum, rounded once, for element 0 or 1 of each pair of bf16 in
/// lanes of i32.
llvm::Value *addBf16Product(llvm::IRBuilderBase &b, llvm::Value *left,
                            llvm::Value *right, llvm::Value *sum,
                            unsigned element);

/// f32 rounded to bf16, to the nearest even; denormals are zeros.
llvm::Value *roundToBf16(llvm::IRBuilderBase &b, llvm::Value *x);

/// The value of a call of an intrinsic on vectors; null if it is not known.
llvm::Value *emulateVector(llvm::IRBuilderBase &b, llvm::CallInst &call);

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// What tiles are: 16 rows of 64 bytes, zeros where they have fewer.
llvm::Type *tileType(llvm::LLVMContext &context);

/// The same for an intrinsic on tiles, whose operands are of that type already;
/// of a store, the call that stands for it.
llvm::Value *emulateTile(llvm::IRBuilderBase &b, llvm::CallInst &call);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_EMULATE_EMULATEINTRINSICS_H
