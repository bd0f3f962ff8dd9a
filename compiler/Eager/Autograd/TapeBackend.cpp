//===- TapeBackend.cpp - Operations that are recorded ---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/TapeBackend.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/OpNode.h"

#include "llvm/ADT/STLExtras.h"

namespace tinh::eager {

/// Whether a call has to do with gradients.
static bool mustRecord(const Primitive &primitive) {
  auto matters = [](const Input &input) {
    return input.tensor && mayHaveHistory(*input.tensor);
  };
  auto has = [](const TensorImpl *output) { return mayHaveHistory(*output); };
  if (llvm::none_of(primitive.inputs, matters) &&
      llvm::none_of(primitive.outputs, has)) [[likely]]
    return false;
  return gradEnabled;
}

void TapeBackend::perform(const Primitive &primitive) {
  if (mustRecord(primitive)) {
    Signature signature = primitive.sign();
    return record(signature.words, {primitive.inputs,
                                    primitive.outputs,
                                    primitive.call,
                                    {},
                                    primitive.replay});
  }
  primitive.replay(eagerBackend(), primitive.inputs, primitive.outputs);
  for (const TensorImpl *output : primitive.outputs)
    output->storage->noteWrite(primitive.call.name, primitive.call.at);
}

void TapeBackend::view(const View &, const TensorImpl &x, TensorImpl &out) {
  // A view that is made without recording is a constant.
  if (gradEnabled)
    out.base = x.base ? x.base : Ref(const_cast<TensorImpl *>(&x));
}

void TapeBackend::fromHost(const void *data, TensorImpl &out, const Call &at) {
  // It is new: there is no history.
  eagerBackend().fromHost(data, out, at);
  out.storage->noteWrite(at.name, at.at);
}

const void *TapeBackend::waitToRead(const TensorImpl &x, const Call &at) {
  return eagerBackend().waitToRead(x, at);
}

void *TapeBackend::waitToWrite(const TensorImpl &x, const Call &at) {
  x.storage->noteWrite(at.name, at.at);
  return eagerBackend().waitToWrite(x, at);
}

//===----------------------------------------------------------------------===//
// The threads' own
//===----------------------------------------------------------------------===//

Backend &recordingBackend() {
  // Never destroyed: static tensors may outlive anything else.
  static auto *backend = new TapeBackend;
  return *backend;
}

} // namespace tinh::eager
