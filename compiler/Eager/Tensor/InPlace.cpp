//===- InPlace.cpp - Operations that write their first operand --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result must fit the destination's shape and dtype. A source that shares
// memory with it without being the same view is copied before.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Elementwise.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static void copyOperand(const Tensor &out, const Operand &value,
                        const Call &call) {
  TensorImpl &impl = use(out, call);
  requireWritable(impl, call);
  if (!value.tensor())
    return fill(impl, toScalar(value.number(), impl.dtype), call);
  const TensorImpl &x = use(*value.tensor(), call);
  if (!broadcastsTo(x.sizes, impl.sizes))
    fail(call, "shape ", x.sizes, " does not broadcast to ", impl.sizes,
         ", to which it is written");
  Tensor source = withoutOverlap(impl, x, call);
  copyInto(impl, use(source, call), call);
}

const Tensor &Tensor::copy_(Operand value) const {
  copyOperand(*this, value, {"copy_", value.at});
  return *this;
}

const Tensor &Tensor::fill_(Operand value) const {
  Call call{"fill_", value.at};
  if (value.tensor() && use(*value.tensor(), call).numElements() != 1)
    fail(call, "the value has shape ", use(*value.tensor(), call).sizes,
         "; it must be one number, or use copy_");
  copyOperand(*this, value, call);
  return *this;
}

const Tensor &Tensor::zero_(At at) const {
  copyOperand(*this, Operand(0, at), {"zero_", at});
  return *this;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static const Tensor &binary(ElementwiseOp op, const Tensor &self,
                            const Operand &value, const Call &call) {
  const Operand operands[] = {Operand(self, call.at), value};
  tinh_dtype_t dtype = commonDType(call, operands[0], value);
  BinaryOp how = arithmetic(op, dtype, call);
  elementwiseInto(self, how.op, operands, how.dtype, call);
  return self;
}

const Tensor &Tensor::add_(Operand value) const {
  return binary(ElementwiseOp::Add, *this, value, {"add_", value.at});
}
const Tensor &Tensor::sub_(Operand value) const {
  return binary(ElementwiseOp::Sub, *this, value, {"sub_", value.at});
}
const Tensor &Tensor::mul_(Operand value) const {
  return binary(ElementwiseOp::Mul, *this, value, {"mul_", value.at});
}
const Tensor &Tensor::pow_(Operand value) const {
  return binary(ElementwiseOp::Pow, *this, value, {"pow_", value.at});
}
const Tensor &Tensor::remainder_(Operand value) const {
  return binary(ElementwiseOp::Mod, *this, value, {"remainder_", value.at});
}
const Tensor &Tensor::minimum_(Operand value) const {
  return binary(ElementwiseOp::Min, *this, value, {"minimum_", value.at});
}
const Tensor &Tensor::maximum_(Operand value) const {
  return binary(ElementwiseOp::Max, *this, value, {"maximum_", value.at});
}

const Tensor &Tensor::div_(Operand value) const {
  Call call{"div_", value.at};
  const Operand operands[] = {Operand(*this, value.at), value};
  tinh_dtype_t dtype = floatingDType(commonDType(call, operands[0], value));
  elementwiseInto(*this, ElementwiseOp::Div, operands, dtype, call);
  return *this;
}

static const Tensor &logical(ElementwiseOp op, const Tensor &self,
                             const Operand &value, const Call &call) {
  const Operand operands[] = {Operand(self, call.at), value};
  elementwiseInto(self, op, operands, TINH_DTYPE_BOOL, call);
  return self;
}

const Tensor &Tensor::logical_and_(Operand value) const {
  return logical(ElementwiseOp::And, *this, value, {"logical_and_", value.at});
}
const Tensor &Tensor::logical_or_(Operand value) const {
  return logical(ElementwiseOp::Or, *this, value, {"logical_or_", value.at});
}

const Tensor &Tensor::addmul_(Operand value, Operand factor) const {
  Call call{"addmul_", value.at};
  const Operand operands[] = {value, factor, Operand(*this, value.at)};
  tinh_dtype_t dtype = commonDType(call, operands[2], value, factor);
  arithmetic(ElementwiseOp::MulAdd, dtype, call);
  elementwiseInto(*this, ElementwiseOp::MulAdd, operands, dtype, call);
  return *this;
}

const Tensor &Tensor::clamp_(Operand low, Operand high) const {
  Call call{"clamp_", low.at};
  const Operand operands[] = {Operand(*this, low.at), low, high};
  tinh_dtype_t dtype = commonDType(call, operands[0], low, high);
  arithmetic(ElementwiseOp::Clamp, dtype, call);
  elementwiseInto(*this, ElementwiseOp::Clamp, operands, dtype, call);
  return *this;
}

const Tensor &Tensor::masked_fill_(Operand mask, Operand value) const {
  Call call{"masked_fill_", mask.at};
  TensorImpl &impl = use(*this, call);
  requireBoolean(mask, "mask", call);
  requireFits(commonDType(call, Operand(*this, mask.at), value), impl.dtype,
              call);
  const Operand operands[] = {mask, value, Operand(*this, mask.at)};
  elementwiseInto(*this, ElementwiseOp::Where, operands, impl.dtype, call);
  return *this;
}

Tensor tinh::masked_fill(Operand x, Operand mask, Operand value) {
  Call call{"masked_fill", x.at};
  requireBoolean(mask, "mask", call);
  return elementwise(ElementwiseOp::Where, {mask, value, x},
                     commonDType(call, x, value), call);
}

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

static const Tensor &unary(ElementwiseOp op, const Tensor &self,
                           const Call &call) {
  tinh_dtype_t dtype = use(self, call).dtype;
  const Operand operands[] = {Operand(self, call.at)};
  elementwiseInto(self, op, operands, arithmetic(op, dtype, call).dtype, call);
  return self;
}

static const Tensor &floating(ElementwiseOp op, const Tensor &self,
                              const Call &call) {
  tinh_dtype_t dtype = floatingDType(use(self, call).dtype);
  const Operand operands[] = {Operand(self, call.at)};
  elementwiseInto(self, op, operands, dtype, call);
  return self;
}

const Tensor &Tensor::neg_(At at) const {
  return unary(ElementwiseOp::Neg, *this, {"neg_", at});
}
const Tensor &Tensor::abs_(At at) const {
  return unary(ElementwiseOp::Abs, *this, {"abs_", at});
}
const Tensor &Tensor::relu_(At at) const {
  return unary(ElementwiseOp::Relu, *this, {"relu_", at});
}
const Tensor &Tensor::exp_(At at) const {
  return floating(ElementwiseOp::Exp, *this, {"exp_", at});
}
const Tensor &Tensor::log_(At at) const {
  return floating(ElementwiseOp::Log, *this, {"log_", at});
}
const Tensor &Tensor::sqrt_(At at) const {
  return floating(ElementwiseOp::Sqrt, *this, {"sqrt_", at});
}
const Tensor &Tensor::sigmoid_(At at) const {
  return floating(ElementwiseOp::Sigmoid, *this, {"sigmoid_", at});
}
const Tensor &Tensor::tanh_(At at) const {
  return floating(ElementwiseOp::Tanh, *this, {"tanh_", at});
}
