//===- TraceBackend.h - Operations on tensors as graph ops ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the front end asks for while a function is traced becomes ops of the
// graph dialect.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_TRACEBACKEND_H
#define TINH_EAGER_FUNCTION_TRACEBACKEND_H

#include "compiler/Eager/Backend.h"
#include "compiler/Eager/Function/Trace.h"
#include "compiler/Eager/Function/TraceAutograd.h"

namespace tinh::eager {

class TraceBackend final : public Backend {
public:
  /// Gradients are those of `autograd`; without it, none are asked for.
  explicit TraceBackend(Trace &trace, TraceAutograd *traceAutograd = nullptr)
      : trace(trace), traceAutograd(traceAutograd) {}

  /// The one of this thread; null if nothing is being traced.
  static TraceBackend *current();

  Trace &trace;

  bool isTracing() const override { return true; }
  Autograd &autograd() override {
    return traceAutograd ? *traceAutograd : Backend::autograd();
  }
  /// What an op gave, as far as gradients go.
  mlir::Value result(mlir::Value value, const Call &call) {
    return traceAutograd ? traceAutograd->result(value, call) : value;
  }
  void allocate(TensorImpl &out) override { trace.allocate(out); }
  void view(const View &view, const TensorImpl &x, TensorImpl &out) override {
    trace.addView(x, view, out);
  }

  void perform(const Primitive &primitive) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override;

  const void *waitToRead(const TensorImpl &x, const Call &call) override;
  void *waitToWrite(const TensorImpl &x, const Call &call) override;

private:
  TraceAutograd *traceAutograd;
};

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_TRACEBACKEND_H
