//===- StructureOps.td - Constants, kernels, dispatches ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_STRUCTURE_OPS
#define TINH_GRAPH_STRUCTURE_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike,
    AllTypesMatch<["value", "y"]>]>, Graph_Facts<"None", 0, "Full"> {
  let summary = "A constant tensor";
  let description = [{
    Small constants hold their elements, large ones refer to a file.

    Example: `%w = graph.constant #graph.external<"model.onnx", 1024, 37632> : tensor<64x3x7x7xf32>`
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_KernelOp : Graph_Op<"kernel", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]>, Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "Ops that are computed together";
  let description = [{
    The unit of code generation: the region becomes one function, in which
    intermediate tensors live in registers where they can.

    Example:
    ```mlir
    %y = graph.kernel (%a = %x, %b = %w) : (tensor<64x1000xf32>, tensor<1000x100xf32>) -> tensor<64x100xf32> {
      %0 = graph.matmul %a, %b : tensor<64x1000xf32>, tensor<1000x100xf32> -> tensor<64x100xf32>
      %1 = graph.relu %0 : tensor<64x100xf32>
      graph.yield %1 : tensor<64x100xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator,
    ParentOneOf<["KernelOp", "IfOp", "WhileOp", "ScanOp", "CustomGradientOp"]>,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]>,
    Graph_Facts<"None", 1, "Full"> {
  let summary = "The results of a kernel or of a region of control flow";
  let description = "Example: `graph.yield %1 : tensor<64x100xf32>`";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* yields nothing */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Graph_DispatchOp : Graph_Op<"dispatch", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]>, Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "A run of a kernel function";
  let description = [{
    `kernel` names a `func.func` of the module whose body computes the results
    from the operands, in linalg on tensors.

    Example: `%y = graph.dispatch @matmul_relu(%x, %w) : (tensor<64x1000xf32>, tensor<4x1000x32xf32>) -> tensor<64x100xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat =
      "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

def Graph_WeightOp : Graph_Op<"weight", [Pure]>, Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "A tensor that the function @init computes";
  let description = [{
    `name` is the `graph.name` of a result of the module's `@init`, which turns
    the model's constants into the forms that the kernels read and runs
    once, when the artifact is written.

    Example: `%w = graph.weight "conv1.packed" : tensor<2x7x7x3x32xf32>`
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$name attr-dict `:` type($y)";
}

def Graph_TransferOp : Graph_Op<"transfer", [Pure, SameOperandsAndResultType]>,
    Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "The same tensor in the memory of another device";
  let description = [{
    The operands and results of a dispatch lie on the device of its kernel;
    arguments and results of functions lie on the CPU, unless they are variables
    `on "cuda"`, and so do conditions and numbers of iterations. Constants and
    weights can be read on both devices.

    Example: `%d = graph.transfer %x to "cuda" : tensor<64x1000xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, StrAttr:$device);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `to` $device attr-dict `:` type($x)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isToCuda() { return getDevice() == names::kOnCuda; }
  }];
}

//===----------------------------------------------------------------------===//
// What is said about gradients, and what training changes
//===----------------------------------------------------------------------===//

def Graph_StopGradientOp : Graph_Op<"stop_gradient", [Pure, SameOperandsAndResultType]>,
    Graph_Facts<"None", 1, "Follows"> {
  let summary = "The same tensor, which counts as a constant in gradients";
  let description = "Example: `%y = graph.stop_gradient %x : tensor<2x3xf32>`";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_DropoutOp : Graph_Op<"dropout", [SameOperandsAndResultType]>,
    Graph_Facts<"None", 1, "Follows"> {
  let summary = "The same tensor; what it drops while a model is trained";
  let description = [{
    In inference its operand takes its place. `graph-compile --train` makes the
    function `train_step` zero each element with the probability `ratio`, from 0
    to 1, and divide the others by 1 - `ratio`. Each such op draws numbers of its
    own, so equal ones are not merged.

    Example: `%y = graph.dropout %x ratio 0.5 : tensor<2x3xf32>`
  }];
  let arguments = (ins Graph_FloatTensor:$x, F64Attr:$ratio);
  // As if it allocated its result: it may be dead, but not merged or moved.
  let results = (outs Res<Graph_FloatTensor, "", [MemAlloc]>:$y);
  let assemblyFormat = "$x `ratio` $ratio attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Graph_CustomGradientOp : Graph_Op<"custom_gradient", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    RecursivelySpeculatable]>, Graph_Facts<"None", 1, "Full"> {
  let summary = "A computation whose gradient is given beside it";
  let description = [{
    The results are what the first region yields for `inputs`. The second one,
    on the inputs, the results and the gradients of these, yields the gradients of
    the inputs. Regions may read values from above, which count as constants in
    gradients.

    Example:
    ```mlir
    %y = graph.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = graph.round %a : tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    } gradient {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %db: tensor<4xf32>):
      graph.yield %db : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$forward, SizedRegion<1>:$gradient);
  let assemblyFormat = [{`(` $inputs `)` `:` functional-type($inputs, $outputs)
      attr-dict-with-keyword $forward `gradient` $gradient}];
  let hasVerifier = 1;
}

def Graph_VariableOp : Graph_Op<"variable", [HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]>, Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "A tensor that lives from run to run";
  let description = [{
    Parameters, an optimizer's state, running statistics. A function reads it by
    an argument with the attribute `graph.variable = "name"` and gives its next
    value as a result with the same attribute. `value` is what it begins with.
    Optimizers change those that are `trainable`.

    From phase `kernels` on, functions may have it in another type, `stored`, as
    `pack` makes it of a tensor of its own type; `unpack` does the opposite. Or it
    lies in the memory of the GPU, `on "cuda"`, in its own type.

    Examples:
    ```mlir
    graph.variable "conv1.weight" = #graph.external<"model.onnx", 1024, 37632> : tensor<64x3x7x7xf32> trainable
    graph.variable "w1" = #graph.external<"model.onnx", 1620, 400000> : tensor<1000x100xf32> trainable
        stored tensor<4x1000x32xf32> pack @matmul_0_pack unpack @matmul_0_unpack
    graph.variable "w2" = dense<0.0> : tensor<8xf32> trainable on "cuda"
    ```
  }];
  let arguments = (ins StrAttr:$name, TypedAttrInterface:$value, UnitAttr:$trainable,
                       OptionalAttr<StrAttr>:$device,
                       OptionalAttr<TypeAttrOf<AnyStaticShapeTensor>>:$stored,
                       OptionalAttr<FlatSymbolRefAttr>:$pack,
                       OptionalAttr<FlatSymbolRefAttr>:$unpack);
  let builders = [
    OpBuilder<(ins "::mlir::StringAttr":$name, "::mlir::TypedAttr":$value,
                   CArg<"::mlir::UnitAttr", "{}">:$trainable), [{
      build($_builder, $_state, name, value, trainable, ::mlir::StringAttr(),
            ::mlir::TypeAttr(), ::mlir::FlatSymbolRefAttr(),
            ::mlir::FlatSymbolRefAttr());
    }]>
  ];
  let assemblyFormat = [{
    $name `=` $value (`trainable` $trainable^)? (`on` $device^)?
    (`stored` $stored^ `pack` $pack `unpack` $unpack)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getType() {
      return ::mlir::cast<::mlir::RankedTensorType>(getValue().getType());
    }
    /// The type in which functions have it.
    ::mlir::RankedTensorType getStoredType() {
      return getStored() ? ::mlir::cast<::mlir::RankedTensorType>(*getStored())
                         : getType();
    }
    bool isOnCuda() { return getDevice().has_value(); }
    /// Whether all bytes are 0 at first.
    bool isInitiallyZero();
  }];
}

#endif // TINH_GRAPH_STRUCTURE_OPS
