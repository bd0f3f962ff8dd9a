//===- tinh/nn/module.h - What layers and models are ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module computes a tensor from a tensor, with parameters that it owns and
// modules that it is made of:
//
//   class Net : public tinh::nn::Module {
//   public:
//     Tensor forward(const Tensor &x) override {
//       return output(relu(hidden(x)));
//     }
//
//   private:
//     nn::Handle<nn::Linear> hidden = add<nn::Linear>("hidden", 64, 128);
//     nn::Handle<nn::Linear> output = add<nn::Linear>("output", 128, 10);
//   };
//
//   auto net = nn::make<Net>();
//   net->initialize(generator);
//   Tensor y = net(x);
//
// A module declares its parameters; they get values from initialize(), which
// takes the generator to draw them from, or from load_state_dict(). Sizes may
// be nn::inferred: they are found at the first call, or in the state that is
// loaded. The names of parameters and buffers are PyTorch's: "hidden.weight".
//
// Modules are held by handles, which share them. They may be called in traced
// functions; those that are made or found there keep their values afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_MODULE_H
#define TINH_NN_MODULE_H

#include "tinh/nn/init.h"
#include "tinh/state_dict.h"
#include "tinh/tensor.h"

#include <concepts>
#include <cstddef>
#include <memory>

namespace tinh::nn {

/// A size that is found at the first call.
inline constexpr int64_t inferred = -1;

class Module;

/// A shared module, which can be called.
template <typename M> class Handle : public std::shared_ptr<M> {
public:
  Handle() = default;
  Handle(std::nullptr_t) {}
  template <typename Other>
    requires std::convertible_to<Other *, M *>
  Handle(std::shared_ptr<Other> module)
      : std::shared_ptr<M>(std::move(module)) {}

  Tensor operator()(const Tensor &x, At at = At::current()) const {
    return (**this)(x, at);
  }
  template <typename... Args>
    requires(sizeof...(Args) > 1)
  auto operator()(Args &&...args) const {
    return (**this)(std::forward<Args>(args)...);
  }
};

template <typename M, typename... Args> Handle<M> make(Args &&...args) {
  return Handle<M>(std::make_shared<M>(std::forward<Args>(args)...));
}

class Module {
public:
  Module() = default;
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  virtual ~Module();

  /// In messages and summaries.
  virtual std::string type_name() const { return "Module"; }

  /// In messages and traced graphs: by default the name in the module that it
  /// was registered in last, or "".
  void set_name(std::string value) { name = std::move(value); }

  /// Finds sizes that are still to be found, and calls forward. Its errors are
  /// told with the module, and where it was called.
  Tensor operator()(const Tensor &x, At at = At::current());

  //===--------------------------------------------------------------------===//
  // Parameters and buffers
  //===--------------------------------------------------------------------===//

  /// Gives all parameters and buffers their initial values; those of inferred
  /// sizes when these are found. The generator is also that of dropout.
  void initialize(const Generator &generator);
  /// Those that modules were initialized with, each once.
  std::vector<Generator> generators();
  /// Whether all parameters have values.
  bool is_initialized() const;

  /// All, with those of modules within; shared ones once, under the first name.
  StateDict named_parameters(At at = At::current()) const;
  std::vector<Tensor> parameters(At at = At::current()) const;
  StateDict named_buffers(At at = At::current()) const;
  /// The sum of all parameters' sizes.
  int64_t num_parameters(At at = At::current()) const;

  /// Parameters and buffers; shared ones under each of their names.
  StateDict state_dict(At at = At::current()) const;
  /// Copies the values in. Names and shapes must be those of state_dict(); if
  /// not `strict`, names that are in one of them only are ignored.
  void load_state_dict(const StateDict &state, bool strict = true,
                       At at = At::current());
  /// To and from a file, .safetensors.
  void save(const std::string &path, At at = At::current()) const;
  void load(const std::string &path, bool strict = true, At at = At::current());

  /// Whether the parameters get gradients.
  void freeze() { set_trainable(false); }
  void unfreeze() { set_trainable(true); }

  /// Converts parameters and buffers that are floating-point. The tensors are
  /// other ones afterwards: make the optimizer later.
  void to(DType dtype, At at = At::current());
  /// Moves parameters and buffers to another device; so with these.
  void to(Device device, At at = At::current());

  //===--------------------------------------------------------------------===//
  // Modules within
  //===--------------------------------------------------------------------===//

  struct Named {
    std::string name; ///< Dotted; "" is the module itself.
    Module *module;
  };
  /// This one and all within, each once, parents first.
  std::vector<Named> modules();
  /// Calls `function` with each of modules().
  void apply(const std::function<void(Module &)> &function);

  /// How dropout and batch norm behave; as in PyTorch, training at first.
  void train(bool mode = true);
  void eval() { train(false); }
  bool is_training() const { return training; }

  /// A table: each module's name, type and number of parameters and, if given
  /// an x to be called with (as by eval(), without gradients), the shape of its
  /// result.
  std::string summary(const Tensor &x = {}, At at = At::current());

protected:
  /// What the module computes. Those that take something else than one tensor
  /// have an operator() of their own, which computes in call().
  virtual Tensor forward(const Tensor &x);

  /// Sets the inferred sizes by that of the first call's input: calls
  /// set_shape.
  virtual void infer(const Shape & /*input*/) {}

  /// To be called in the constructor; `place` is a member of this module.
  void register_parameter(std::string name, Tensor &place, const Shape &shape,
                          Initializer initializer);
  void register_buffer(std::string name, Tensor &place, const Shape &shape,
                       double value, DType dtype = float32);
  template <typename M>
  Handle<M> register_module(std::string name, Handle<M> module) {
    registerChild(std::move(name), module);
    return module;
  }
  /// Makes a module and registers it.
  template <typename M, typename... Args>
  Handle<M> add(std::string name, Args &&...args) {
    return register_module(std::move(name),
                           make<M>(std::forward<Args>(args)...));
  }
  /// Makes `place`, a parameter of this module or of one within, the same
  /// tensor as `other`, one of any module that lives as long.
  void share_parameter(Tensor &place, Tensor &other);
  /// Makes the shape of a parameter or buffer known.
  void set_shape(const Tensor &place, const Shape &shape);

  /// Runs `compute`, what a call of this module with `x` is to do: sizes that
  /// are still to be found are, and its errors and operations are told with the
  /// module.
  void call(const Tensor &x, At at, const std::function<void()> &compute);
  /// The one of initialize(); an error if there was none.
  const Generator &generator(At at) const;
  /// For the summary.
  void note_result(const Tensor &result) const;

private:
  /// A parameter or buffer, and what it is to be.
  struct Entry {
    std::string name;
    Tensor *place;
    Shape shape; ///< `inferred` where it is not known yet.
    DType dtype;
    Initializer initializer;
    bool isBuffer = false, isTrainable = true;
    Tensor *shared = nullptr; ///< The tensor that it is to be.
  };
  struct Child {
    std::string name;
    std::shared_ptr<Module> module;
  };
  void registerChild(std::string name, std::shared_ptr<Module> module);
  /// Gives parameters whose sizes have been inferred their values.
  void prepare(const Shape &input, At at);
  void addEntry(Entry entry);
  Entry &entryOf(const Tensor &place);
  void materialize(Entry &entry, At at);
  void replaceTensors(const std::function<Tensor(const Tensor &)> &convert);
  void link();
  void set_trainable(bool value);
  /// The entries of all modules, with dotted names.
  std::vector<std::pair<std::string, Entry *>> allEntries() const;
  StateDict tensorsOf(bool buffers, At at) const;

  std::string name; ///< As of set_name.
  std::vector<Entry> entries;
  std::vector<Child> children;
  std::optional<Generator> random;
  bool ready = false;
  bool training = true;
};

} // namespace tinh::nn

#endif // TINH_NN_MODULE_H
