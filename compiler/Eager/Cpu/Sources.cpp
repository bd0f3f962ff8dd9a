//===- Sources.cpp - Tensors from nothing, from and for the host ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Operands.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Numbers by their index
//===----------------------------------------------------------------------===//

namespace {

struct IotaOperation : Pieces { // Elements.
  Elements out;
  tinh_dtype_t dtype;
  Scalar start, step;
  int64_t stride;

  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      auto *to = reinterpret_cast<Element *>(out.data());
      int64_t last = firstOf(end);
      bool isReal = start.dtype == TINH_DTYPE_F64;
      for (int64_t i = firstOf(begin); i < last; ++i)
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

} // namespace

void kernels::iota(const Primitive &primitive) {
  const auto &[start, step] = primitive.get<primitives::Iota>();
  TensorImpl &out = primitive.output();
  Engine::get().emplace<IotaOperation>(
      primitive.call, std::span<Storage *const>(),
      std::array{out.storage.get()},
      Pieces(out.sizes[0], elementsPerChunk(out.dtype), coversStorage(out)),
      Elements(out), out.dtype, start, step, out.strides[0]);
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

void kernels::fromHost(const void *data, TensorImpl &out, const Call &call) {
  auto size = static_cast<uint64_t>(out.numElements() * elementSize(out.dtype));
  try {
    out.storage = Storage::allocate(size);
  } catch (const Error &error) {
    throw Error(error.status(), describe(call, error.what()));
  }
  if (size)
    std::memcpy(out.storage->data(), data, size);
}

const void *kernels::waitToRead(const TensorImpl &x) {
  Engine::get().waitToRead(*x.storage);
  return x.storage->data();
}

void *kernels::waitToWrite(const TensorImpl &x) {
  Engine::get().waitToWrite(*x.storage);
  return x.storage->data();
}
