//===- KernelLibrary.cpp - The kernels of one CPU ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/KernelLibrary.h"

#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Eager/Kernels/Jit.h"
#include "compiler/Eager/Kernels/Sources.h"

#include "llvm/Support/Path.h"

#include <bit>

namespace tinh::eager {

/// Where graph-compile keeps kernels, too.
static std::string cacheDirectory() {
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "tinh");
  return std::string(path);
}

KernelLibrary &KernelLibrary::get() {
  // Never destroyed: operations may still be running when the process exits.
  static auto *library = new KernelLibrary("native", cacheDirectory());
  return *library;
}

KernelLibrary::KernelLibrary(const std::string &cpu,
                             const std::string &cacheDirectory)
    : jit(std::make_unique<Jit>(cpu, cacheDirectory)) {}

KernelLibrary::~KernelLibrary() = default;

const cpu::Machine &KernelLibrary::machine() const { return jit->machine(); }

int64_t KernelLibrary::panelWidth(tinh_dtype_t dtype) const {
  return cpu::kTileVectors * machine().vectorBytes / tinh_dtype_size(dtype);
}

/// The kernel in `slot`, which is made by `source` if there is none.
template <typename MakeSource>
Kernel &KernelLibrary::find(std::atomic<Kernel *> &slot, MakeSource source) {
  Kernel *known = slot.load(std::memory_order_acquire);
  if (known)
    return *known;
  std::lock_guard lock(mutex);
  known = slot.load(std::memory_order_relaxed);
  if (known)
    return *known;
  Source made = source();
  kernels.push_back(std::make_unique<Kernel>(*jit, std::move(made.symbol),
                                             std::move(made.text),
                                             made.scratchPerColumn));
  slot.store(kernels.back().get(), std::memory_order_release);
  return *kernels.back();
}

Kernel &KernelLibrary::elementwise(ElementwiseOp op, tinh_dtype_t dtype) {
  return find(elementwiseKernels[static_cast<size_t>(op) * kDtypes + dtype],
              [&] { return elementwiseSource(machine(), op, dtype); });
}

Kernel &KernelLibrary::function(const std::string &symbol,
                                const std::string &text) {
  std::lock_guard lock(mutex);
  Kernel *&known = functions[symbol];
  if (!known) {
    kernels.push_back(std::make_unique<Kernel>(*jit, symbol, text));
    known = kernels.back().get();
  }
  return *known;
}

Kernel &KernelLibrary::cast(tinh_dtype_t from, tinh_dtype_t to) {
  return find(castKernels[from * kDtypes + to],
              [&] { return castSource(machine(), from, to); });
}

Kernel &KernelLibrary::copy(unsigned elementSize) {
  return find(copyKernels[std::bit_width(elementSize) - 1], [&] {
    return copySource(machine(), elementSize, /*transposes=*/false);
  });
}

Kernel &KernelLibrary::transpose(unsigned elementSize) {
  return find(transposeKernels[std::bit_width(elementSize) - 1], [&] {
    return copySource(machine(), elementSize, /*transposes=*/true);
  });
}

Kernel &KernelLibrary::reduce(ReduceOp op, tinh_dtype_t from, tinh_dtype_t to,
                              Lanes lanes) {
  if (op == ReduceOp::Mean)
    op = ReduceOp::Sum;
  size_t i = (static_cast<size_t>(op) * kDtypes + from) * kDtypes + to;
  return find(reduceKernels[2 * i + static_cast<size_t>(lanes)],
              [&] { return reduceSource(machine(), op, from, to, lanes); });
}

Kernel &KernelLibrary::argreduce(ArgOp op, tinh_dtype_t dtype, Lanes lanes) {
  size_t i = static_cast<size_t>(op) * kDtypes + dtype;
  return find(argreduceKernels[2 * i + static_cast<size_t>(lanes)],
              [&] { return argreduceSource(machine(), op, dtype, lanes); });
}

Kernel &KernelLibrary::softmax(SoftmaxOp op, tinh_dtype_t dtype, Lanes lanes) {
  size_t i = static_cast<size_t>(op) * kDtypes + dtype;
  return find(softmaxKernels[2 * i + static_cast<size_t>(lanes)],
              [&] { return softmaxSource(machine(), op, dtype, lanes); });
}

Kernel &KernelLibrary::layerNorm(bool rms, tinh_dtype_t dtype, Lanes lanes) {
  size_t i = rms * kDtypes + dtype;
  return find(layerNormKernels[2 * i + static_cast<size_t>(lanes)],
              [&] { return layerNormSource(machine(), rms, dtype, lanes); });
}

Kernel &KernelLibrary::dot(tinh_dtype_t from, tinh_dtype_t to) {
  return find(dotKernels[from * kDtypes + to],
              [&] { return dotSource(machine(), from, to); });
}

Kernel &KernelLibrary::contraction(tinh_dtype_t dtype) {
  return find(contractionKernels[dtype],
              [&] { return contractionSource(machine(), dtype); });
}

} // namespace tinh::eager
