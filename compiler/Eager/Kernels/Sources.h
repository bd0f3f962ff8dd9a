//===- Sources.h - What kernels compute, as text ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's source is a function of a row in the graph dialect, or a product
// in linalg, with a plan for the machine. Its text is the key of its code in
// the cache, so to find a kernel there takes nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_SOURCES_H
#define TINH_EAGER_KERNELS_SOURCES_H

#include "compiler/Eager/Kernels/KernelLibrary.h"

#include <string>

namespace tinh::eager {

struct Source {
  std::string symbol, text;
  uint64_t scratchPerColumn = 0;
};

using cpu::Machine;

/// The plan of functions of rows, #cpu.sized_rows<…>.
std::string rowsPlan(const Machine &machine, Lanes lanes);

Source elementwiseSource(const Machine &machine, ElementwiseOp op,
                         tinh_dtype_t dtype);
Source castSource(const Machine &machine, tinh_dtype_t from, tinh_dtype_t to);
/// Whether it `transposes` is where it is fast.
Source copySource(const Machine &machine, unsigned elementSize,
                  bool transposes);
Source reduceSource(const Machine &machine, ReduceOp op, tinh_dtype_t from,
                    tinh_dtype_t to, Lanes lanes);
Source argreduceSource(const Machine &machine, ArgOp op, tinh_dtype_t dtype,
                       Lanes lanes);
Source softmaxSource(const Machine &machine, SoftmaxOp op, tinh_dtype_t dtype,
                     Lanes lanes);
Source layerNormSource(const Machine &machine, bool rms, tinh_dtype_t dtype,
                       Lanes lanes);
Source dotSource(const Machine &machine, tinh_dtype_t from, tinh_dtype_t to);
Source contractionSource(const Machine &machine, tinh_dtype_t dtype);

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_SOURCES_H
