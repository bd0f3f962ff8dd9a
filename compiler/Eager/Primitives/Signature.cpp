//===- Signature.cpp - What tells primitives apart ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Primitives/Signature.h"

namespace tinh::eager {

Signature &Signature::add(const Window &window) {
  for (const Dims *dims : {&window.kernel, &window.strides, &window.dilations,
                           &window.padLow, &window.padHigh, &window.ceilPad})
    add(*dims);
  return add(window.groups);
}

namespace primitives {
namespace {

struct AddAttributes {
  Signature &to;

  void operator()(const Elementwise &of) { to.add(of.op); }
  void operator()(const Cast &) {}
  void operator()(const Reduce &of) { to.add(of.op).add(of.axes); }
  void operator()(const ArgReduce &of) { to.add(of.op).add(of.axis); }
  void operator()(const Cumulative &of) { to.add(of.op).add(of.axis); }
  void operator()(const Matmul &) {}
  void operator()(const Conv &of) { to.add(of.window); }
  void operator()(const ConvWeightGradient &of) { to.add(of.window); }
  void operator()(const Pool &of) { to.add(of.op).add(of.window); }
  void operator()(const MaxPoolGradient &of) { to.add(of.window); }
  void operator()(const Softmax &of) { to.add(of.op).add(of.axis); }
  void operator()(const LayerNorm &of) {
    to.add(of.norm.numDims).add(of.norm.epsilon).add(of.norm.rms);
    to.add(of.hasScale);
  }
  void operator()(const Concat &of) { to.add(of.axis); }
  void operator()(const Pad &of) {
    to.add(of.low).add(of.high).add(of.mode).add(of.value);
  }
  void operator()(const Flip &of) { to.add(of.axes); }
  void operator()(const Gather &of) { to.add(of.axis); }
  void operator()(const GatherElements &of) { to.add(of.axis); }
  void operator()(const GatherNd &) {}
  void operator()(const ScatterElements &of) { to.add(of.op).add(of.axis); }
  void operator()(const ScatterNd &of) { to.add(of.op); }
  void operator()(const Sort &of) {
    to.add(of.axis).add(of.descending).add(of.hasValues);
  }
  void operator()(const Iota &of) { to.add(of.start).add(of.step); }
  void operator()(const Random &of) {
    to.add(of.draw.kind).add(of.draw.a).add(of.draw.b);
  }
};

} // namespace
} // namespace primitives

Signature signatureOf(const primitives::Attributes &attributes) {
  Signature signature;
  signature.add(attributes.index());
  std::visit(primitives::AddAttributes{signature}, attributes);
  return signature;
}

} // namespace tinh::eager
