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

Signature signatureOf(const primitives::Attributes &attributes) {
  Signature signature;
  signature.add(attributes.index());
  auto add = [&](const auto &...fields) { (signature.add(fields), ...); };
  std::visit([&](const auto &of) { std::apply(add, of.key()); }, attributes);
  return signature;
}

} // namespace tinh::eager
