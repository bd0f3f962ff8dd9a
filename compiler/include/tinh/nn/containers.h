//===- tinh/nn/containers.h - Lists of modules ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_CONTAINERS_H
#define TINH_NN_CONTAINERS_H

#include "tinh/nn/module.h"

namespace tinh::nn {

/// What has modules that are called "0", "1", ….
template <typename M> class NumberedModules : public Module {
public:
  void push_back(Handle<M> module) {
    list.push_back(register_module(std::to_string(list.size()), module));
  }
  size_t size() const { return list.size(); }
  const Handle<M> &operator[](size_t i) const { return list.at(i); }
  auto begin() const { return list.begin(); }
  auto end() const { return list.end(); }

protected:
  std::vector<Handle<M>> list;
};

/// Modules called one after the other.
class Sequential : public NumberedModules<Module> {
public:
  Sequential() = default;
  template <typename... Modules>
  explicit Sequential(Handle<Modules>... modules) {
    (push_back(std::move(modules)), ...);
  }
  std::string type_name() const override { return "Sequential"; }

protected:
  Tensor forward(const Tensor &x) override {
    Tensor result = x;
    for (const Handle<Module> &module : list)
      result = module(result);
    return result;
  }
};

/// Modules of one type, which are called by whoever has them.
template <typename M> class ModuleList : public NumberedModules<M> {
public:
  std::string type_name() const override { return "ModuleList"; }
};

} // namespace tinh::nn

#endif // TINH_NN_CONTAINERS_H
