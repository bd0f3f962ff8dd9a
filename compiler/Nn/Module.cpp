//===- Module.cpp - What layers and models are ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/module.h"

#include "compiler/Nn/EagerScope.h"
#include "compiler/Nn/StateDict.h"
#include "tinh/autograd.h"

#include <typeinfo>
#include <unordered_set>

namespace tinh::nn {

using eager::Call;
using eager::fail;

Module::~Module() = default;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Where operations of a module's forward are said to be called: those of the
/// library's modules, whose lines say nothing to a program, where the module
/// is. Those of a program's own have lines of their own.
static At placeWithin(const Module &module, At at) {
  if (!std::string_view(typeid(module).name()).starts_with("N4tinh2nn"))
    return At();
  return eager::Call("", at).at;
}

/// An error with the module and where it was called, once.
static std::string describe(const std::string &module, At at,
                            std::string_view message) {
  std::string place = eager::place({"", at});
  if (message.starts_with(place))
    message.remove_prefix(place.size());
  return eager::describe({module.c_str(), at}, message);
}

Tensor Module::operator()(const Tensor &x, At at) {
  Tensor result;
  call(x, at, [&] {
    result = forward(x);
    note_result(result);
  });
  return result;
}

void Module::call(const Tensor &x, At at,
                  const std::function<void()> &compute) {
  try {
    AtScope place(placeWithin(*this, at));
    NameScope names(name);
    prepare(x.shape(at), at);
    compute();
  } catch (const Error &error) {
    std::string type = type_name();
    std::string what = name.empty() ? type : name + " (" + type + ")";
    throw Error(error.status(), describe(what, at, error.what()));
  }
}

Tensor Module::forward(const Tensor &) {
  throw Error(TINH_INVALID_ARGUMENT,
              type_name() + " has no forward(x); it takes other arguments, or "
                            "is a list of modules");
}

void Module::prepare(const Shape &input, At at) {
  if (ready)
    return;
  bool isInferred = false;
  for (const Entry &entry : entries)
    for (int64_t extent : entry.shape)
      isInferred |= extent == inferred && !entry.shared;
  if (isInferred)
    infer(input);
  for (Entry &entry : entries)
    if (!entry.place->defined())
      materialize(entry, at);
  link();
  ready = true;
}

const Generator &Module::generator(At at) const {
  if (!random)
    fail({"nn::Module", at}, type_name(),
         " has no generator; call initialize(generator) of the model");
  return *random;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

static void requireName(const std::string &name) {
  if (name.empty() || name.find('.') != name.npos)
    throw Error(TINH_INVALID_ARGUMENT,
                "\"" + name +
                    "\" is no name of a parameter or module; it must "
                    "not be empty and have no dots");
}

void Module::addEntry(Entry entry) {
  requireName(entry.name);
  for (const Entry &other : entries)
    if (other.name == entry.name)
      throw Error(TINH_INVALID_ARGUMENT,
                  type_name() + " has two parameters \"" + entry.name + "\"");
  entries.push_back(std::move(entry));
  ready = false;
}

void Module::register_parameter(std::string name, Tensor &place,
                                const Shape &shape, Initializer initializer) {
  addEntry({std::move(name), &place, shape, float32, std::move(initializer)});
}

void Module::register_buffer(std::string name, Tensor &place,
                             const Shape &shape, double value, DType dtype) {
  addEntry({std::move(name), &place, shape, dtype, init::constant(value), true,
            false});
}

void Module::registerChild(std::string name, std::shared_ptr<Module> module) {
  requireName(name);
  if (!module)
    throw Error(TINH_INVALID_ARGUMENT, "module \"" + name + "\" is null");
  for (const Child &other : children)
    if (other.name == name)
      throw Error(TINH_INVALID_ARGUMENT,
                  type_name() + " has two modules \"" + name + "\"");
  module->name = name;
  children.push_back({std::move(name), std::move(module)});
}

Module::Entry &Module::entryOf(const Tensor &place) {
  for (auto &[name, entry] : allEntries())
    if (entry->place == &place)
      return *entry;
  throw Error(TINH_INVALID_ARGUMENT,
              type_name() + ": this tensor is no registered parameter of it");
}

void Module::set_shape(const Tensor &place, const Shape &shape) {
  entryOf(place).shape = shape;
}

void Module::share_parameter(Tensor &place, Tensor &other) {
  entryOf(place).shared = &other;
  link();
}

/// Makes shared parameters what they are to be.
void Module::link() {
  for (auto &[name, entry] : allEntries())
    if (entry->shared && entry->shared->defined())
      *entry->place = *entry->shared;
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

static bool isKnown(const Shape &shape) {
  return std::find(shape.begin(), shape.end(), inferred) == shape.end();
}

void Module::materialize(Entry &entry, At at) {
  Call call{"nn::Module", at};
  if (entry.shared) {
    if (!entry.shared->defined())
      fail(call, "the tensor that ", type_name(), "'s ", entry.name,
           " shares has no values yet; call that module first");
    return;
  }
  if (!isKnown(entry.shape))
    fail(call, "the shape ", entry.shape, " of ", type_name(), "'s ",
         entry.name, " is not known yet; call the module with an input");
  if (!random && !entry.isBuffer)
    fail(call, type_name(), "'s ", entry.name,
         " has no values; call initialize(generator) or load_state_dict");
  EagerScope scope;
  if (!entry.place->defined())
    *entry.place = empty(entry.shape, entry.dtype);
  entry.initializer(*entry.place, random.value_or(Generator(0)));
  if (!entry.isBuffer)
    requires_grad_(*entry.place, entry.isTrainable);
}

void Module::initialize(const Generator &generator) {
  apply([&](Module &module) {
    module.random = generator;
    // A module's first values may depend on all of its shapes.
    bool known = std::all_of(module.entries.begin(), module.entries.end(),
                             [](const Entry &entry) {
                               return entry.shared || isKnown(entry.shape);
                             });
    for (Entry &entry : module.entries)
      if (known && !entry.shared)
        module.materialize(entry, At::current());
  });
  link();
}

std::vector<Generator> Module::generators() {
  std::vector<Generator> found;
  for (const Named &named : modules()) {
    const std::optional<Generator> &own = named.module->random;
    if (own && std::none_of(found.begin(), found.end(), [&](auto &known) {
          return known.state() == own->state();
        }))
      found.push_back(*own);
  }
  return found;
}

bool Module::is_initialized() const {
  for (auto &[name, entry] : allEntries())
    if (!entry->place->defined())
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Parameters by name
//===----------------------------------------------------------------------===//

std::vector<Module::Named> Module::modules() {
  std::vector<Named> all;
  std::unordered_set<Module *> seen;
  auto visit = [&](auto &self, Module *module, const std::string &name) {
    if (!seen.insert(module).second)
      return;
    all.push_back({name, module});
    for (const Child &child : module->children)
      self(self, child.module.get(),
           name.empty() ? child.name : name + "." + child.name);
  };
  visit(visit, this, "");
  return all;
}

void Module::apply(const std::function<void(Module &)> &function) {
  for (const Named &named : modules())
    function(*named.module);
}

std::vector<std::pair<std::string, Module::Entry *>>
Module::allEntries() const {
  std::vector<std::pair<std::string, Entry *>> all;
  // The same walk for const modules, which it does not change.
  for (const Named &named : const_cast<Module *>(this)->modules())
    for (Entry &entry : named.module->entries)
      all.emplace_back(named.name.empty() ? entry.name
                                          : named.name + "." + entry.name,
                       &entry);
  return all;
}

StateDict Module::tensorsOf(bool buffers, At at) const {
  StateDict all;
  for (auto &[name, entry] : allEntries()) {
    if (entry->isBuffer != buffers)
      continue;
    if (!entry->place->defined())
      fail({"nn::Module", at}, "\"", name, "\" has no values yet; call ",
           isKnown(entry->shape)
               ? "initialize(generator) or load_state_dict"
               : "the model once, so that its shape is known");
    auto isSame = [&](const NamedTensor &other) {
      return other.tensor.is_same(*entry->place);
    };
    if (std::none_of(all.begin(), all.end(), isSame))
      all.push_back({name, *entry->place});
  }
  return all;
}

StateDict Module::named_parameters(At at) const { return tensorsOf(false, at); }
StateDict Module::named_buffers(At at) const { return tensorsOf(true, at); }

std::vector<Tensor> Module::parameters(At at) const {
  std::vector<Tensor> all;
  for (NamedTensor &named : tensorsOf(false, at))
    all.push_back(std::move(named.tensor));
  return all;
}

int64_t Module::num_parameters(At at) const {
  int64_t count = 0;
  for (const NamedTensor &named : tensorsOf(false, at))
    count += named.tensor.numel();
  return count;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

StateDict Module::state_dict(At at) const {
  StateDict state;
  for (auto &[name, entry] : allEntries()) {
    if (!entry->place->defined())
      fail({"state_dict", at}, "\"", name, "\" has no values yet");
    state.push_back({name, *entry->place});
  }
  return state;
}

void Module::load_state_dict(const StateDict &state, bool strict, At at) {
  Call call{"load_state_dict", at};
  std::vector<ExpectedTensor> expected;
  for (auto &[name, entry] : allEntries())
    expected.push_back(
        {name, entry->place->defined() ? entry->place->shape() : entry->shape});
  requireFits(expected, state, strict, call);
  EagerScope scope;
  for (auto &[name, entry] : allEntries()) {
    const Tensor *given = find(state, name);
    if (!given)
      continue;
    entry->shape = given->shape();
    if (!entry->place->defined()) {
      *entry->place = empty(entry->shape, entry->dtype);
      if (!entry->isBuffer)
        requires_grad_(*entry->place, entry->isTrainable);
    }
    entry->place->copy_(Operand(given->to(entry->dtype, at), at));
  }
  link();
}

void Module::save(const std::string &path, At at) const {
  save_safetensors(path, state_dict(at), {}, at);
}

void Module::load(const std::string &path, bool strict, At at) {
  load_state_dict(load_safetensors(path, nullptr, at), strict, at);
}

void Module::set_trainable(bool value) {
  for (auto &[name, entry] : allEntries()) {
    if (entry->isBuffer)
      continue;
    entry->isTrainable = value;
    if (entry->place->defined())
      requires_grad_(*entry->place, value);
  }
}

/// Puts `convert(old)` in place of each tensor; shared ones stay shared.
void Module::replaceTensors(
    const std::function<Tensor(const Tensor &)> &convert) {
  EagerScope scope;
  std::vector<std::pair<Tensor, Tensor>> converted;
  for (auto &[name, entry] : allEntries()) {
    Tensor old = *entry->place;
    if (!old.defined())
      continue;
    auto isOld = [&](const auto &pair) { return pair.first.is_same(old); };
    auto known = std::find_if(converted.begin(), converted.end(), isOld);
    if (known == converted.end()) {
      converted.emplace_back(old, convert(old));
      known = converted.end() - 1;
      if (!entry->isBuffer && !known->second.is_same(old))
        requires_grad_(known->second, entry->isTrainable);
    }
    *entry->place = known->second;
  }
}

void Module::to(DType dtype, At at) {
  if (!dtype.is_floating_point())
    fail({"nn::Module::to", at}, dtype, " is no floating-point dtype");
  for (auto &[name, entry] : allEntries())
    if (entry->dtype.is_floating_point())
      entry->dtype = dtype;
  replaceTensors([&](const Tensor &old) {
    return old.dtype().is_floating_point() ? old.to(dtype, at) : old;
  });
}

void Module::to(Device device, At at) {
  replaceTensors([&](const Tensor &old) { return old.to(device, at); });
}

void Module::train(bool mode) {
  apply([&](Module &module) { module.training = mode; });
}

} // namespace tinh::nn
