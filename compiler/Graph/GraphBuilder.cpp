//===- GraphBuilder.cpp - Checked construction of graph ops -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/GraphBuilder.h"

#include "compiler/Graph/EvaluateConstants.h"
#include "compiler/Graph/ExternalData.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Extents of 0 count as 1 for what is beyond any memory, so that the product
/// of any of the extents is none that overflows.
std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  constexpr int64_t kLimit = int64_t(1) << 44;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > kLimit / count)
      return std::nullopt;
    count *= std::max<int64_t>(extent, 1);
  }
  return llvm::is_contained(shape, 0) ? 0 : count;
}

std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(extent);
  return text + "]";
}

DenseElementsAttr denseFromBytes(RankedTensorType type, ArrayRef<char> bytes) {
  assert(static_cast<int64_t>(bytes.size()) == graph::tensorSize(type));
  if (bytes.empty())
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> values;
  for (char byte : bytes)
    values.push_back(byte != 0);
  return DenseElementsAttr::get(type, ArrayRef<bool>(values));
}

SmallVector<int64_t> denseToInts(DenseElementsAttr value) {
  SmallVector<int64_t> result;
  Type element = value.getElementType();
  bool isSigned = !element.isUnsignedInteger() && !element.isInteger(1);
  for (const APInt &number : value.getValues<APInt>())
    result.push_back(isSigned ? number.getSExtValue()
                              : static_cast<int64_t>(number.getZExtValue()));
  return result;
}

SmallVector<double> denseToDoubles(DenseElementsAttr value) {
  SmallVector<double> result;
  if (isa<FloatType>(value.getElementType())) {
    for (APFloat number : value.getValues<APFloat>()) {
      bool loses;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &loses);
      result.push_back(number.convertToDouble());
    }
    return result;
  }
  for (int64_t number : denseToInts(value))
    result.push_back(static_cast<double>(number));
  return result;
}

//===----------------------------------------------------------------------===//
// What ODS knows of each op
//===----------------------------------------------------------------------===//

namespace {

struct OpInfo {
  unsigned minOperands, maxOperands;
  /// Checks the types of attributes, operands and results one by one.
  LogicalResult (*checkConstraints)(Operation *);
};

template <typename OpTy, unsigned N> constexpr bool hasOperands() {
  return OpTy::template hasTrait<OpTrait::NOperands<N>::template Impl>();
}
template <typename OpTy, unsigned N> constexpr bool hasAtLeast() {
  return OpTy::template hasTrait<OpTrait::AtLeastNOperands<N>::template Impl>();
}

template <typename OpTy> OpInfo describe() {
  auto check = [](Operation *op) {
    return cast<OpTy>(op).verifyInvariantsImpl();
  };
  constexpr unsigned kMany = ~0u;
  if constexpr (OpTy::template hasTrait<OpTrait::ZeroOperands>())
    return {0, 0, check};
  else if constexpr (OpTy::template hasTrait<OpTrait::OneOperand>())
    return {1, 1, check};
  else if constexpr (hasOperands<OpTy, 2>())
    return {2, 2, check};
  else if constexpr (hasOperands<OpTy, 3>())
    return {3, 3, check};
  else if constexpr (hasOperands<OpTy, 4>())
    return {4, 4, check};
  else if constexpr (hasOperands<OpTy, 5>())
    return {5, 5, check};
  else if constexpr (hasAtLeast<OpTy, 1>())
    return {1, kMany, check};
  else if constexpr (hasAtLeast<OpTy, 2>())
    return {2, 3, check};
  else if constexpr (hasAtLeast<OpTy, 3>())
    return {3, 4, check};
  else
    return {0, kMany, check};
}

template <typename... Ops> llvm::DenseMap<TypeID, OpInfo> describeAll() {
  return {{TypeID::get<Ops>(), describe<Ops>()}...};
}

const llvm::DenseMap<TypeID, OpInfo> &opInfos() {
  static const auto infos = describeAll<
#define GET_OP_LIST
#include "dialects/graph/GraphOps.cpp.inc"
      >();
  return infos;
}

std::string plural(unsigned count, StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

LogicalResult checkOperandCount(Operation *op, const OpInfo &info) {
  unsigned count = op->getNumOperands();
  if (count >= info.minOperands && count <= info.maxOperands)
    return success();
  std::string expected = plural(info.minOperands, "input");
  if (info.maxOperands == ~0u)
    expected += " or more";
  else if (info.maxOperands != info.minOperands)
    expected = std::to_string(info.minOperands) + " to " +
               plural(info.maxOperands, "input");
  return emitError(op->getLoc())
         << op->getName() << ": expected " << expected << ", found " << count;
}

/// Checks attributes and operands of an op whose result types are not known.
LogicalResult checkConstraints(Operation *op, const OpInfo &info) {
  std::string first;
  MLIRContext *context = op->getContext();
  for (Type element :
       {Type(Float32Type::get(context)), Type(IntegerType::get(context, 1))}) {
    if (op->getNumResults() == 1)
      op->getResult(0).setType(RankedTensorType::get({}, element));
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (first.empty())
        first = diagnostic.str();
      return success();
    });
    if (succeeded(info.checkConstraints(op)))
      return success();
  }
  return emitError(op->getLoc()) << first;
}

LogicalResult inferResult(Operation *op) {
  auto *interface = op->getName().getInterface<InferTypeOpInterface>();
  if (!interface)
    return emitError(op->getLoc())
           << op->getName() << ": its result type must be given";
  SmallVector<Type> types;
  if (failed(interface->inferReturnTypes(
          op->getContext(), op->getLoc(), op->getOperands(),
          op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return failure();
  op->getResult(0).setType(types.front());
  return success();
}

LogicalResult checkResultSize(Operation *op) {
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && !countElements(tensor.getShape()))
      return emitError(op->getLoc())
             << op->getName() << ": the result would have the shape "
             << formatShape(tensor.getShape()) << ", beyond any memory";
  return success();
}

/// That factors of bf16 or f16 beside those of f32 are what the compiler makes
/// of weights, and no model has.
LogicalResult checkFactors(Operation *op) {
  if (!isa<graph::MatmulOp, graph::ConvOp, graph::ConvTransposeOp>(op))
    return success();
  auto left = cast<RankedTensorType>(op->getOperand(0).getType()),
       right = cast<RankedTensorType>(op->getOperand(1).getType());
  Type l = left.getElementType(), r = right.getElementType();
  if (l == r || !isa<FloatType>(l) || !isa<FloatType>(r))
    return success();
  return emitError(op->getLoc())
         << op->getName() << ": element types of the factors differ: "
         << graph::shapeToString(left) << " and " << graph::shapeToString(right)
         << "; cast one of them";
}

} // namespace

//===----------------------------------------------------------------------===//
// GraphBuilder
//===----------------------------------------------------------------------===//

GraphBuilder::GraphBuilder(Block *block, StringRef directory)
    : builder(OpBuilder::atBlockEnd(block)),
      loc(UnknownLoc::get(builder.getContext())), directory(directory) {}

Operation *GraphBuilder::build(StringRef name, ValueRange operands,
                               ArrayRef<NamedAttribute> attributes,
                               Type result) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  MLIRContext *ctx = context();
  state.addTypes(result ? result
                        : RankedTensorType::get({}, Float32Type::get(ctx)));
  auto info = opInfos().find(state.name.isRegistered() ? state.name.getTypeID()
                                                       : TypeID::get<void>());
  if (info == opInfos().end()) {
    emitError(loc) << "unknown op " << name;
    return nullptr;
  }
  Operation *op = Operation::create(state);
  bool ok = succeeded(checkOperandCount(op, info->second));
  if (ok && !result)
    ok = succeeded(checkConstraints(op, info->second)) &&
         succeeded(checkFactors(op)) && succeeded(inferResult(op));
  ok = ok && succeeded(checkResultSize(op)) &&
       succeeded(mlir::verify(op, /*verifyRecursively=*/false));
  if (ok) {
    builder.insert(op);
    return op;
  }
  op->destroy();
  return nullptr;
}

Value GraphBuilder::create(StringRef name, ValueRange operands,
                           ArrayRef<NamedAttribute> attributes, Type result) {
  if (llvm::is_contained(operands, Value()))
    return {};
  ScopedDiagnosticHandler handler(context(), [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  Operation *op = build(name, operands, attributes, result);
  if (!op)
    return {};
  propagateBounded(op);
  return fold(op);
}

/// What `op` verifies of itself, without where its operands are defined: that
/// is not known as long as it lies in a region of no op.
static bool isValid(Operation *op) {
  return succeeded(op->getName().verifyInvariants(op)) &&
         succeeded(op->getName().verifyRegionInvariants(op));
}

Operation *GraphBuilder::create(OperationState &state) {
  ScopedDiagnosticHandler handler(context(), [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  Operation *op = builder.create(state);
  bool ok = llvm::all_of(op->getRegions(), [](Region &region) {
    return isValid(region.front().getTerminator());
  });
  if (ok && isValid(op) && succeeded(checkResultSize(op)))
    return op;
  op->erase();
  return nullptr;
}

Value GraphBuilder::constant(TypedAttr value) {
  return graph::ConstantOp::create(builder, loc, value.getType(), value);
}

/// Replaces an op from small integers or booleans to such, as shape
/// computations are made of, by its result. What follows from other numbers
/// stays: these may be weights, which change.
Value GraphBuilder::fold(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  if (!isa<IntegerType>(type.getElementType()) ||
      type.getNumElements() > kMaxFoldedElements)
    return result;
  for (Value operand : op->getOperands())
    if (!operand.getDefiningOp<graph::ConstantOp>() ||
        !isa<IntegerType>(getElementTypeOrSelf(operand)))
      return result;
  auto value = evaluate(result, 0);
  if (!value)
    return result;
  known.erase(result);
  op->erase();
  return constant(*value);
}

std::optional<DenseElementsAttr> GraphBuilder::constantOf(Value value) {
  return evaluate(value, 0);
}

std::optional<DenseElementsAttr> GraphBuilder::evaluate(Value value,
                                                        unsigned depth) {
  constexpr unsigned kMaxDepth = 200;
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (!op || depth > kMaxDepth)
    return std::nullopt;
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      return dense;
    if (type.getNumElements() > kMaxFoldedElements)
      return std::nullopt;
    return read(cast<graph::ExternalAttr>(constant.getValue()));
  }
  if (type.getNumElements() > kMaxFoldedElements)
    return std::nullopt;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  SmallVector<DenseElementsAttr> operands;
  for (Value operand : op->getOperands()) {
    auto constant = evaluate(operand, depth + 1);
    if (!constant || constant->getNumElements() > kMaxFoldedElements)
      return std::nullopt;
    operands.push_back(*constant);
  }
  auto result = evaluateConstant(op, operands);
  if (result)
    known[value] = *result;
  return result;
}

std::optional<DenseElementsAttr>
GraphBuilder::read(graph::ExternalAttr external) {
  if (auto memory = readMemory(external))
    return denseFromBytes(cast<RankedTensorType>(external.getType()), *memory);
  SmallString<256> path(external.getFile());
  if (llvm::sys::path::is_relative(path)) {
    path = directory;
    llvm::sys::path::append(path, external.getFile());
  }
  auto file = llvm::MemoryBuffer::getFileSlice(path, external.getSize(),
                                               external.getOffset());
  if (!file || (*file)->getBufferSize() != external.getSize())
    return std::nullopt;
  StringRef bytes = (*file)->getBuffer();
  return denseFromBytes(cast<RankedTensorType>(external.getType()),
                        ArrayRef<char>(bytes.data(), bytes.size()));
}

void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDeadOps(inner);
  }
}

} // namespace tinh
