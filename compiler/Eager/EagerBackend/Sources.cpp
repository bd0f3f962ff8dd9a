//===- Sources.cpp - Tensors from nothing, from and for the host ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/EagerBackend/EagerBackend.h"
#include "compiler/Eager/EagerBackend/Iteration.h"
#include "compiler/Eager/EagerBackend/Operands.h"
#include "compiler/Eager/Random.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Numbers by their index
//===----------------------------------------------------------------------===//

namespace {

struct IotaOperation {
  Elements out;
  tinh_dtype_t dtype;
  Scalar start, step;
  int64_t count, stride;
  bool coversResult;

  bool overwrites() const { return coversResult; }
  uint32_t numChunks() const {
    return static_cast<uint32_t>(ceilDiv(count, elementsPerChunk(dtype)));
  }
  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      auto *to = reinterpret_cast<Element *>(out.data());
      int64_t perChunk = elementsPerChunk(dtype);
      int64_t last = std::min(end * perChunk, count);
      bool isReal = start.dtype == TINH_DTYPE_F64;
      for (int64_t i = begin * perChunk; i < last; ++i)
        to[i * stride] =
            isReal ? static_cast<Element>(start.real +
                                          static_cast<double>(i) * step.real)
                   : static_cast<Element>(integer(i));
    });
  }

private:
  int64_t integer(int64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(start.integer) +
                                static_cast<uint64_t>(i) *
                                    static_cast<uint64_t>(step.integer));
  }
};

struct RandomOperation {
  Elements out;
  tinh_dtype_t dtype;
  Draw draw;
  Iteration<1> space; // In row-major order.
  bool coversResult;

  // Blocks of numbers that make a chunk.
  static constexpr int64_t kBlocks = 2048;

  bool overwrites() const { return coversResult; }
  uint32_t numChunks() const {
    auto blocks = static_cast<int64_t>(blocksOfDraw(
        draw.kind, dtype, static_cast<uint64_t>(space.elements())));
    return static_cast<uint32_t>(ceilDiv(blocks, kBlocks));
  }
  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      auto *to = reinterpret_cast<Element *>(out.data());
      int64_t perBlock = drawsWideNumbers(draw.kind, dtype) ? 2 : 4;
      int64_t total = space.elements();
      int64_t last = std::min(end * kBlocks, ceilDiv(total, perBlock));
      for (int64_t block = begin * kBlocks; block < last; ++block) {
        DrawnNumbers numbers =
            drawBlock(draw, dtype, static_cast<uint64_t>(block));
        int64_t first = block * perBlock;
        for (int i = 0; i < numbers.count && first + i < total; ++i) {
          Element value = draw.kind == Draw::Integers
                              ? static_cast<Element>(numbers.integer[i])
                              : static_cast<Element>(numbers.real[i]);
          to[offsetOf(first + i)] = value;
        }
      }
    });
  }

private:
  int64_t offsetOf(int64_t element) const {
    if (space.rank == 1)
      return element * space.strides[0][0];
    int64_t offsets[1];
    space.locate(element, offsets);
    return offsets[0];
  }
};

} // namespace

void EagerBackend::iota(const Scalar &start, const Scalar &step,
                        TensorImpl &out, const Call &call) {
  if (out.numElements() == 0)
    return;
  Engine::get().emplace<IotaOperation>(
      call, std::span<Storage *const>(), std::array{out.storage.get()},
      Elements(out), out.dtype, start, step, out.sizes[0], out.strides[0],
      coversStorage(out));
}

void EagerBackend::random(const Draw &draw, TensorImpl &out, const Call &call) {
  if (out.numElements() == 0)
    return;
  Iteration<1> space;
  for (uint32_t d = out.rank(); d-- > 0;)
    if (out.sizes[d] != 1)
      space.add(out.sizes[d], {out.strides[d]});
  space.merge();
  Engine::get().emplace<RandomOperation>(
      call, std::span<Storage *const>(), std::array{out.storage.get()},
      Elements(out), out.dtype, draw, space, coversStorage(out));
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

void EagerBackend::fromHost(const void *data, TensorImpl &out,
                            const Call &call) {
  auto size = static_cast<uint64_t>(out.numElements() * elementSize(out.dtype));
  try {
    out.storage = Storage::allocate(size);
  } catch (const Error &error) {
    throw Error(error.status(), describe(call, error.what()));
  }
  if (size)
    std::memcpy(out.storage->data(), data, size);
}

const void *EagerBackend::waitToRead(const TensorImpl &x, const Call &) {
  Engine::get().waitToRead(*x.storage);
  return x.storage->data();
}

void *EagerBackend::waitToWrite(const TensorImpl &x, const Call &) {
  Engine::get().waitToWrite(*x.storage);
  return x.storage->data();
}
