//===- tinh/function.h - C++ functions that become graphs -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function over tensors is traced once for each signature of its arguments:
// it runs with tensors that stand for values, what it does with them is
// recorded as a graph, and the graph is compiled. Later calls run the compiled
// code:
//
//   auto mlp = tinh::function([&](Tensor x) {
//     return matmul(relu(matmul(x, w1)), w2);
//   });
//   Tensor y = mlp(x);            // Traces, compiles, and runs.
//   Tensor z = mlp(x);            // Runs.
//   mlp.save("mlp.onnx", x);      // Or .so, .json, .mlir, .mlirbc.
//
// What a signature is: the dtypes and shapes of the tensors among the
// arguments, and the values of the numbers. Tensors that the function refers to
// without being given them are *captured*: each call reads what they hold then.
// What the function changes in place, given or captured, is changed by each
// call. A random generator that it uses goes on where the last call left it.
//
// What tracing loses: the function's C++ code runs once a signature, so
//   - other side effects (printing, counters, files) happen then only;
//   - branches and loops of C++ are taken as they were then, which is right as
//     long as they depend on the signature alone. To depend on what a tensor
//     holds, use cond, while_loop and scan; item() and the like are errors;
//   - a captured variable of type Tensor stays the tensor that it was:
//     assigning another one to it (w = w - g) is not seen, changing it in place
//     (w -= g) is;
//   - a result that is a view of an argument is a copy.
//
// Thread-safe: a function may be called from several threads; it is traced by
// one of them at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_FUNCTION_H
#define TINH_FUNCTION_H

#include "tinh/state_dict.h"
#include "tinh/tensor.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinh {

struct FunctionOptions {
  /// In messages and as the model's name.
  std::string name = "function";
  /// Threads that compute a call; 0: as many as the engine has workers.
  uint32_t threads = 0;
  /// A warning is printed, once, when the function has been traced so often.
  size_t retrace_warning = 8;
  /// Names for captured tensors in what is saved: a network's state_dict().
  StateDict captured = {};
};

/// What became of the calls of a function so far.
struct FunctionStatistics {
  size_t calls = 0;
  size_t traces = 0;
  double trace_ms = 0;   ///< In all traces together,
  double compile_ms = 0; ///< and in compiling what they recorded.
  /// Why each trace but the first was needed: "argument 0: shape [3, 4] instead
  /// of [5, 4]".
  std::vector<std::string> retraces;
};

/// What is common to all traced functions: tensors in, tensors out.
class Function {
public:
  using Body = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  explicit Function(FunctionOptions options, std::source_location at);

  /// Calls `body`, compiled for the signature of `inputs` and `key`, which
  /// stands for all else that it depends on.
  std::vector<Tensor> call(const Body &body, std::span<const Tensor> inputs,
                           const std::string &key) const;
  /// Writes what `body` is for the signature of `inputs`; see
  /// TracedFunction::save. `names` are those of the inputs, each another one:
  /// without, they are input0, input1, …
  void save(const std::string &path, const Body &body,
            std::span<const Tensor> inputs, const std::string &key,
            std::span<const std::string> names = {}) const;
  /// The traced graph, as MLIR text.
  std::string graph(const Body &body, std::span<const Tensor> inputs,
                    const std::string &key,
                    std::span<const std::string> names = {}) const;
  FunctionStatistics statistics() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl;
};

namespace detail {

/// The tensors among the arguments of a call, and the rest as text: "3, 0.5".
class Arguments {
public:
  void add(const Tensor &tensor) { tensors.push_back(tensor); }
  void add(const std::vector<Tensor> &several) {
    addText(std::to_string(several.size()) + " tensors");
    tensors.insert(tensors.end(), several.begin(), several.end());
  }
  template <typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void add(Number number) {
    if constexpr (std::is_enum_v<Number>)
      addText(std::to_string(static_cast<int64_t>(number)));
    else if constexpr (std::is_floating_point_v<Number>)
      addText(exactText(number));
    else
      addText(std::to_string(number));
  }

  std::vector<Tensor> tensors;
  std::string key;

private:
  void addText(const std::string &text) {
    key += (key.empty() ? "" : ", ") + text;
  }
  /// As short as it can be and different for different numbers.
  static std::string exactText(double number) {
    char text[32];
    return std::string(text,
                       std::to_chars(text, text + sizeof text, number).ptr);
  }
};

/// Puts traced tensors in the place of given ones.
class Substitution {
public:
  explicit Substitution(std::span<const Tensor> traced) : traced(traced) {}
  Tensor operator()(const Tensor &) { return traced[next++]; }
  std::vector<Tensor> operator()(const std::vector<Tensor> &several) {
    std::vector<Tensor> result;
    for (size_t i = 0; i < several.size(); ++i)
      result.push_back(traced[next++]);
    return result;
  }
  template <typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  Number operator()(Number number) {
    return number;
  }

private:
  std::span<const Tensor> traced;
  size_t next = 0;
};

/// Results of a C++ function as a list of tensors, and back.
template <typename Result> struct Results {
  template <size_t... I>
  static std::vector<Tensor> list(const Result &result,
                                  std::index_sequence<I...>) {
    return {std::get<I>(result)...};
  }
  template <size_t... I>
  static Result make(std::vector<Tensor> list, std::index_sequence<I...>) {
    return Result{std::move(list[I])...};
  }
  static constexpr auto indices =
      std::make_index_sequence<std::tuple_size_v<Result>>();
  static std::vector<Tensor> list(const Result &result) {
    return list(result, indices);
  }
  static Result make(std::vector<Tensor> results) {
    return make(std::move(results), indices);
  }
};
template <> struct Results<Tensor> {
  static std::vector<Tensor> list(const Tensor &result) { return {result}; }
  static Tensor make(std::vector<Tensor> results) { return results[0]; }
};
template <> struct Results<std::vector<Tensor>> {
  static std::vector<Tensor> list(std::vector<Tensor> result) { return result; }
  static std::vector<Tensor> make(std::vector<Tensor> results) {
    return results;
  }
};

} // namespace detail

/// What tinh::function makes of a C++ callable. Arguments are tensors, vectors
/// of tensors, numbers and enumerators; the result is void, a tensor, or a
/// vector, array, pair or tuple of tensors.
template <typename F> class TracedFunction {
public:
  TracedFunction(F f, FunctionOptions options, std::source_location at)
      : f(std::move(f)), function(std::move(options), at) {}

  template <typename... Args> auto operator()(const Args &...args) const {
    using Result = std::invoke_result_t<const F &, const Args &...>;
    detail::Arguments arguments;
    (arguments.add(args), ...);
    auto results =
        function.call(body(args...), arguments.tensors, arguments.key);
    if constexpr (!std::is_void_v<Result>)
      return detail::Results<Result>::make(std::move(results));
  }

  /// Writes what the function is for arguments like these, by the ending of
  /// `path`: the graph as .mlir or .mlirbc, .json, .onnx, or compiled, .so.
  /// Captured tensors are constants with what they hold now; those that the
  /// function changes are further inputs, and further outputs.
  template <typename... Args>
  void save(const std::string &path, const Args &...args) const {
    detail::Arguments arguments;
    (arguments.add(args), ...);
    function.save(path, body(args...), arguments.tensors, arguments.key);
  }

  /// The graph for arguments like these, as MLIR text.
  template <typename... Args> std::string graph(const Args &...args) const {
    detail::Arguments arguments;
    (arguments.add(args), ...);
    return function.graph(body(args...), arguments.tensors, arguments.key);
  }

  FunctionStatistics statistics() const { return function.statistics(); }

private:
  template <typename... Args> Function::Body body(const Args &...args) const {
    return [&](std::span<const Tensor> traced) -> std::vector<Tensor> {
      using Result = std::invoke_result_t<const F &, const Args &...>;
      detail::Substitution substitute(traced);
      // Braces evaluate in order.
      std::tuple<Args...> substituted{substitute(args)...};
      if constexpr (std::is_void_v<Result>) {
        std::apply(f, substituted);
        return {};
      } else {
        return detail::Results<Result>::list(std::apply(f, substituted));
      }
    };
  }

  F f;
  Function function;
};

/// Makes a function that is traced and compiled when it is called.
template <typename F>
TracedFunction<F>
function(F f, FunctionOptions options = {},
         std::source_location at = std::source_location::current()) {
  return TracedFunction<F>(std::move(f), std::move(options), at);
}

/// As above, with a name.
template <typename F>
TracedFunction<F>
function(std::string name, F f,
         std::source_location at = std::source_location::current()) {
  FunctionOptions options;
  options.name = std::move(name);
  return TracedFunction<F>(std::move(f), std::move(options), at);
}

/// Whether this thread is tracing a function, so that tensors have no values.
bool is_tracing();

//===----------------------------------------------------------------------===//
// Control flow that depends on values
//===----------------------------------------------------------------------===//
//
// While a function is traced, these become graph.if, graph.while and
// graph.scan; otherwise they are C++'s own branches and loops, which wait for
// the condition. The functions that they are given may refer to any tensors;
// what they change in place is changed after them. The state of a loop is its
// own: a body that changes it in place changes nothing else.

using Branch = std::function<std::vector<Tensor>()>;

/// `then()` or `otherwise()`, by `condition`, one boolean. Both give as many
/// tensors, of the same dtypes and shapes.
std::vector<Tensor>
cond(const Tensor &condition, const Branch &then, const Branch &otherwise,
     std::source_location at = std::source_location::current());

/// `state = body(state)` while `condition(state)`, one boolean. Dtypes and
/// shapes stay the same.
std::vector<Tensor> while_loop(
    const std::function<Tensor(std::span<const Tensor> state)> &condition,
    const std::function<std::vector<Tensor>(std::span<const Tensor> state)>
        &body,
    std::vector<Tensor> initial,
    std::source_location at = std::source_location::current());

/// What a step of scan gives: the next state, and an item of each output.
struct ScanStep {
  std::vector<Tensor> state;
  std::vector<Tensor> items;
};
/// What scan gives: the last state, and the items stacked along a new dimension
/// in front.
struct ScanResult {
  std::vector<Tensor> state;
  std::vector<Tensor> stacked;
};

/// Runs `body` once for each row of `inputs`, which have equally many:
/// body(state, rows). `length` is needed where there are no inputs.
ScanResult
scan(const std::function<ScanStep(std::span<const Tensor> state,
                                  std::span<const Tensor> rows)> &body,
     std::vector<Tensor> initial, std::vector<Tensor> inputs,
     int64_t length = -1,
     std::source_location at = std::source_location::current());

} // namespace tinh

#endif // TINH_FUNCTION_H
