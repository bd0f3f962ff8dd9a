//===- function.h - Functions of artifacts for Python -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_FUNCTION_H
#define TINH_PYTHON_FUNCTION_H

#include "engine.h"

#include <string>
#include <vector>

namespace tinh::python {

class Function {
public:
  Function(EngineRef engine, uint32_t index);

  const std::string &name() const { return called; }
  const std::vector<Argument> &inputs() const { return arguments; }
  const std::vector<Argument> &outputs() const { return results; }
  /// As Python would print it: main(x: f32[2, 3]) -> (y: f32[2]).
  std::string signature() const;

  /// Runs it with the arguments of a call in Python: inputs by position or by
  /// name, and `out`, an array, or a tuple of arrays and None, to write to.
  nb::object call(nb::handle args, nb::handle kwargs) const;
  /// Queues the same.
  Future submit(nb::handle args, nb::handle kwargs, Run &run) const;

  const EngineRef &on() const { return engine; }

private:
  Run prepare(nb::handle args, nb::handle kwargs) const;
  /// Gives `out`, if the call has it.
  nb::object bindInputs(nb::handle args, nb::handle kwargs, Run &run) const;
  void bindOutputs(nb::handle out, Run &run) const;
  [[noreturn]] void refuseName(nb::handle name) const;

  EngineRef engine;
  uint32_t index;
  std::string called;
  std::vector<Argument> arguments, results;
  std::vector<std::vector<int32_t>> sizes; ///< As of a Run.
};

} // namespace tinh::python

#endif // TINH_PYTHON_FUNCTION_H
