//===- ElementwiseOps.td - Element by element ------------------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_ELEMENTWISE_OPS
#define TINH_GRAPH_ELEMENTWISE_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"

//===----------------------------------------------------------------------===//
// What ops say of themselves, besides Graph_ElementwiseFacts: write_ops.py
// makes ElementwiseOps.inc of it
//===----------------------------------------------------------------------===//

// What a kernel computes of an element: an expression of C++ of the operands, by
// their names, and Scalars `s`, in compiler/Codegen/Linalg/Elementwise.cpp. An op
// without one has a lowering of its own there.
class Graph_ScalarFunction<string expression> {
  string scalarFunction = expression;
}
// An op of the dialect math.
class Graph_MathFunction<string op>
    : Graph_ScalarFunction<"math::" # op # "::create(s.b, x)">;

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

class Graph_UnaryOp<string mnemonic, string formula,
                    Type operand = Graph_NumberTensor>
    : Graph_InferredOp<mnemonic, [Graph_ElementwiseTrait]> {
  // The dtype of the function of tensors that has the op's name, in
  // compiler/Eager/Tensor/Unary.cpp; "" for an op that has none, or whose function
  // is written there.
  string eagerDType = "Arithmetic";
  let summary = "Element-wise " # formula;
  let description = "y = " # formula # [{. The result has the operand's shape and element type.

    Example: `%y = graph.}] # mnemonic # [{ %x : tensor<2x3xf32>`}];
  let arguments = (ins operand:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
class Graph_UnaryFloatOp<string mnemonic, string formula>
    : Graph_UnaryOp<mnemonic, formula, Graph_FloatTensor> {
  let eagerDType = "Floating";
}

def Graph_NegOp : Graph_UnaryOp<"neg", "-x">,
    Graph_ElementwiseFacts<1, "Follows", "Neg">, Graph_ScalarFunction<"s.neg(x)">;
def Graph_AbsOp : Graph_UnaryOp<"abs", "|x|">,
    Graph_ElementwiseFacts<1, "Follows", "Abs">, Graph_ScalarFunction<"s.abs(x)">;
def Graph_SignOp : Graph_UnaryOp<"sign", "-1, 0 or 1 by the sign of x (NaN stays NaN)">,
    Graph_ElementwiseFacts<1, "Follows", "Sign">, Graph_ScalarFunction<"sign(s, x)">;
def Graph_NotOp : Graph_UnaryOp<"not", "the complement of x: logical for i1, bitwise for integers">,
    Graph_ElementwiseFacts<1, "Full", "Not">, Graph_ScalarFunction<"logicalNot(s, x)"> {
  let eagerDType = "";
}
def Graph_ReluOp : Graph_UnaryOp<"relu", "max(x, 0)">,
    Graph_ElementwiseFacts<1, "Follows", "Relu">, Graph_ScalarFunction<"relu(s, x)">;
def Graph_ExpOp : Graph_UnaryFloatOp<"exp", "e^x">,
    Graph_ElementwiseFacts<20, "Full", "Exp">, Graph_MathFunction<"ExpOp">;
def Graph_LogOp : Graph_UnaryFloatOp<"log", "the natural logarithm of x">,
    Graph_ElementwiseFacts<20, "Full", "Log">, Graph_MathFunction<"LogOp">;
def Graph_SqrtOp : Graph_UnaryFloatOp<"sqrt", "the square root of x">,
    Graph_ElementwiseFacts<5, "Full", "Sqrt">, Graph_MathFunction<"SqrtOp">;
def Graph_RsqrtOp : Graph_UnaryFloatOp<"rsqrt", "1 / sqrt(x)">,
    Graph_ElementwiseFacts<5, "Full">, Graph_MathFunction<"RsqrtOp">;
def Graph_ReciprocalOp : Graph_UnaryFloatOp<"reciprocal", "1 / x">,
    Graph_ElementwiseFacts<5, "Full", "Reciprocal">, Graph_ScalarFunction<"reciprocal(s, x)">;
def Graph_ErfOp : Graph_UnaryFloatOp<"erf", "the error function of x">,
    Graph_ElementwiseFacts<20, "Follows", "Erf">, Graph_MathFunction<"ErfOp">;
def Graph_TanhOp : Graph_UnaryFloatOp<"tanh", "the hyperbolic tangent of x">,
    Graph_ElementwiseFacts<20, "Follows", "Tanh">, Graph_MathFunction<"TanhOp">;
def Graph_SigmoidOp : Graph_UnaryFloatOp<"sigmoid", "1 / (1 + e^-x)">,
    Graph_ElementwiseFacts<20, "Follows", "Sigmoid">, Graph_ScalarFunction<"sigmoid(s, x)">;
def Graph_SoftplusOp : Graph_UnaryFloatOp<"softplus", "log(1 + e^x)">,
    Graph_ElementwiseFacts<20, "Full", "Softplus">, Graph_ScalarFunction<"softplus(s, x)">;
def Graph_SoftsignOp : Graph_UnaryFloatOp<"softsign", "x / (1 + |x|)">,
    Graph_ElementwiseFacts<5, "Follows", "Softsign">,
    Graph_ScalarFunction<"s.div(x, s.add(s.like(x, 1), s.abs(x)))">;
def Graph_FloorOp : Graph_UnaryFloatOp<"floor", "the largest integer not above x">,
    Graph_ElementwiseFacts<1, "Follows", "Floor">, Graph_MathFunction<"FloorOp"> {
  let eagerDType = "Rounded";
}
def Graph_CeilOp : Graph_UnaryFloatOp<"ceil", "the smallest integer not below x">,
    Graph_ElementwiseFacts<1, "Follows", "Ceil">, Graph_MathFunction<"CeilOp"> {
  let eagerDType = "Rounded";
}
def Graph_RoundOp : Graph_UnaryFloatOp<"round", "the nearest integer to x, halves to even">,
    Graph_ElementwiseFacts<1, "Follows", "Round">, Graph_MathFunction<"RoundEvenOp"> {
  let eagerDType = "Rounded";
}
def Graph_SinOp : Graph_UnaryFloatOp<"sin", "the sine of x">,
    Graph_ElementwiseFacts<20, "Full", "Sin">, Graph_MathFunction<"SinOp">;
def Graph_CosOp : Graph_UnaryFloatOp<"cos", "the cosine of x">,
    Graph_ElementwiseFacts<20, "Full", "Cos">, Graph_MathFunction<"CosOp">;
def Graph_TanOp : Graph_UnaryFloatOp<"tan", "the tangent of x">,
    Graph_ElementwiseFacts<20, "Full", "Tan">, Graph_MathFunction<"TanOp">;
def Graph_AsinOp : Graph_UnaryFloatOp<"asin", "the inverse sine of x">,
    Graph_ElementwiseFacts<20, "Full", "Asin">, Graph_MathFunction<"AsinOp">;
def Graph_AcosOp : Graph_UnaryFloatOp<"acos", "the inverse cosine of x">,
    Graph_ElementwiseFacts<20, "Full", "Acos">, Graph_MathFunction<"AcosOp">;
def Graph_AtanOp : Graph_UnaryFloatOp<"atan", "the inverse tangent of x">,
    Graph_ElementwiseFacts<20, "Full", "Atan">, Graph_MathFunction<"AtanOp">;
def Graph_SinhOp : Graph_UnaryFloatOp<"sinh", "the hyperbolic sine of x">,
    Graph_ElementwiseFacts<20, "Full", "Sinh">, Graph_MathFunction<"SinhOp">;
def Graph_CoshOp : Graph_UnaryFloatOp<"cosh", "the hyperbolic cosine of x">,
    Graph_ElementwiseFacts<20, "Full", "Cosh">, Graph_MathFunction<"CoshOp">;
def Graph_AsinhOp : Graph_UnaryFloatOp<"asinh", "the inverse hyperbolic sine of x">,
    Graph_ElementwiseFacts<20, "Full", "Asinh">, Graph_MathFunction<"AsinhOp">;
def Graph_AcoshOp : Graph_UnaryFloatOp<"acosh", "the inverse hyperbolic cosine of x">,
    Graph_ElementwiseFacts<20, "Full", "Acosh">, Graph_MathFunction<"AcoshOp">;
def Graph_AtanhOp : Graph_UnaryFloatOp<"atanh", "the inverse hyperbolic tangent of x">,
    Graph_ElementwiseFacts<20, "Full", "Atanh">, Graph_MathFunction<"AtanhOp">;

def Graph_GeluOp : Graph_UnaryFloatOp<"gelu", "Gaussian error linear unit">,
    Graph_ElementwiseFacts<20, "Follows"> {
  let eagerDType = "";
  let summary = "Gaussian error linear unit";
  let description = [{
    y = x/2 · (1 + erf(x/√2)), or with `tanh_approximation`
    y = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).

    Example: `%y = graph.gelu %x : tensor<128x3072xf32>`
  }];
  let arguments = (ins Graph_FloatTensor:$x, UnitAttr:$tanh_approximation);
  let assemblyFormat = "$x (`tanh_approximation` $tanh_approximation^)? attr-dict `:` type($x)";
}

class Graph_FloatTestOp<string mnemonic, string what>
    : Graph_InferredOp<mnemonic, [Graph_ElementwiseTrait]> {
  string eagerDType = "Test";
  let summary = "Whether an element is " # what;
  let description = "y = x is " # what # [{, as i1, in the operand's shape.

    Example: `%y = graph.}] # mnemonic # [{ %x : tensor<2x3xf32>`}];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Graph_IsNanOp : Graph_FloatTestOp<"isnan", "NaN">,
    Graph_ElementwiseFacts<1, "Full", "IsNaN">, Graph_ScalarFunction<"s.isNan(x)">;
def Graph_IsInfOp : Graph_FloatTestOp<"isinf", "an infinity">,
    Graph_ElementwiseFacts<1, "Full">,
    Graph_ScalarFunction<"s.equal(s.abs(x), s.highest(x.getType()))">;

def Graph_Rounding : I32EnumAttr<"Rounding", "direction to round in", [
    I32EnumAttrCase<"Nearest", 0, "nearest">,
    I32EnumAttrCase<"Up", 1, "up">,
    I32EnumAttrCase<"Down", 2, "down">
  ]> {
  let cppNamespace = "::tinh::graph";
}

def Graph_CastOp : Graph_Op<"cast", [Pure, Graph_ElementwiseTrait,
    SameOperandsAndResultShape]>, Graph_ElementwiseFacts<1, "Full"> {
  let summary = "Element type conversion";
  let description = [{
    As C converts: float to integer truncates toward zero, anything to i1 is
    `x != 0`, i1 to anything is 0 or 1, wider to narrower integers wrap.
    Float to integer outside the target's range is unspecified.

    To a float of 8 bits rounds to the nearest, halves to even; what is beyond
    its range, infinities among it, becomes infinite, or NaN in a type that has no
    infinities, and with `saturate` the number next to it. f4E2M1FN has neither:
    what is beyond becomes the number next to it anyway, and NaN becomes 0.

    f8E8M0FNU has the powers of two from 2^-127 to 2^127, and NaN. A cast to it
    rounds to the nearest, halves up, or as `rounding` says, what is an f32 or
    becomes one first. 0, and what is less than 2^-127 otherwise, becomes NaN, with
    `saturate` 2^-127; negative numbers become NaN.

    With `contract`, from float to float, a kernel rounds where it stores the
    result: a cast to a narrower float and one back may give `x` within it.

    Example: `%y = graph.cast %x : tensor<2xi64> to tensor<2xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, UnitAttr:$contract, UnitAttr:$saturate,
      DefaultValuedAttr<Graph_Rounding, "Rounding::Nearest">:$rounding);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{
    $x (`contract` $contract^)? (`saturate` $saturate^)?
    (`rounding` $rounding^)? attr-dict `:` type($x) `to` type($y)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$y, "::mlir::Value":$x), [{
    build($_builder, $_state, y, x, /*contract=*/false, /*saturate=*/false,
          Rounding::Nearest);
  }]>];
  let hasVerifier = 1;
}

def Graph_BitcastOp : Graph_Op<"bitcast", [Pure, Graph_ElementwiseTrait,
    SameOperandsAndResultShape]>, Graph_ElementwiseFacts<1, "Full"> {
  let summary = "The same bits as another element type";
  let description = [{
    y has the bits of x, whose element type has as many. Booleans have no bits to
    read: a `cast` makes integers of them.

    Example: `%y = graph.bitcast %x : tensor<2xf32> to tensor<2xi32>`
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Binary and ternary, with NumPy's broadcasting
//===----------------------------------------------------------------------===//

// The function of tensors that is the op, and how it goes by the dtypes of its
// operands, in compiler/Eager/Tensor/Elementwise.cpp. An op without one has its
// function written there.
class Graph_BinaryFunction<string name, string dtype> {
  string eagerFunction = name;
  string eagerDType = dtype;
}

class Graph_BinaryOp<string mnemonic, string formula>
    : Graph_InferredOp<mnemonic, [Graph_ElementwiseTrait]> {
  let summary = "Element-wise " # formula;
  let description = "y = " # formula # [{. Shapes broadcast as in NumPy; both element
    types are the same and the result's.

    Example: `%y = graph.}] # mnemonic #
    [{ %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>`}];
  let arguments = (ins Graph_NumberTensor:$a, Graph_NumberTensor:$b);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat =
      "$a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($y)";
}

def Graph_AddOp : Graph_BinaryOp<"add", "a + b">,
    Graph_ElementwiseFacts<1, "Follows", "Add">,
    Graph_BinaryFunction<"add", "Arithmetic">, Graph_ScalarFunction<"s.add(a, b)">;
def Graph_SubOp : Graph_BinaryOp<"sub", "a - b">,
    Graph_ElementwiseFacts<1, "Follows", "Sub">,
    Graph_BinaryFunction<"sub", "Arithmetic">, Graph_ScalarFunction<"s.sub(a, b)">;
def Graph_MulOp : Graph_BinaryOp<"mul", "a · b">,
    Graph_ElementwiseFacts<1, "Follows", "Mul">,
    Graph_BinaryFunction<"mul", "Arithmetic">, Graph_ScalarFunction<"s.mul(a, b)">;
def Graph_DivOp : Graph_BinaryOp<"div", "a / b (integers truncate toward zero)">,
    Graph_ElementwiseFacts<5, "Follows", "Div">,
    Graph_BinaryFunction<"div", "Floating">, Graph_ScalarFunction<"s.div(a, b)">;
def Graph_PowOp : Graph_BinaryOp<"pow", "a^b">,
    Graph_ElementwiseFacts<20, "Full">, Graph_ScalarFunction<"pow(s, a, b)">;

class Graph_ExtremeOp<string mnemonic, string formula>
    : Graph_BinaryOp<mnemonic, formula> {
  let description = "y = " # formula # [{. Shapes broadcast as in NumPy; both element
    types are the same and the result's. Of equal elements a and b each get half of
    the gradient; with `bound`, b is a bound of a, and a gets all of it.

    Example: `%y = graph.}] # mnemonic #
    [{ %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>`}];
  let arguments = (ins Graph_NumberTensor:$a, Graph_NumberTensor:$b,
                       UnitAttr:$bound);
}
def Graph_MaxOp : Graph_ExtremeOp<"max", "the larger of a and b (NaN if either is)">,
    Graph_ElementwiseFacts<1, "Follows">,
    Graph_BinaryFunction<"maximum", "Arithmetic">, Graph_ScalarFunction<"max(s, a, b)">;
def Graph_MinOp : Graph_ExtremeOp<"min", "the smaller of a and b (NaN if either is)">,
    Graph_ElementwiseFacts<1, "Follows">,
    Graph_BinaryFunction<"minimum", "Arithmetic">, Graph_ScalarFunction<"min(s, a, b)">;

def Graph_ModOp : Graph_BinaryOp<"mod", "a - b·floor(a/b): the remainder with b's sign">,
    Graph_ElementwiseFacts<20, "Full">,
    Graph_BinaryFunction<"remainder", "Arithmetic">, Graph_ScalarFunction<"mod(s, a, b)">;
def Graph_FmodOp : Graph_BinaryOp<"fmod", "the remainder of a / b with a's sign, as C's fmod">,
    Graph_ElementwiseFacts<20, "Full">,
    Graph_BinaryFunction<"fmod", "Arithmetic">, Graph_ScalarFunction<"s.rem(a, b)">;
def Graph_AndOp : Graph_BinaryOp<"and", "a AND b, logical for i1, bitwise for integers">,
    Graph_ElementwiseFacts<1, "Full", "And">,
    Graph_BinaryFunction<"bitwise_and", "Bitwise">,
    Graph_ScalarFunction<"arith::AndIOp::create(s.b, a, b)">;
def Graph_OrOp : Graph_BinaryOp<"or", "a OR b, logical for i1, bitwise for integers">,
    Graph_ElementwiseFacts<1, "Full", "Or">,
    Graph_BinaryFunction<"bitwise_or", "Bitwise">,
    Graph_ScalarFunction<"arith::OrIOp::create(s.b, a, b)">;
def Graph_XorOp : Graph_BinaryOp<"xor", "a XOR b, logical for i1, bitwise for integers">,
    Graph_ElementwiseFacts<1, "Full", "Xor">,
    Graph_BinaryFunction<"bitwise_xor", "Bitwise">,
    Graph_ScalarFunction<"arith::XOrIOp::create(s.b, a, b)">;
def Graph_ShiftLeftOp : Graph_BinaryOp<"shift_left", "a shifted left by b bits">,
    Graph_ElementwiseFacts<1, "Full">,
    Graph_BinaryFunction<"bitwise_left_shift", "Shift">,
    Graph_ScalarFunction<"shiftLeft(s, a, b)">;
def Graph_ShiftRightOp : Graph_BinaryOp<"shift_right", "a shifted right by b bits (arithmetic if signed)">,
    Graph_ElementwiseFacts<1, "Full">,
    Graph_BinaryFunction<"bitwise_right_shift", "Shift">,
    Graph_ScalarFunction<"shiftRight(s, a, b)">;

def Graph_ComparePredicate : I32EnumAttr<"ComparePredicate", "comparison", [
    I32EnumAttrCase<"Equal", 0, "equal">,
    I32EnumAttrCase<"NotEqual", 1, "not_equal">,
    I32EnumAttrCase<"Less", 2, "less">,
    I32EnumAttrCase<"LessEqual", 3, "less_equal">,
    I32EnumAttrCase<"Greater", 4, "greater">,
    I32EnumAttrCase<"GreaterEqual", 5, "greater_equal">
  ]> {
  let cppNamespace = "::tinh::graph";
}

def Graph_CompareOp : Graph_InferredOp<"compare", [Graph_ElementwiseTrait]>,
    Graph_ElementwiseFacts<1, "Full"> {
  let summary = "Element-wise comparison";
  let description = [{
    Comparisons with NaN are false, but for `not_equal`. The result is i1;
    shapes broadcast; both element types are the same.

    Example: `%y = graph.compare less %a, %b : tensor<4xf32>, tensor<f32> -> tensor<4xi1>`
  }];
  let arguments = (ins Graph_ComparePredicate:$predicate,
                       Graph_NumberTensor:$a, Graph_NumberTensor:$b);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = [{$predicate $a `,` $b attr-dict
      `:` type($a) `,` type($b) `->` type($y)}];
}

def Graph_WhereOp : Graph_InferredOp<"where", [Graph_ElementwiseTrait]>,
    Graph_ElementwiseFacts<1, "Follows"> {
  let summary = "Choice by a condition";
  let description = [{
    y = condition ? a : b, all three broadcast together.

    Example: `%y = graph.where %c, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>`
  }];
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$a,
                       Graph_Tensor:$b);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$condition `,` $a `,` $b attr-dict
      `:` type($condition) `,` type($a) `,` type($b) `->` type($y)}];
}

#endif // TINH_GRAPH_ELEMENTWISE_OPS
