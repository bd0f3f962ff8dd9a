//===- HostFunctions.cpp - Functions of the user's as operations ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Record.h"
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Operands.h"
#include "compiler/Eager/Tensor/Device.h"

#include <vector>

using namespace tinh;
using namespace tinh::eager;

namespace {

struct HostOperation {
  HostFunction function;
  std::vector<Tensor> reads, writes;

  uint32_t numChunks() const { return 1; }
  bool mayTakeLong() const { return true; }
  void run(uint32_t, uint32_t, Worker &) {
    function(arrays(reads), arrays(writes));
  }

private:
  static std::vector<HostArray> arrays(const std::vector<Tensor> &tensors) {
    std::vector<HostArray> result;
    for (const Tensor &tensor : tensors) {
      const TensorImpl &x = *TensorAccess::get(tensor);
      result.push_back({Elements(x).data(), x.dtype, x.sizes, x.strides});
    }
    return result;
  }
};

} // namespace

void tinh::call(const char *name, HostFunction function,
                std::span<const Tensor> reads, std::span<const Tensor> writes,
                std::source_location at) {
  Call call{name, at};
  if (Backend::current().isTracing())
    fail(call, "a function of the host cannot be part of a graph; call it "
               "outside of what is traced");
  std::vector<Storage *> read, written;
  for (const Tensor &tensor : reads) {
    requireCpu(use(tensor, call), "a function of the host", call);
    read.push_back(use(tensor, call).storage.get());
  }
  for (const Tensor &tensor : writes) {
    requireCpu(use(tensor, call), "a function of the host", call);
    requireNoLeaf(use(tensor, call), call);
    written.push_back(use(tensor, call).storage.get());
  }
  Engine::get().emplace<HostOperation>(
      call, read, written, std::move(function),
      std::vector<Tensor>(reads.begin(), reads.end()),
      std::vector<Tensor>(writes.begin(), writes.end()));
  for (const Tensor &tensor : writes)
    noteChange(use(tensor, call), call);
  recordFunction(
      call, reads, writes, {}, [call](auto...) -> std::vector<Tensor> {
        fail(call,
             "a function of the host cannot be differentiated; call it in a "
             "tinh::custom_gradient that says what its gradient is");
      });
}

void tinh::call(const char *name, HostFunction function,
                std::initializer_list<Tensor> reads,
                std::initializer_list<Tensor> writes, std::source_location at) {
  call(name, std::move(function), std::span(reads.begin(), reads.size()),
       std::span(writes.begin(), writes.size()), at);
}
