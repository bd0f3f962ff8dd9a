//===- GraphBase.td - The graph dialect and what its ops share -*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_BASE
#define TINH_GRAPH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tinh::graph";
  let summary = "Deep-learning graphs over tensors with value semantics.";
  let description = [{
    Models in this dialect are `func.func`s whose arguments and results carry
    their names in a `graph.name` attribute. Every tensor has a static shape.
    Element types are f64 f32 f16 bf16, the signless integers i8 … i64 (signed),
    ui8 … ui64, and i1 for booleans (a byte in memory). Floats of 8 and 4 bits,
    f8E4M3FN f8E4M3FNUZ f8E5M2 f8E5M2FNUZ f8E8M0FNU and f4E2M1FN (in the low half
    of a byte), are for storage: what moves elements takes them, `cast`, `quantize`
    and `dequantize` convert them, nothing else computes with them. Binary and ternary element-wise ops broadcast as NumPy
    does; apart from that there are no implicit conversions. A location names the
    model's node: `loc("Conv_12")`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

// The element types of the dialect.
def Graph_Number : AnyTypeOf<[F64, F32, F16, BF16, I1, I8, I16, I32, I64,
                              UI8, UI16, UI32, UI64]>;
def Graph_StorageFloat : AnyTypeOf<[F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ,
                                    F8E8M0FNU, F4E2M1FN]>;
def Graph_Element : AnyTypeOf<[Graph_Number, Graph_StorageFloat]>;
def Graph_Float : AnyTypeOf<[F64, F32, F16, BF16]>;
def Graph_Index : AnyTypeOf<[I32, I64]>;

class Graph_TensorOf<list<Type> elements, string what>
    : StaticShapeTensorOf<elements> {
  let summary = "statically shaped tensor of " # what;
}
def Graph_Tensor : Graph_TensorOf<[Graph_Element], "any element type">;
def Graph_NumberTensor : Graph_TensorOf<[Graph_Number],
    "bool, integer, f16, bf16, f32 or f64 elements (f8 and f4 are for storage: cast them)">;
def Graph_FloatTensor : Graph_TensorOf<[Graph_Float], "f64, f32, f16 or bf16">;
def Graph_BoolTensor : Graph_TensorOf<[I1], "booleans">;
def Graph_IndexTensor : Graph_TensorOf<[Graph_Index], "i32 or i64">;

// What decides about branches and loops, and what counts.
def Graph_Condition : Type<
    CPred<"$_self == ::tinh::graph::conditionType($_self.getContext())">,
    "tensor<i1>", "::mlir::RankedTensorType">,
  BuildableType<"::tinh::graph::conditionType($_builder.getContext())">;
def Graph_Count : Type<
    CPred<"$_self == ::tinh::graph::countType($_self.getContext())">,
    "tensor<i64>", "::mlir::RankedTensorType">,
  BuildableType<"::tinh::graph::countType($_builder.getContext())">;

// Each op says these of itself, through Graph_Facts; OpFacts.h says what they
// mean. mlir-tblgen knows nothing of them: GraphFacts.td makes a table of them,
// which cannot be made while an op leaves one open.
class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits> {
  string fusionRole = ?;
  string costPerElement = ?;
  string precisionClass = ?;
  string onnxName = "";
  bit readsOnce = 0;
}

class Graph_Facts<string role, int cost, string precision, string onnx = ""> {
  string fusionRole = role;
  string costPerElement = !cast<string>(cost);
  string precisionClass = precision;
  string onnxName = onnx;
}

// Of an op with Graph_ElementwiseTrait.
class Graph_ElementwiseFacts<int cost, string precision, string onnx = "">
    : Graph_Facts<"Elementwise", cost, precision, onnx>;

// A pure op whose one result type follows from operands and attributes. Its
// `inferReturnTypes` is also its verifier: it reports what is wrong at the
// location that it is given.
class Graph_InferredOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, traits # [Pure, InferTypeOpAdaptor]>;

// The order of an image-like tensor's dimensions.
def Graph_Layout : I32EnumAttr<"Layout", "order of dimensions", [
    I32EnumAttrCase<"ChannelsFirst", 0, "channels_first">, // N C spatial…
    I32EnumAttrCase<"ChannelsLast", 1, "channels_last">    // N spatial… C
  ]> {
  let cppNamespace = "::tinh::graph";
}

// Bytes in a file: a large constant that is never copied into the IR.
def Graph_ExternalAttr : AttrDef<Graph_Dialect, "External", [TypedAttrInterface]> {
  let mnemonic = "external";
  let summary = "A tensor's bytes in a file";
  let description = [{
    The elements, little-endian, dense and row-major, lie at `offset` in `file`,
    `size` bytes long. Relative names are relative to the model's directory.

    Example: `#graph.external<"model.onnx", 1024, 37632> : tensor<64x3x7x7xf32>`
  }];
  let parameters = (ins AttributeSelfTypeParameter<"">:$type,
                        StringRefParameter<>:$file,
                        "uint64_t":$offset, "uint64_t":$size);
  let assemblyFormat = "`<` $file `,` $offset `,` $size `>`";
}

// A weight that an artifact takes anew when it is loaded: its value is not to be
// computed with before that.
def Graph_ParameterAttr : AttrDef<Graph_Dialect, "Parameter", [TypedAttrInterface]> {
  let mnemonic = "parameter";
  let summary = "A weight that may be replaced";
  let description = [{
    A constant whose value is known but may be another one when the artifact is
    loaded. Nothing folds it, and no other constant is the same, whatever its
    value.

    Example: `#graph.parameter<"fc1.bias", dense<0.0> : tensor<10xf32>> : tensor<10xf32>`
  }];
  let parameters = (ins AttributeSelfTypeParameter<"">:$type,
                        StringRefParameter<>:$name,
                        "::mlir::TypedAttr":$value);
  let assemblyFormat = "`<` $name `,` $value `>`";
}

#endif // TINH_GRAPH_BASE
