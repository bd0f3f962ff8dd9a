//===- Sources.cpp - What kernels compute, as text --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Sources.h"

#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Eager/ElementwiseNames.h"

#include <bit>
#include <initializer_list>
#include <iterator>

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::string elementType(tinh_dtype_t dtype) {
  static const char *const names[] = {"i1",   "i8",   "ui8", "i16",  "ui16",
                                      "i32",  "ui32", "i64", "ui64", "f16",
                                      "bf16", "f32",  "f64"};
  return names[dtype];
}

/// The elements of a row; the length stands for any.
static std::string row(tinh_dtype_t dtype) {
  return "tensor<64x" + elementType(dtype) + ">";
}

/// One element for each row.
static std::string single(tinh_dtype_t dtype) {
  return "tensor<" + elementType(dtype) + ">";
}

static bool isHalf(tinh_dtype_t dtype) {
  return dtype == TINH_DTYPE_F16 || dtype == TINH_DTYPE_BF16;
}

/// What formulas of several ops on `dtype` are computed in, to be rounded once.
static tinh_dtype_t computeType(tinh_dtype_t dtype) {
  return isHalf(dtype) ? TINH_DTYPE_F32 : dtype;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static std::string attributes(const std::string &plan, uint64_t scratch) {
  return " attributes {graph.plan = " + plan +
         ", graph.scratch = " + std::to_string(scratch) + " : i64} {\n";
}

std::string rowsPlan(const Machine &machine, Lanes lanes) {
  // Sums of as many vectors as an addition takes cycles.
  auto registers = std::bit_floor(static_cast<uint64_t>(machine.fmaLatency));
  return std::string("#cpu.sized_rows<lanes = ") +
         (lanes == Lanes::AcrossRows ? "across_rows" : "along_columns") +
         ", vector = " + std::to_string(machine.vectorBytes) +
         ", registers = " + std::to_string(registers) + ">";
}

//===----------------------------------------------------------------------===//
// Functions of a row
//===----------------------------------------------------------------------===//

namespace {

/// Writes a function, op by op. Values are "%a", types "tensor<…>".
class Function {
public:
  struct Value {
    std::string name, type;
  };

  /// Its inputs are called %a, %b, …
  Function(const Machine &machine, std::initializer_list<std::string> inputs)
      : machine(machine) {
    char name = 'a';
    for (const std::string &type : inputs)
      arguments.push_back({std::string("%") + name++, type});
  }

  const Value &input(size_t i) const { return arguments[i]; }

  Value constant(double value, const std::string &type) {
    return append("graph.constant dense<" + std::to_string(value) + ">", {},
                  " : " + type, type);
  }
  /// An op with its operands' types after a colon.
  Value unary(const std::string &op, const Value &x,
              const std::string &options = "", std::string type = "") {
    return append("graph." + op, {x}, options + " : " + x.type,
                  type.empty() ? x.type : type);
  }
  Value reduce(const std::string &kind, const Value &x,
               const std::string &type) {
    return append("graph.reduce " + kind, {x},
                  " axes [0] : " + x.type + " -> " + type, type);
  }
  Value argreduce(const std::string &op, const Value &x,
                  const std::string &type) {
    return append("graph." + op, {x}, " axis 0 : " + x.type + " -> " + type,
                  type);
  }
  Value nary(const std::string &op, std::initializer_list<Value> operands,
             const std::string &type) {
    std::string types;
    for (const Value &operand : operands)
      types += (types.empty() ? " : " : ", ") + operand.type;
    return append("graph." + op, operands, types + " -> " + type, type);
  }
  Value cast(const Value &x, const std::string &type) {
    if (x.type == type)
      return x;
    return append("graph.cast", {x}, " : " + x.type + " to " + type, type);
  }

  /// The function @`symbol`, which returns `result`.
  Source finish(const std::string &symbol, const Value &result,
                Lanes lanes = Lanes::AlongColumns, bool keeps = false) const {
    bool across = lanes == Lanes::AcrossRows;
    Source source{across ? symbol + "_across" : symbol, "", 0};
    source.scratchPerColumn =
        keeps ? cpu::keptBytes(across, machine.vectorBytes) : 0;
    std::string signature;
    for (const Value &argument : arguments)
      signature += (signature.empty() ? "" : ", ") + argument.name + ": " +
                   argument.type;
    source.text =
        "func.func @" + source.symbol + "(" + signature + ") -> " +
        result.type +
        attributes(rowsPlan(machine, lanes), source.scratchPerColumn) + body +
        "  return " + result.name + " : " + result.type + "\n}\n";
    return source;
  }

private:
  Value append(const std::string &op, std::initializer_list<Value> operands,
               const std::string &rest, const std::string &type) {
    Value result{"%" + std::to_string(count++), type};
    std::string list;
    for (const Value &operand : operands)
      list += (list.empty() ? " " : ", ") + operand.name;
    body += "  " + result.name + " = " + op + list + rest + "\n";
    return result;
  }

  const Machine &machine;
  std::vector<Value> arguments;
  std::string body;
  unsigned count = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static Source unarySource(const Machine &machine, ElementwiseOp op,
                          tinh_dtype_t dtype, const std::string &symbol) {
  using enum ElementwiseOp;
  std::string type = row(dtype);
  Function f(machine, {type});
  Function::Value x = f.input(0);
  if (op == Silu) {
    x = f.cast(x, row(computeType(dtype)));
    Function::Value y = f.nary("mul", {x, f.unary("sigmoid", x)}, x.type);
    return f.finish(symbol, f.cast(y, type));
  }
  if (op == GeluTanh)
    return f.finish(symbol, f.unary("gelu", x, " tanh_approximation"));
  bool isTest = op == IsNan || op == IsInf;
  return f.finish(
      symbol, f.unary(nameOf(op), x, "", isTest ? row(TINH_DTYPE_BOOL) : type));
}

static Source binarySource(const Machine &machine, ElementwiseOp op,
                           tinh_dtype_t dtype, const std::string &symbol) {
  using enum ElementwiseOp;
  std::string type = row(dtype), condition = row(TINH_DTYPE_BOOL);
  Function f(machine, {type, type});
  Function::Value a = f.input(0), b = f.input(1);
  if (op >= Equal && op <= GreaterEqual)
    return f.finish(symbol, f.nary("compare " + std::string(nameOf(op)), {a, b},
                                   condition));
  if (op != LeakyRelu && op != Elu)
    return f.finish(symbol, f.nary(nameOf(op), {a, b}, type));
  std::string compute = row(computeType(dtype));
  a = f.cast(a, compute);
  b = f.cast(b, compute);
  Function::Value zero = f.constant(0, single(computeType(dtype)));
  Function::Value positive = f.nary("compare greater", {a, zero}, condition);
  Function::Value factor = a;
  if (op == Elu)
    factor = f.nary(
        "sub", {f.unary("exp", a), f.constant(1, single(computeType(dtype)))},
        compute);
  Function::Value y = f.nary(
      "where", {positive, a, f.nary("mul", {factor, b}, compute)}, compute);
  return f.finish(symbol, f.cast(y, type));
}

static Source ternarySource(const Machine &machine, ElementwiseOp op,
                            tinh_dtype_t dtype, const std::string &symbol) {
  using enum ElementwiseOp;
  std::string type = row(dtype);
  if (op == Where) {
    Function f(machine, {row(TINH_DTYPE_BOOL), type, type});
    return f.finish(
        symbol, f.nary("where", {f.input(0), f.input(1), f.input(2)}, type));
  }
  std::string compute = row(computeType(dtype));
  Function f(machine, {type, type, type});
  Function::Value a = f.cast(f.input(0), compute),
                  b = f.cast(f.input(1), compute),
                  c = f.cast(f.input(2), compute);
  bool isClamp = op == Clamp;
  Function::Value inner = f.nary(isClamp ? "max" : "mul", {a, b}, compute);
  Function::Value y = f.nary(isClamp ? "min" : "add", {inner, c}, compute);
  return f.finish(symbol, f.cast(y, type));
}

Source elementwiseSource(const Machine &machine, ElementwiseOp op,
                         tinh_dtype_t dtype) {
  std::string symbol = std::string(nameOf(op)) + "_" + elementType(dtype);
  if (op < ElementwiseOp::Add)
    return unarySource(machine, op, dtype, symbol);
  return op < ElementwiseOp::Where ? binarySource(machine, op, dtype, symbol)
                                   : ternarySource(machine, op, dtype, symbol);
}

Source castSource(const Machine &machine, tinh_dtype_t from, tinh_dtype_t to) {
  Function f(machine, {row(from)});
  return f.finish("cast_" + elementType(from) + "_" + elementType(to),
                  f.cast(f.input(0), row(to)));
}

Source copySource(const Machine &machine, unsigned elementSize,
                  bool transposes) {
  std::string bits = std::to_string(8 * elementSize);
  std::string type = "tensor<?xi" + bits + ">";
  std::string symbol = (transposes ? "transpose_" : "copy_") + bits;
  std::string plan = rowsPlan(machine, Lanes::AlongColumns);
  if (transposes)
    plan = "#cpu.sized_transpose<side = " +
           std::to_string(cpu::squareSide(elementSize, machine.vectorBytes)) +
           ">";
  return {symbol,
          "func.func @" + symbol + "(%a: " + type + ") -> " + type +
              attributes(plan, 0) + "  return %a : " + type + "\n}\n",
          0};
}

//===----------------------------------------------------------------------===//
// With reductions
//===----------------------------------------------------------------------===//

Source reduceSource(const Machine &machine, ReduceOp op, tinh_dtype_t from,
                    tinh_dtype_t to, Lanes lanes) {
  static const char *const kinds[] = {"sum", "sum", "prod", "max", "min"};
  static const char *const combiners[] = {"add", "add", "mul", "max", "min"};
  auto i = static_cast<size_t>(op);
  Function f(machine, {row(from), single(to)});
  Function::Value total =
      f.reduce(kinds[i], f.cast(f.input(0), row(to)), single(to));
  Function::Value y = f.nary(combiners[i], {f.input(1), total}, single(to));
  return f.finish(std::string("reduce_") + kinds[i] + "_" + elementType(from) +
                      "_" + elementType(to),
                  y, lanes);
}

Source argreduceSource(const Machine &machine, ArgOp op, tinh_dtype_t dtype,
                       Lanes lanes) {
  std::string name = op == ArgOp::Max ? "argmax" : "argmin";
  Function f(machine, {row(dtype)});
  Function::Value y = f.argreduce(name, f.input(0), single(TINH_DTYPE_I64));
  return f.finish(name + "_" + elementType(dtype), y, lanes);
}

Source softmaxSource(const Machine &machine, SoftmaxOp op, tinh_dtype_t dtype,
                     Lanes lanes) {
  bool isLog = op == SoftmaxOp::LogSoftmax;
  std::string name = isLog ? "log_softmax" : "softmax";
  Function f(machine, {row(dtype)});
  Function::Value y = f.unary(name, f.input(0), " axis 0");
  return f.finish(name + "_" + elementType(dtype), y, lanes,
                  /*keeps=*/!isLog);
}

/// Inputs: x, scale, bias, 1/count, epsilon.
Source layerNormSource(const Machine &machine, bool rms, tinh_dtype_t dtype,
                       Lanes lanes) {
  tinh_dtype_t compute = computeType(dtype);
  std::string type = row(compute), one = single(compute);
  Function f(machine, {row(dtype), row(dtype), row(dtype), one, one});
  Function::Value x = f.cast(f.input(0), type);
  auto mean = [&](const Function::Value &of) {
    return f.nary("mul", {f.reduce("sum", of, one), f.input(3)}, one);
  };
  if (!rms)
    x = f.nary("sub", {x, mean(x)}, type);
  Function::Value variance = mean(f.nary("mul", {x, x}, type));
  Function::Value factor =
      f.unary("rsqrt", f.nary("add", {variance, f.input(4)}, one));
  Function::Value y = f.nary("mul", {x, factor}, type);
  y = f.nary("mul", {y, f.cast(f.input(1), type)}, type);
  y = f.nary("add", {y, f.cast(f.input(2), type)}, type);
  return f.finish((rms ? "rms_norm_" : "layer_norm_") + elementType(dtype),
                  f.cast(y, row(dtype)), lanes);
}

Source dotSource(const Machine &machine, tinh_dtype_t from, tinh_dtype_t to) {
  Function f(machine, {row(from), row(from), single(to)});
  Function::Value a = f.cast(f.input(0), row(to)),
                  b = f.cast(f.input(1), row(to));
  Function::Value total =
      f.reduce("sum", f.nary("mul", {a, b}, row(to)), single(to));
  return f.finish("dot_" + elementType(from) + "_" + elementType(to),
                  f.nary("add", {f.input(2), total}, single(to)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Register tiles from the highest one on, so that few rows are left over.
static std::string contractionPlan(const Machine &machine, tinh_dtype_t dtype) {
  int64_t lanes = machine.vectorBytes / tinh_dtype_size(dtype);
  int64_t most = cpu::mostTileRows(cpu::kTileVectors, machine.vectorRegisters);
  std::string rows;
  for (int64_t height : {12, 8, 6, 4, 2})
    if (height <= most)
      rows += (rows.empty() ? "" : ", ") + std::to_string(height);
  return "#cpu.sized_contraction<rows = [" + rows +
         "], columns = " + std::to_string(cpu::kTileVectors * lanes) +
         ", row = " + std::to_string(cpu::kRowVectors * lanes) + ">";
}

Source contractionSource(const Machine &machine, tinh_dtype_t dtype) {
  std::string element = elementType(dtype);
  std::string type = "tensor<?x?x" + element + ">";
  std::string suffix =
      dtype == TINH_DTYPE_F32 || dtype == TINH_DTYPE_F64 ? "f" : "i";
  std::string symbol = "contraction_" + element;
  return {
      symbol,
      "func.func @" + symbol + "(%a: " + type + ", %b: " + type +
          ", %c: " + type + ") -> " + type +
          attributes(contractionPlan(machine, dtype), 0) +
          "  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, "
          "k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, "
          "n)>], iterator_types = [\"parallel\", \"parallel\", \"reduction\"]} "
          "ins(%a, %b : " +
          type + ", " + type + ") outs(%c : " + type +
          ") {\n  ^body(%x: " + element + ", %y: " + element +
          ", %z: " + element + "):\n    %1 = arith.mul" + suffix +
          " %x, %y : " + element + "\n    %2 = arith.add" + suffix +
          " %z, %1 : " + element + "\n    linalg.yield %2 : " + element +
          "\n  } -> " + type + "\n  return %0 : " + type + "\n}\n",
      0};
}

} // namespace tinh::eager
