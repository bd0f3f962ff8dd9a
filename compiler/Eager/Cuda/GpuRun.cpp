//===- GpuRun.cpp - Runs of graphs on a GPU, as operations ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cuda/GpuRun.h"

#include "compiler/Eager/CheckNumerics.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cstring>

namespace tinh::eager {

/// What kernels take for granted of the memory that they are given.
static constexpr uint64_t kAlignment = 64;

int64_t spanOf(const TensorImpl &x) {
  int64_t span = 1;
  for (uint32_t d = 0; d < x.rank(); ++d)
    span += (x.sizes[d] - 1) * x.strides[d];
  return span;
}

GpuOperand::GpuOperand(const TensorImpl &x)
    : storage(x.storage.get()),
      offset(static_cast<uint64_t>(x.offset) * DType(x.dtype).size()),
      size(static_cast<uint64_t>(spanOf(x)) * DType(x.dtype).size()) {}

GpuOperand::GpuOperand(const void *data, size_t size) : size(size) {
  assert(size <= bytes.size() && "more than goes along with a run");
  std::memcpy(bytes.data(), data, size);
}

namespace {

/// A result that is computed elsewhere and then copied to where it belongs.
struct Detour {
  void *from, *to;
  uint64_t size;
};

struct GpuRun {
  std::shared_ptr<GpuGraph> graph;
  tinh_check_numerics_t check;
  std::optional<Call> gradientOf;
  llvm::SmallVector<GpuOperand, 3> arguments;
  llvm::SmallVector<GpuOperand, 1> results;

  uint32_t numChunks() const { return 1; }
  bool mayTakeLong() const { return check != TINH_CHECK_NOTHING; }
  void run(uint32_t, uint32_t, Worker &worker) {
    if (!graph->isCompiled())
      worker.expectDelay();
    graph->compile();
    for (const GpuOperand &argument : arguments)
      pointers.push_back(place(argument));
    llvm::SmallVector<Detour, 1> detours;
    for (const GpuOperand &result : results) {
      void *to = static_cast<char *>(result.storage->data()) + result.offset;
      void *used = isDirect(result) ? to : block(result.size);
      if (used != to)
        detours.push_back({used, to, result.size});
      pointers.push_back(used);
    }
    try {
      graph->run(pointers, check);
    } catch (const Error &error) {
      throw Error(error.status(), error.what() + GradientOf::text(gradientOf));
    }
    for (const Detour &detour : detours)
      stream().copy(detour.to, detour.from, detour.size);
    blocks.clear();
  }

private:
  const CudaStream &stream() const { return graph->gpu().stream(); }
  void *block(uint64_t size) {
    return blocks.emplace_back(graph->gpu(), size).get();
  }

  /// Where the GPU reads it.
  void *place(const GpuOperand &operand) {
    const char *data = operand.bytes.data();
    if (operand.storage)
      data =
          static_cast<const char *>(operand.storage->data()) + operand.offset;
    bool isOnGpu = operand.storage && operand.storage->place() != 0;
    if (isOnGpu && reinterpret_cast<uintptr_t>(data) % kAlignment == 0)
      return const_cast<char *>(data); // Not written.
    void *copy = block(operand.size);
    if (isOnGpu)
      stream().copy(copy, data, operand.size);
    else
      stream().write(copy, data, operand.size);
    return copy;
  }

  /// Whether the graph can write it where it lies: nothing is read from there.
  bool isDirect(const GpuOperand &result) const {
    auto isRead = [&](const GpuOperand &argument) {
      return argument.storage == result.storage;
    };
    uintptr_t address =
        reinterpret_cast<uintptr_t>(result.storage->data()) + result.offset;
    return address % kAlignment == 0 && llvm::none_of(arguments, isRead);
  }

  std::vector<GpuBlock> blocks;
  std::vector<void *> pointers;
};

struct Transfer {
  GpuOperand from, to;
  Gpu *gpu;

  uint32_t numChunks() const { return 1; }
  bool mayTakeLong() const { return true; }
  void run(uint32_t, uint32_t, Worker &) {
    gpu->stream().copy(static_cast<char *>(to.storage->data()) + to.offset,
                       static_cast<char *>(from.storage->data()) + from.offset,
                       from.size);
    if (to.storage->place() == 0) // What it fails with is the tensor's error.
      gpu->stream().synchronize();
  }
};

} // namespace

void queueOnGpu(std::shared_ptr<GpuGraph> graph,
                llvm::ArrayRef<GpuOperand> arguments,
                llvm::ArrayRef<GpuOperand> results, const Call &call) {
  llvm::SmallVector<Storage *> reads, writes;
  for (const GpuOperand &argument : arguments)
    if (argument.storage)
      reads.push_back(argument.storage);
  for (const GpuOperand &result : results)
    writes.push_back(result.storage);
  GpuRun run;
  run.graph = std::move(graph);
  run.check = Engine::get().checkNumerics();
  run.gradientOf = GradientOf::get();
  run.arguments.assign(arguments.begin(), arguments.end());
  run.results.assign(results.begin(), results.end());
  Engine::get().push(call, std::span(reads.data(), reads.size()),
                     std::span(writes.data(), writes.size()), std::move(run));
}

void queueTransfer(const TensorImpl &from, const TensorImpl &to,
                   const Call &call) {
  const Storage &onGpu =
      from.storage->place() != 0 ? *from.storage : *to.storage;
  Engine::get().push(
      call, std::array{from.storage.get()}, std::array{to.storage.get()},
      Transfer{GpuOperand(from), GpuOperand(to), &Gpu::atPlace(onGpu.place())});
}

} // namespace tinh::eager
