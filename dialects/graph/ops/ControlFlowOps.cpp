//===- ControlFlowOps.cpp - Branches and loops ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tinh::graph;

RankedTensorType tinh::graph::conditionType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 1));
}

RankedTensorType tinh::graph::countType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 64));
}

RankedTensorType tinh::graph::stackedType(Type row, int64_t length) {
  auto type = dyn_cast<RankedTensorType>(row);
  if (!type)
    return nullptr;
  SmallVector<int64_t> shape = {length};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType tinh::graph::rowType(Type stacked) {
  auto type = dyn_cast<RankedTensorType>(stacked);
  if (!type || type.getRank() == 0)
    return nullptr;
  return RankedTensorType::get(type.getShape().drop_front(),
                               type.getElementType());
}

SmallVector<Value> tinh::graph::readValues(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  SetVector<Value> captured;
  // The op's block may belong to no region yet.
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *parent = operand.getParentBlock()->getParentOp();
        if (!parent || !op->isAncestor(parent))
          captured.insert(operand);
      }
    });
  llvm::append_range(values, captured);
  return values;
}

//===----------------------------------------------------------------------===//
// Verifying and printing regions
//===----------------------------------------------------------------------===//

using Arguments = SmallVector<OpAsmParser::Argument>;
using Operands = SmallVector<OpAsmParser::UnresolvedOperand>;

/// (%a = %x, %b = %y)
static ParseResult parseBindings(OpAsmParser &parser, Arguments &arguments,
                                 Operands &operands) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  });
}

static void printBindings(OpAsmPrinter &printer, ValueRange arguments,
                          ValueRange operands) {
  printer << '(';
  llvm::interleaveComma(
      llvm::zip_equal(arguments, operands), printer, [&](auto pair) {
        printer << std::get<0>(pair) << " = " << std::get<1>(pair);
      });
  printer << ')';
}

static LogicalResult verifyPlace(Operation *op) {
  if (isa_and_present<KernelOp>(op->getParentOp()))
    return op->emitOpError("a kernel cannot branch");
  return success();
}

static LogicalResult verifyTypes(Operation *op, const Twine &what,
                                 TypeRange found, TypeRange expected) {
  if (found == expected)
    return success();
  auto diagnostic = op->emitOpError() << what << " must have the types (";
  llvm::interleaveComma(expected, diagnostic);
  diagnostic << "), found (";
  llvm::interleaveComma(found, diagnostic);
  return diagnostic << ")";
}

//===----------------------------------------------------------------------===//
// yield
//===----------------------------------------------------------------------===//

/// The values that are handed on: a scan keeps the condition and rows.
MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  MutableOperandRange values = getValuesMutable();
  auto scan = dyn_cast<ScanOp>((*this)->getParentOp());
  if (!scan)
    return values;
  return values.slice(scan.getCondition() ? 1 : 0, scan.getInitial().size());
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

YieldOp IfOp::getThenYield() {
  return cast<YieldOp>(getThenBranch().front().getTerminator());
}

YieldOp IfOp::getElseYield() {
  return cast<YieldOp>(getElseBranch().front().getTerminator());
}

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  if (!point.isParent()) {
    successors.emplace_back(*this, getOutputs());
    return;
  }
  successors.emplace_back(&getThenBranch());
  successors.emplace_back(&getElseBranch());
}

LogicalResult IfOp::verify() {
  TypeRange types = getOutputs().getTypes();
  if (failed(verifyPlace(*this)) ||
      failed(verifyTypes(*this, "what the first branch yields",
                         getThenYield().getOperandTypes(), types)))
    return failure();
  return verifyTypes(*this, "what the second branch yields",
                     getElseYield().getOperandTypes(), types);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

ConditionOp WhileOp::getConditionOp() {
  return cast<ConditionOp>(getCondition().front().getTerminator());
}

YieldOp WhileOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

SmallVector<Region *> WhileOp::getLoopRegions() {
  return {&getCondition(), &getBody()};
}

OperandRange WhileOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInitial();
}

/// The condition hands on no values: those of the body and of the op are its
/// own arguments again, which the interface cannot express.
void WhileOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  Operation *terminator = point.getTerminatorPredecessorOrNull();
  if (terminator && terminator->getParentRegion() == &getCondition()) {
    successors.emplace_back(&getBody());
    successors.emplace_back(*this, getOutputs().take_front(0));
    return;
  }
  successors.emplace_back(&getCondition(), getCondition().getArguments());
}

MutableOperandRange ConditionOp::getMutableSuccessorOperands(RegionSuccessor) {
  return MutableOperandRange(*this, /*start=*/0, /*length=*/0);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  Arguments carried, next;
  Operands initial;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  Region *condition = result.addRegion(), *body = result.addRegion();
  if (parseBindings(parser, carried, initial) || parser.parseColon() ||
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren,
          [&]() { return parser.parseType(types.emplace_back()); }) ||
      parser.resolveOperands(initial, types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addTypes(types);
  for (auto [argument, type] : llvm::zip_equal(carried, types))
    argument.type = type;
  if (parser.parseRegion(*condition, carried) || parser.parseKeyword("do") ||
      parser.parseArgumentList(next, OpAsmParser::Delimiter::Paren))
    return failure();
  if (next.size() != types.size())
    return parser.emitError(loc) << types.size() << " values are carried, but "
                                 << next.size() << " named after 'do'";
  for (auto [argument, type] : llvm::zip_equal(next, types))
    argument.type = type;
  return parser.parseRegion(*body, next);
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printBindings(printer, getCondition().getArguments(), getInitial());
  printer << " : (" << getInitial().getTypes() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getCondition(), /*printEntryBlockArgs=*/false);
  printer << " do (";
  llvm::interleaveComma(getBody().getArguments(), printer);
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult WhileOp::verify() {
  TypeRange types = getInitial().getTypes();
  if (failed(verifyPlace(*this)))
    return failure();
  if (!isa<ConditionOp>(getCondition().front().back()))
    return emitOpError("the first region must end in graph.condition");
  if (!isa<YieldOp>(getBody().front().back()))
    return emitOpError("the second region must end in graph.yield");
  if (failed(verifyTypes(*this, "the condition's arguments",
                         getCondition().getArgumentTypes(), types)) ||
      failed(verifyTypes(*this, "the body's arguments",
                         getBody().getArgumentTypes(), types)) ||
      failed(verifyTypes(*this, "what the body yields",
                         getYield().getOperandTypes(), types)))
    return failure();
  return verifyTypes(*this, "the results", getOutputs().getTypes(), types);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

YieldOp ScanOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

Value ScanOp::getNextCondition() {
  return getCondition() ? getYield().getValues().front() : nullptr;
}

OperandRange ScanOp::getNext() {
  return getYield().getValues().slice(getCondition() ? 1 : 0,
                                      getInitial().size());
}

OperandRange ScanOp::getNextRows() {
  return getYield().getValues().drop_front((getCondition() ? 1 : 0) +
                                           getInitial().size());
}

SmallVector<Region *> ScanOp::getLoopRegions() { return {&getBody()}; }

OperandRange ScanOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInitial();
}

void ScanOp::getSuccessorRegions(RegionBranchPoint point,
                                 SmallVectorImpl<RegionSuccessor> &successors) {
  successors.emplace_back(&getBody(), getCarried());
  if (!point.isParent() || !runsToEnd() || getLength() == 0)
    successors.emplace_back(*this, getFinals());
}

/// [keyword %operand]
static ParseResult parseOptional(OpAsmParser &parser, StringRef keyword,
                                 Type type, OperationState &result,
                                 int32_t &count) {
  OpAsmParser::UnresolvedOperand operand;
  count = succeeded(parser.parseOptionalKeyword(keyword));
  if (!count)
    return success();
  return failure(parser.parseOperand(operand) ||
                 parser.resolveOperand(operand, type, result.operands));
}

ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  auto &properties = result.getOrAddProperties<Properties>();
  auto &segments = properties.operandSegmentSizes;
  Arguments arguments(1);
  Operands operands;
  Type i64 = IntegerType::get(context, 64);
  if (parser.parseArgument(arguments.front()) ||
      parser.parseKeyword("length") ||
      parser.parseAttribute(properties.length, i64) ||
      parseOptional(parser, "trip_count", countType(context), result,
                    segments[0]) ||
      parseOptional(parser, "while", conditionType(context), result,
                    segments[1]))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("carry")) &&
      parseBindings(parser, arguments, operands))
    return failure();
  segments[2] = operands.size();
  if (succeeded(parser.parseOptionalKeyword("over")) &&
      parseBindings(parser, arguments, operands))
    return failure();
  segments[3] = operands.size() - segments[2];
  FunctionType type;
  if (parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc,
                             result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addTypes(type.getResults());
  arguments.front().type = countType(context);
  for (auto [i, input] : llvm::enumerate(type.getInputs())) {
    bool carried = static_cast<int32_t>(i) < segments[2];
    arguments[i + 1].type = carried ? input : rowType(input);
    if (!arguments[i + 1].type)
      return parser.emitError(loc)
             << input << " has no first dimension to take rows along";
  }
  return parser.parseRegion(*result.addRegion(), arguments);
}

void ScanOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getIndex() << " length " << getLength();
  if (getTripCount())
    printer << " trip_count " << getTripCount();
  if (getCondition())
    printer << " while " << getCondition();
  if (!getInitial().empty()) {
    printer << " carry ";
    printBindings(printer, ValueRange(getCarried()), getInitial());
  }
  if (!getXs().empty()) {
    printer << " over ";
    printBindings(printer, ValueRange(getRows()), getXs());
  }
  size_t flags = (getTripCount() ? 1 : 0) + (getCondition() ? 1 : 0);
  printer << " : (" << TypeRange(getOperands().drop_front(flags));
  printer << ") -> (" << getOutputs().getTypes() << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getLengthAttrName(), "operandSegmentSizes"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

static LogicalResult verifyRows(ScanOp op, StringRef what, TypeRange tensors,
                                TypeRange rows) {
  for (auto [i, tensor, row] : llvm::enumerate(tensors, rows))
    if (!isa<RankedTensorType>(row) ||
        tensor != stackedType(row, op.getLength()))
      return op.emitOpError()
             << what << " " << i << " must hold " << op.getLength()
             << " rows of " << row << ", found " << tensor;
  return success();
}

LogicalResult ScanOp::verify() {
  int64_t length = getLength();
  if (failed(verifyPlace(*this)))
    return failure();
  if (length < 0)
    return emitOpError() << "cannot run " << length << " times";
  size_t carried = getInitial().size(), rows = getXs().size();
  if (getBody().getNumArguments() != 1 + carried + rows)
    return emitOpError() << "the region must have " << 1 + carried + rows
                         << " arguments, found " << getBody().getNumArguments();
  if (getOutputs().size() < carried)
    return emitOpError() << carried << " values are carried, but there are "
                         << getOutputs().size() << " results";
  size_t yielded = getOutputs().size() + (getCondition() ? 1 : 0);
  if (getYield().getNumOperands() != yielded)
    return emitOpError() << "the region must yield " << yielded
                         << " values, found " << getYield().getNumOperands();
  TypeRange types = getInitial().getTypes();
  Type index = countType(getContext());
  if (failed(verifyTypes(*this, "the region's first argument",
                         getIndex().getType(), index)) ||
      failed(verifyTypes(*this, "the carried values",
                         ValueRange(getCarried()).getTypes(), types)) ||
      failed(verifyTypes(*this, "the next carried values", getNext().getTypes(),
                         types)) ||
      failed(verifyTypes(*this, "the carried results", getFinals().getTypes(),
                         types)) ||
      failed(verifyRows(*this, "tensor", getXs().getTypes(),
                        ValueRange(getRows()).getTypes())) ||
      failed(verifyRows(*this, "stacked result", getStacked().getTypes(),
                        getNextRows().getTypes())))
    return failure();
  if (Value next = getNextCondition())
    return verifyTypes(*this, "the next condition", next.getType(),
                       Type(conditionType(getContext())));
  return success();
}
