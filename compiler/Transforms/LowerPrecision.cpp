//===- LowerPrecision.cpp - Products take bf16 operands -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x2xf32> -> …
//   %1 = graph.relu %0 : tensor<8x2xf32>
//   %2 = graph.softmax %1 axis 1 : tensor<8x2xf32>
// becomes
//   %a = graph.cast %x : tensor<8x4xf32> to tensor<8x4xbf16>
//   %b = graph.cast %w : tensor<4x2xf32> to tensor<4x2xbf16>
//   %0 = graph.matmul %a, %b : tensor<8x4xbf16>, tensor<4x2xbf16> -> …
//   %1 = graph.relu %0 : tensor<8x2xbf16>
//   %c = graph.cast %1 : tensor<8x2xbf16> to tensor<8x2xf32>
//   %2 = graph.softmax %c axis 1 : tensor<8x2xf32>
//
// First it is decided which ops compute in the lower precision. Then each value
// that is rounded is cast back for those of its readers that stay in f32; with
// `contract`, since what computes it in the same kernel need not round it.
// Element-wise ops that are read in f32 alone are computed in it: differences
// of numbers that were rounded before would have few digits.
//
// For weights alone,
//   %0 = graph.matmul %x, %b : tensor<8x4xf32>, tensor<4x2xbf16> -> …
// is all that becomes of it: %1 and %2 stay as they are.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Passes.h"

#include "compiler/Transforms/CheckDialect.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/KeptOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/OpFacts.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_LOWERPRECISION
#include "compiler/Transforms/Passes.h.inc"

using namespace graph;

/// Of the model as a whole, and no node.
static InFlightDiagnostic modelError(ModuleOp module) {
  return emitError(UnknownLoc::get(module.getContext()));
}

//===----------------------------------------------------------------------===//
// The transformation
//===----------------------------------------------------------------------===//

namespace {

class PrecisionLowering {
public:
  using Read = llvm::function_ref<ArrayRef<char>(ExternalAttr)>;

  PrecisionLowering(func::FuncOp function, FloatType low, KeptOps &kept,
                    Read read)
      : function(function), low(low), kept(kept), read(read) {}

  int64_t run();
  /// The same for constants that are factors alone.
  int64_t roundWeights();

private:
  SmallVector<Operation *> findOps();

  // Which ops compute in the lower precision, or round their result to it.
  bool isLowered(Operation *op);
  bool isReadInFull(Operation *op);
  void findParameters(Operation *op);
  bool followsLow(Operation *op);
  bool canRound(Value parameter);
  bool hasNarrowRange(ConstantOp op);
  bool readsConstant(Operation *op);
  bool isLow(Value value) {
    return lowered.contains(value.getDefiningOp()) || isCastBack(value);
  }

  // Their change.
  void lower(Operation *op);
  bool keepsParameter(Operation *op);
  void limitMask(AttentionOp op);
  void computeLow(Operation *op);
  void roundResult(Operation *op);
  void roundFactor(Operation *product);
  Value rounded(Value value);
  Value castTo(OpBuilder &builder, Value value, Type element) {
    Type type = tensorType(value).clone(element);
    return CastOp::create(builder, value.getLoc(), type, value);
  }
  /// The same, where what reads the value in its kernel may read it as it was.
  CastOp castWithin(OpBuilder &builder, Value value, Type element) {
    Type type = tensorType(value).clone(element);
    return CastOp::create(builder, value.getLoc(), type, value,
                          /*contract=*/true);
  }

  static bool isFull(Value value) {
    return tensorType(value).getElementType().isF32();
  }
  /// Whether `value` has been rounded, and is cast back.
  bool isCastBack(Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    return cast && isFull(value) &&
           tensorType(cast.getX()).getElementType() == low;
  }

  func::FuncOp function;
  FloatType low;
  KeptOps &kept;
  Read read;
  llvm::DenseSet<Operation *> lowered;
  llvm::DenseSet<Value> parameters;      // Computed of variables and constants.
  llvm::DenseMap<Value, bool> roundable; // Of these, as far as it is known.
  llvm::DenseMap<Value, Value> casts;    // From f32.
};

} // namespace

static double roundedTo(FloatType type, double number) {
  APFloat value(number);
  bool losesInfo;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

void PrecisionLowering::findParameters(Operation *op) {
  if (isa<ConstantOp>(op) ||
      (op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
       llvm::all_of(op->getOperands(), [&](Value operand) {
         return parameters.contains(operand);
       })))
    parameters.insert_range(op->getResults());
}

/// Whether no number of a constant is rounded to an infinity, if it is known.
bool PrecisionLowering::hasNarrowRange(ConstantOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  if (!isa<FloatType>(element))
    return true;
  double largest =
      APFloat::getLargest(low.getFloatSemantics()).convertToDouble();
  auto isNarrow = [&](double number) {
    return !std::isfinite(number) || std::abs(number) <= largest;
  };
  if (auto elements = dyn_cast<DenseFPElementsAttr>(op.getValue()))
    return llvm::all_of(elements, [&](const APFloat &number) {
      APFloat wide = number;
      bool losesInfo;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      return isNarrow(wide.convertToDouble());
    });
  auto external = dyn_cast<ExternalAttr>(op.getValue());
  if (!external || !element.isF32() || !read)
    return false;
  ArrayRef<char> bytes = read(external);
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float number;
    std::memcpy(&number, &bytes[at], sizeof number);
    if (!isNarrow(number))
      return false;
  }
  return !bytes.empty();
}

/// Whether no number of a parameter is rounded to an infinity, such as f32's
/// lowest one in masks, by the constants that it is computed of.
bool PrecisionLowering::canRound(Value parameter) {
  if (auto known = roundable.find(parameter); known != roundable.end())
    return known->second;
  Operation *op = parameter.getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  bool can = constant ? hasNarrowRange(constant)
                      : !op || llvm::all_of(op->getOperands(), [&](Value of) {
                          return canRound(of);
                        });
  return roundable[parameter] = can;
}

/// Whether `op` takes elements of a constant, such as rows of an embedding,
/// which is stored in the lower precision then. No gradients are added up in
/// it, as they are in that of a variable. A table in a file is an embedding,
/// whose numbers are not large.
bool PrecisionLowering::readsConstant(Operation *op) {
  if (!hasRole(op, FusionRole::Lookup))
    return false;
  Value data = op->getOperand(0);
  auto constant = data.getDefiningOp<ConstantOp>();
  return constant && (isa<ExternalAttr>(constant.getValue()) || canRound(data));
}

/// Whether one operand has been rounded and the others, but for parameters,
/// too. What was computed in f32 for its precision is not rounded for it.
bool PrecisionLowering::followsLow(Operation *op) {
  bool any = false;
  for (Value operand : op->getOperands()) {
    if (!isFull(operand))
      continue;
    bool operandIsLow = isLow(operand);
    any |= operandIsLow;
    if (!operandIsLow && !(parameters.contains(operand) && canRound(operand)))
      return false;
  }
  return any;
}

/// `value` in the lower precision: one cast for all readers, where it is made.
Value PrecisionLowering::rounded(Value value) {
  if (isCastBack(value))
    return value.getDefiningOp<CastOp>().getX();
  Value &cast = casts[value];
  if (!cast) {
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(value);
    cast = castTo(builder, value, low);
  }
  return cast;
}

void PrecisionLowering::computeLow(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isFull(operand.get()))
      operand.set(rounded(operand.get()));
  Value result = op->getResult(0);
  Type full = tensorType(result).getElementType();
  result.setType(tensorType(result).clone(low));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  CastOp back = castWithin(builder, result, full);
  result.replaceAllUsesExcept(back, back);
}

void PrecisionLowering::roundResult(Operation *op) {
  Value result = op->getResult(0);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value down = castWithin(builder, result, low);
  Value back = castWithin(builder, down, tensorType(result).getElementType());
  result.replaceAllUsesExcept(back, down.getDefiningOp());
}

/// f32's lowest number, which masks often have, would be minus infinity, and
/// rows that see nothing NaN.
void PrecisionLowering::limitMask(AttentionOp op) {
  Value mask = op.getMask();
  if (!mask || !isFull(mask) || isCastBack(mask))
    return;
  OpBuilder builder(op);
  auto scalar = RankedTensorType::get({}, tensorType(mask).getElementType());
  double lowest =
      APFloat::getLargest(low.getFloatSemantics(), /*Negative=*/true)
          .convertToDouble();
  Value limit = createSplat(builder, op.getLoc(), scalar, lowest);
  op.getMaskMutable().assign(
      MaxOp::create(builder, op.getLoc(), mask, limit).getY());
}

static PrecisionClass classOf(Operation *op) {
  const OpFacts *facts = findFacts(op->getName());
  return facts ? facts->precisionClass : PrecisionClass::Full;
}

/// Given those that come before it.
bool PrecisionLowering::isLowered(Operation *op) {
  findParameters(op);
  if (kept.contains(op) || op->getNumResults() != 1 ||
      !isFull(op->getResult(0)) || parameters.contains(op->getResult(0)))
    return false;
  switch (classOf(op)) {
  case PrecisionClass::Lowered:
    return true;
  case PrecisionClass::Follows:
    return followsLow(op);
  case PrecisionClass::Rounded:
    return readsConstant(op) || isLow(op->getOperand(0));
  case PrecisionClass::Full:
  case PrecisionClass::NotInModels:
    return false;
  }
  llvm_unreachable("there is no other class");
}

/// Whether the result, which need not be rounded for it, is read by no op that
/// takes it in the lower precision.
bool PrecisionLowering::isReadInFull(Operation *op) {
  return classOf(op) == PrecisionClass::Follows &&
         llvm::none_of(op->getUsers(),
                       [&](Operation *user) { return lowered.contains(user); });
}

/// Whether a parameter costs little as it is, such as a bias, and would lose
/// digits for all that it is added to.
bool PrecisionLowering::keepsParameter(Operation *op) {
  constexpr int64_t kReadings = 8; // Of each element, at least.
  int64_t results = tensorType(op->getResult(0)).getNumElements();
  return classOf(op) == PrecisionClass::Follows &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           if (!parameters.contains(operand) || !isFull(operand))
             return false;
           std::optional<double> number = splatValue(operand);
           bool isExact = number && roundedTo(low, *number) == *number;
           return !isExact &&
                  tensorType(operand).getNumElements() * kReadings <= results;
         });
}

void PrecisionLowering::lower(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    limitMask(attention);
  bool isRounded = classOf(op) == PrecisionClass::Rounded && !readsConstant(op);
  return isRounded || keepsParameter(op) ? roundResult(op) : computeLow(op);
}

SmallVector<Operation *> PrecisionLowering::findOps() {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
    // The two regions of a custom gradient belong together.
    return isa<CustomGradientOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  return ops;
}

int64_t PrecisionLowering::run() {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), names::kVariable))
      parameters.insert(argument);
  SmallVector<Operation *> ops = findOps();
  for (Operation *op : ops)
    if (isLowered(op))
      lowered.insert(op);
  for (Operation *op : llvm::reverse(ops))
    if (lowered.contains(op) && isReadInFull(op))
      lowered.erase(op);
  llvm::erase_if(ops, [&](Operation *op) { return !lowered.contains(op); });
  llvm::for_each(ops, [&](Operation *op) { lower(op); });
  return ops.size();
}

/// Rounds what `product` multiplies with a value that a run computes.
void PrecisionLowering::roundFactor(Operation *product) {
  MutableArrayRef<OpOperand> factors = product->getOpOperands().take_front(2);
  auto isWeight = [&](OpOperand &factor) {
    return parameters.contains(factor.get());
  };
  if (llvm::count_if(factors, isWeight) != 1)
    return;
  OpOperand &weight = *llvm::find_if(factors, isWeight);
  if (canRound(weight.get()))
    weight.set(rounded(weight.get()));
}

int64_t PrecisionLowering::roundWeights() {
  int64_t count = 0;
  for (Operation *op : findOps()) {
    findParameters(op);
    if (kept.contains(op) || op->getNumResults() != 1 ||
        !isFull(op->getResult(0)) || parameters.contains(op->getResult(0)))
      continue;
    if (readsConstant(op))
      computeLow(op);
    else if (classOf(op) != PrecisionClass::Lowered)
      continue;
    else if (isa<MatmulOp, ConvOp, ConvTransposeOp>(op))
      roundFactor(op); // Others give their result in an operand's type.
    ++count;           // With or without weights: the model is one of products.
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Of a model
//===----------------------------------------------------------------------===//

static FailureOr<FloatType> parsePrecision(ModuleOp module, StringRef name) {
  Builder builder(module.getContext());
  auto type = llvm::StringSwitch<FloatType>(name)
                  .Case("bf16", builder.getBF16Type())
                  .Case("f16", builder.getF16Type())
                  .Case("f32", builder.getF32Type())
                  .Case("", builder.getF32Type())
                  .Default({});
  if (type)
    return type;
  return modelError(module) << "there is no precision \"" << name
                            << "\"; there are f32, bf16 and f16";
}

FailureOr<int64_t>
lowerPrecision(ModuleOp module, const Precision &precision,
               llvm::function_ref<ArrayRef<char>(ExternalAttr)> read) {
  FailureOr<FloatType> low = parsePrecision(module, precision.type);
  KeptOps kept;
  if (failed(low) || failed(kept.parse(module, precision.keepF32)))
    return failure();
  if (low->isF32() && precision.keepF32.empty())
    return 0;
  if (low->isF32())
    return modelError(module)
           << "all of the model is f32; what is kept in it can be "
              "said of the precisions bf16 and f16";
  int64_t count = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    PrecisionLowering lowering(function, *low, kept, read);
    count += precision.weightsAlone ? lowering.roundWeights() : lowering.run();
  }
  if (failed(kept.checkUse(module)))
    return failure();
  if (count > 0 || precision.isOfPart)
    return count;
  return modelError(module)
         << "the precision \"" << precision.type
         << "\" changes nothing: the model has no matmuls or convolutions in "
            "f32, or all of them are kept; leave it out";
}

namespace {

struct LowerPrecisionPass : impl::LowerPrecisionBase<LowerPrecisionPass> {
  using LowerPrecisionBase::LowerPrecisionBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkDialect(function)))
        return signalPassFailure();
    Precision precision{type, {keepF32.begin(), keepF32.end()}, weightsAlone};
    auto count = lowerPrecision(getOperation(), precision);
    if (failed(count))
      return signalPassFailure();
    numLowered += *count;
  }
};

} // namespace

} // namespace tinh::transforms
