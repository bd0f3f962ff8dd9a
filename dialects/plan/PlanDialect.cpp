//===- PlanDialect.cpp - Registration, attributes and syntax ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/Plan.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::plan;

//===----------------------------------------------------------------------===//
// Buffers: arena[0 to 64], input 0[0 to 64], arena[0 to 40, 8 of 16],
// output 0[0 to 64] step (64)
//===----------------------------------------------------------------------===//

static bool isIndexed(Space space) {
  return space == Space::Input || space == Space::Output ||
         space == Space::Loop;
}

std::string tinh::plan::toString(BufferAttr buffer) {
  std::string text = stringifySpace(buffer.getSpace()).str();
  if (isIndexed(buffer.getSpace()))
    text += " " + std::to_string(buffer.getIndex());
  text += "[" + std::to_string(buffer.getOffset()) + " to " +
          std::to_string(buffer.getEnd());
  if (!buffer.isContiguous())
    text += ", " + std::to_string(buffer.getRun()) + " of " +
            std::to_string(buffer.getPitch());
  text += "]";
  if (buffer.moves()) {
    llvm::raw_string_ostream stream(text);
    stream << " step (";
    llvm::interleaveComma(buffer.getStrides(), stream);
    stream << ")";
  }
  return text;
}

/// step (80, 16)
static ParseResult parseStrides(AsmParser &parser, BufferAttr &buffer) {
  if (failed(parser.parseOptionalKeyword("step")))
    return success();
  SmallVector<int64_t> strides;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parser.parseInteger(strides.emplace_back());
      }))
    return failure();
  if (strides.empty() || strides.back() == 0)
    return parser.emitError(loc, "expected strides of which the last is not 0");
  buffer = buffer.withStrides(strides);
  return success();
}

static ParseResult parseRange(AsmParser &parser, BufferAttr &buffer) {
  StringRef keyword;
  uint32_t index = 0;
  int64_t begin, end, run = 0, pitch = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Space> space = symbolizeSpace(keyword);
  if (!space)
    return parser.emitError(loc, "expected arena, weights, input, output, "
                                 "loop, device or device_weights");
  if (isIndexed(*space) && parser.parseInteger(index))
    return failure();
  if (parser.parseLSquare())
    return failure();
  loc = parser.getCurrentLocation();
  if (parser.parseInteger(begin) || parser.parseKeyword("to") ||
      parser.parseInteger(end))
    return failure();
  if (begin < 0 || end < begin)
    return parser.emitError(loc, "expected offsets 0 <= begin <= end");
  int64_t size = end - begin;
  if (failed(parser.parseOptionalComma())) {
    buffer = BufferAttr::get(parser.getContext(), *space, index, begin, size);
    return parser.parseRSquare();
  }
  loc = parser.getCurrentLocation();
  if (parser.parseInteger(run) || parser.parseKeyword("of") ||
      parser.parseInteger(pitch) || parser.parseRSquare())
    return failure();
  if (run < 1 || run >= pitch || run >= size || (size - run) % pitch)
    return parser.emitError(loc)
           << "expected two or more whole rows of " << run << " bytes, each "
           << pitch << " after the one before";
  buffer = BufferAttr::get(parser.getContext(), *space, index, begin, size, run,
                           pitch);
  return success();
}

static ParseResult parseBuffer(AsmParser &parser, BufferAttr &buffer) {
  return failure(parseRange(parser, buffer) || parseStrides(parser, buffer));
}

Attribute BufferAttr::parse(AsmParser &parser, Type) {
  BufferAttr buffer;
  if (parser.parseLess() || parseBuffer(parser, buffer) ||
      parser.parseGreater())
    return {};
  return buffer;
}

void BufferAttr::print(AsmPrinter &printer) const {
  printer << '<' << toString(*this) << '>';
}

//===----------------------------------------------------------------------===//
// Tensors: "x": tensor<2xf32>, "w" = dense<0.0> : tensor<2xf32>,
// "v": tensor<2xf32> variable
//===----------------------------------------------------------------------===//

static void printTensor(AsmPrinter &printer, TensorAttr tensor) {
  printer.printAttribute(tensor.getName());
  if (tensor.getValue()) {
    printer << " = ";
    printer.printAttribute(tensor.getValue());
  } else {
    printer << ": " << tensor.getType();
  }
  if (tensor.getVariable())
    printer << " variable";
  if (tensor.getSizes())
    printer << " sizes " << tensor.getSizes();
}

static ParseResult parseTensor(AsmParser &parser, TensorAttr &tensor) {
  std::string name;
  Type type;
  TypedAttr value;
  if (parser.parseString(&name))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalEqual())) {
    if (parser.parseAttribute(value))
      return failure();
    type = value.getType();
  } else if (parser.parseColonType(type)) {
    return failure();
  }
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return parser.emitError(loc, "expected a tensor with a static shape");
  bool variable = succeeded(parser.parseOptionalKeyword("variable"));
  ArrayAttr sizes;
  if (succeeded(parser.parseOptionalKeyword("sizes")) &&
      parser.parseAttribute(sizes))
    return failure();
  tensor = TensorAttr::getChecked(
      [&] { return parser.emitError(loc); }, parser.getContext(),
      parser.getBuilder().getStringAttr(name), ranked, value, variable, sizes);
  return success(static_cast<bool>(tensor));
}

Attribute TensorAttr::parse(AsmParser &parser, Type) {
  TensorAttr tensor;
  if (parser.parseLess() || parseTensor(parser, tensor) ||
      parser.parseGreater())
    return {};
  return tensor;
}

void TensorAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printTensor(printer, *this);
  printer << '>';
}

LogicalResult
TensorAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   StringAttr name, RankedTensorType type, TypedAttr value,
                   bool variable, ArrayAttr sizes) {
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return emitError() << "expected a tensor of numbers with a static shape";
  if (value && variable)
    return emitError() << "a variable has its value elsewhere";
  if (sizes && (variable || value ||
                failed(graph::verifyDimensionSizes(emitError, type, sizes))))
    return emitError() << "'sizes' are for an output of the caller's";
  if (!value)
    return success();
  if (value.getType() != type)
    return emitError() << "the value is " << value.getType() << ", not "
                       << type;
  return graph::verifyConstant(emitError, value);
}

LogicalResult
WorkAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 int64_t operations, int64_t bytes) {
  if (operations >= 0 && bytes >= 0)
    return success();
  return emitError() << "the work of a kernel is no less than 0, found "
                     << operations << " operations and " << bytes << " bytes";
}

//===----------------------------------------------------------------------===//
// Directives of the ops' formats
//===----------------------------------------------------------------------===//

/// A continued line.
static void printLine(OpAsmPrinter &printer) {
  printer.printNewline();
  printer << "    ";
}

/// One tensor a line: there may be hundreds.
static void printTensors(OpAsmPrinter &printer, Operation *, StringRef keyword,
                         ArrayAttr tensors) {
  printLine(printer);
  printer << keyword << '(';
  llvm::interleave(
      tensors.getAsRange<TensorAttr>(),
      [&](TensorAttr tensor) { printTensor(printer, tensor); },
      [&] {
        printer << ',';
        printLine(printer);
        printer << "  ";
      });
  printer << ')';
}

static ParseResult parseTensors(OpAsmParser &parser, StringRef keyword,
                                ArrayAttr &tensors) {
  SmallVector<Attribute> list;
  auto parseOne = [&] {
    TensorAttr tensor;
    if (parseTensor(parser, tensor))
      return failure();
    list.push_back(tensor);
    return success();
  };
  if (parser.parseKeyword(keyword) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  tensors = parser.getBuilder().getArrayAttr(list);
  return success();
}

/// "64 unplanned 128 lower_bound 64", behind the arena's keyword.
static void printArena(OpAsmPrinter &printer, IntegerAttr arena,
                       IntegerAttr unplanned, IntegerAttr lowerBound) {
  printer << arena.getInt() << " unplanned " << unplanned.getInt()
          << " lower_bound " << lowerBound.getInt();
}

static ParseResult parseArena(OpAsmParser &parser, IntegerAttr &arena,
                              IntegerAttr &unplanned, IntegerAttr &lowerBound) {
  auto parseSize = [&](IntegerAttr &attribute) {
    int64_t size;
    if (parser.parseInteger(size))
      return failure();
    attribute = parser.getBuilder().getI64IntegerAttr(size);
    return success();
  };
  return failure(failed(parseSize(arena)) || parser.parseKeyword("unplanned") ||
                 failed(parseSize(unplanned)) ||
                 parser.parseKeyword("lower_bound") ||
                 failed(parseSize(lowerBound)));
}

static void printSizes(OpAsmPrinter &printer, Operation *, IntegerAttr arena,
                       IntegerAttr unplanned, IntegerAttr lowerBound) {
  printLine(printer);
  printer << "arena ";
  printArena(printer, arena, unplanned, lowerBound);
}

static ParseResult parseSizes(OpAsmParser &parser, IntegerAttr &arena,
                              IntegerAttr &unplanned, IntegerAttr &lowerBound) {
  return failure(parser.parseKeyword("arena") ||
                 parseArena(parser, arena, unplanned, lowerBound));
}

static void printDeviceSizes(OpAsmPrinter &printer, Operation *,
                             IntegerAttr arena, IntegerAttr unplanned,
                             IntegerAttr lowerBound) {
  if (arena.getInt() == 0 && unplanned.getInt() == 0 &&
      lowerBound.getInt() == 0)
    return;
  printLine(printer);
  printer << "device_arena ";
  printArena(printer, arena, unplanned, lowerBound);
}

static ParseResult parseDeviceSizes(OpAsmParser &parser, IntegerAttr &arena,
                                    IntegerAttr &unplanned,
                                    IntegerAttr &lowerBound) {
  if (succeeded(parser.parseOptionalKeyword("device_arena")))
    return parseArena(parser, arena, unplanned, lowerBound);
  arena = unplanned = lowerBound = parser.getBuilder().getI64IntegerAttr(0);
  return success();
}

static void printBuffer(OpAsmPrinter &printer, Operation *, BufferAttr buffer) {
  printer << toString(buffer);
}

static void printReads(OpAsmPrinter &printer, Operation *, ArrayAttr reads) {
  printer << '(';
  llvm::interleaveComma(
      reads.getAsRange<BufferAttr>(), printer,
      [&](BufferAttr buffer) { printer << toString(buffer); });
  printer << ')';
}

static ParseResult parseReads(OpAsmParser &parser, ArrayAttr &reads) {
  SmallVector<Attribute> list;
  auto parseOne = [&] {
    BufferAttr buffer;
    if (parseBuffer(parser, buffer))
      return failure();
    list.push_back(buffer);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  reads = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printWrites(OpAsmPrinter &printer, Operation *, ArrayAttr writes,
                        DenseI64ArrayAttr inplace) {
  printer << '(';
  llvm::interleaveComma(llvm::seq<size_t>(0, writes.size()), printer,
                        [&](size_t i) {
                          printer << toString(cast<BufferAttr>(writes[i]));
                          if (inplace[i] >= 0)
                            printer << " inplace " << inplace[i];
                        });
  printer << ')';
}

static ParseResult parseWrites(OpAsmParser &parser, ArrayAttr &writes,
                               DenseI64ArrayAttr &inplace) {
  SmallVector<Attribute> list;
  SmallVector<int64_t> pairs;
  auto parseOne = [&]() -> ParseResult {
    BufferAttr buffer;
    int64_t read = -1;
    if (parseBuffer(parser, buffer))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("inplace")) &&
        parser.parseInteger(read))
      return failure();
    list.push_back(buffer);
    pairs.push_back(read);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  writes = parser.getBuilder().getArrayAttr(list);
  inplace = parser.getBuilder().getDenseI64ArrayAttr(pairs);
  return success();
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/plan/PlanTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/PlanAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
}
