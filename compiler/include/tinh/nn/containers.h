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

/// Modules called one after the other, which are called "0", "1", ….
class Sequential : public Module {
public:
  Sequential() = default;
  template <typename... Modules>
  explicit Sequential(Handle<Modules>... modules) {
    (push_back(std::move(modules)), ...);
  }
  std::string type_name() const override { return "Sequential"; }

  void push_back(Handle<Module> module) {
    list.push_back(register_module(std::to_string(list.size()), module));
  }
  size_t size() const { return list.size(); }
  const Handle<Module> &operator[](size_t i) const { return list.at(i); }
  auto begin() const { return list.begin(); }
  auto end() const { return list.end(); }

protected:
  Tensor forward(const Tensor &x) override {
    Tensor result = x;
    for (const Handle<Module> &module : list)
      result = module(result);
    return result;
  }

private:
  std::vector<Handle<Module>> list;
};

/// Modules of one type, which are called "0", "1", … and by whoever has them.
template <typename M> class ModuleList : public Module {
public:
  std::string type_name() const override { return "ModuleList"; }

  void push_back(Handle<M> module) {
    list.push_back(register_module(std::to_string(list.size()), module));
  }
  size_t size() const { return list.size(); }
  const Handle<M> &operator[](size_t i) const { return list.at(i); }
  auto begin() const { return list.begin(); }
  auto end() const { return list.end(); }

private:
  std::vector<Handle<M>> list;
};

} // namespace tinh::nn

#endif // TINH_NN_CONTAINERS_H
