//===- StructureOps.cpp - Constants, kernels and dispatches -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tinh::graph;

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

TypedAttr tinh::graph::elementsOf(TypedAttr constant) {
  auto parameter = dyn_cast<ParameterAttr>(constant);
  return parameter ? parameter.getValue() : constant;
}

LogicalResult
tinh::graph::verifyConstant(llvm::function_ref<InFlightDiagnostic()> emitError,
                            TypedAttr value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return emitError() << "expected a tensor of numbers with a static shape, "
                          "found "
                       << value.getType();
  if (isa<DenseElementsAttr>(value))
    return success();
  if (auto parameter = dyn_cast<ParameterAttr>(value)) {
    if (isa<ParameterAttr>(parameter.getValue()) ||
        parameter.getValue().getType() != type)
      return emitError() << "expected a value of the parameter's type, found "
                         << parameter.getValue();
    return verifyConstant(emitError, parameter.getValue());
  }
  auto file = dyn_cast<ExternalAttr>(value);
  if (!file)
    return emitError()
           << "expected dense elements, #graph.external or #graph.parameter";
  uint64_t expected = tensorSize(type);
  if (file.getSize() != expected)
    return emitError() << shapeToString(type) << " takes " << expected
                       << " bytes, but " << file.getSize()
                       << " are referred to";
  return success();
}

LogicalResult ConstantOp::verify() {
  return verifyConstant([&] { return emitOpError(); }, getValue());
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// dropout
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (ratio >= 0 && ratio <= 1)
    return success();
  return emitOpError() << "ratio is " << ratio << "; it must be from 0 to 1";
}

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parsePair = [&]() {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parsePair) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  for (auto [argument, input] : llvm::zip_equal(arguments, type.getInputs()))
    argument.type = input;
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = ";
                          printer.printOperand(std::get<1>(pair));
                        });
  printer << ") : ";
  printer.printFunctionalType(getInputs().getTypes(), getOutputs().getTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  if (getBody().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("the region's arguments must have the inputs' types");
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return emitOpError("the yielded values must have the results' types");
  return success();
}

//===----------------------------------------------------------------------===//
// dispatch
//===----------------------------------------------------------------------===//

/// Whether a kernel function may take `inner` where the graph has `outer`:
/// kernels know elements as they are stored.
static bool isStoredAs(Type outer, Type inner) {
  return isa<RankedTensorType>(inner) &&
         storageType(outer) == storageType(inner);
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!function)
    return emitOpError() << "there is no kernel function '" << getKernel()
                         << "'";
  ArrayRef<Type> inputs = function.getArgumentTypes();
  ArrayRef<Type> outputs = function.getResultTypes();
  bool fits = inputs.size() == getInputs().size() &&
              outputs.size() == getOutputs().size();
  for (size_t i = 0; fits && i < inputs.size(); ++i)
    fits = isStoredAs(getInputs()[i].getType(), inputs[i]);
  for (size_t i = 0; fits && i < outputs.size(); ++i)
    fits = isStoredAs(getOutputs()[i].getType(), outputs[i]);
  if (!fits)
    return emitOpError() << "operands and results do not have the types of '"
                         << getKernel() << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// transfer
//===----------------------------------------------------------------------===//

LogicalResult TransferOp::verify() {
  if (getDevice() == names::kOnCpu || getDevice() == names::kOnCuda)
    return success();
  return emitOpError() << "goes to \"" << getDevice() << "\"; expected \""
                       << names::kOnCpu << "\" or \"" << names::kOnCuda << "\"";
}

//===----------------------------------------------------------------------===//
// custom_gradient, variable
//===----------------------------------------------------------------------===//

LogicalResult CustomGradientOp::verify() {
  auto check = [&](Block &block, ArrayRef<Type> arguments, TypeRange yielded,
                   StringRef which) -> LogicalResult {
    if (block.getArgumentTypes() != TypeRange(arguments))
      return emitOpError() << "the arguments of the " << which
                           << " region do not have the types expected";
    auto yield = cast<YieldOp>(block.getTerminator());
    if (yield.getValues().getTypes() != yielded)
      return emitOpError() << "the " << which
                           << " region does not yield the types expected";
    return success();
  };
  SmallVector<Type> types(getInputs().getTypes());
  if (failed(check(getForward().front(), types, getOutputs().getTypes(),
                   "forward")))
    return failure();
  llvm::append_range(types, getOutputs().getTypes());
  llvm::append_range(types, getOutputs().getTypes());
  return check(getGradient().front(), types, getInputs().getTypes(),
               "gradient");
}

LogicalResult VariableOp::verify() {
  if (getDevice() && *getDevice() != names::kOnCuda)
    return emitOpError() << "is on \"" << *getDevice() << "\"; expected \""
                         << names::kOnCuda << "\", or nothing for the CPU";
  if (getDevice() && getStored())
    return emitOpError() << getNameAttr()
                         << " is on the GPU, where variables are stored in "
                            "their own type, "
                         << getType() << "; found " << getStoredType();
  if (bool(getStored()) != bool(getPack()) ||
      bool(getStored()) != bool(getUnpack()))
    return emitOpError("has a type in which it is stored, a kernel that packs "
                       "it and one that unpacks it, or none of them");
  if (getStoredType().getElementType() != getType().getElementType())
    return emitOpError() << "is stored as " << getStoredType()
                         << ", with other elements than it has";
  return verifyConstant([&] { return emitOpError(); }, getValue());
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto check = [&](FlatSymbolRefAttr kernel, Type from,
                   Type to) -> LogicalResult {
    auto function =
        symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, kernel);
    if (function && function.getArgumentTypes() == ArrayRef(from) &&
        function.getResultTypes() == ArrayRef(to))
      return success();
    return emitOpError() << "there is no kernel function '" << kernel.getValue()
                         << "' from " << from << " to " << to;
  };
  if (!getStored())
    return success();
  if (failed(check(getPackAttr(), getType(), getStoredType())))
    return failure();
  return check(getUnpackAttr(), getStoredType(), getType());
}

bool VariableOp::isInitiallyZero() {
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  return dense && dense.isSplat() &&
         llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
}
