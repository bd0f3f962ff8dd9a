//===- PlanAttributes.td - Memory, and what steps say ------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_PLAN_ATTRIBUTES
#define TINH_PLAN_ATTRIBUTES

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::tinh::plan";
  let summary = "Schedules of kernels over planned memory.";
  let description = [{
    What the runtime does, step by step: which kernel runs, after which earlier
    steps, on which bytes. Memory has four spaces: the inputs and the outputs of
    a function, which its caller provides; the weights, which lie in the
    artifact; and the arena, which each run has for itself. In a loop there is
    also the number of its iteration. A GPU has an arena of each run, `device`,
    and a copy of the weights, `device_weights`.

    An input may be a variable, which lives from run to run. A function that has
    it among its outputs, too, writes its next value in its place: there is one
    memory, that of the input.

    A kernel is a symbol of the module: in phase `plan` a `func.func` over
    linalg, in phase `llvm` a `module` with a function of the same name.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Plan_Space : I32EnumAttr<"Space", "the memory that a buffer lies in", [
    I32EnumAttrCase<"Arena", 0, "arena">,
    I32EnumAttrCase<"Weights", 1, "weights">,
    I32EnumAttrCase<"Input", 2, "input">,
    I32EnumAttrCase<"Output", 3, "output">,
    I32EnumAttrCase<"Loop", 4, "loop">,
    I32EnumAttrCase<"Device", 5, "device">,
    I32EnumAttrCase<"DeviceWeights", 6, "device_weights">
  ]> {
  let cppNamespace = "::tinh::plan";
  let genSpecializedAttr = 0;
}

def Plan_BufferAttr : AttrDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "bytes of a memory space";
  let description = [{
    The bytes [offset, offset + size) of a space; of the inputs and outputs
    `index` says which one. Where a tensor is a part of a larger one, only rows of
    these bytes: the first `run` of every `pitch`, and of the last row no more.

    Each iteration of a loop around the step may find it further on, by one of
    `strides`, of which the first is that of the outermost loop. In the space
    `loop` are the numbers, from 0, of the iterations of the loops around it, as
    8 bytes each; `index` 0 is the outermost one.

    Example: `#plan.buffer<input 0[0 to 602112]>`, `#plan.buffer<arena[64 to 128]>`,
    `#plan.buffer<arena[64 to 896, 64 of 256]>`, `#plan.buffer<loop 0[0 to 8]>`,
    `#plan.buffer<input 0[0 to 16] step (80, 16)>`
  }];
  let parameters = (ins EnumParameter<Plan_Space>:$space, "uint32_t":$index,
                        "int64_t":$offset, "int64_t":$size, "int64_t":$run,
                        "int64_t":$pitch,
                        OptionalArrayRefParameter<"int64_t">:$strides);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    AttrBuilder<(ins "Space":$space, "uint32_t":$index, "int64_t":$offset,
                     "int64_t":$size), [{
      return $_get($_ctxt, space, index, offset, size, size, size,
                   ::llvm::ArrayRef<int64_t>());
    }]>,
    AttrBuilder<(ins "Space":$space, "uint32_t":$index, "int64_t":$offset,
                     "int64_t":$size, "int64_t":$run, "int64_t":$pitch), [{
      return $_get($_ctxt, space, index, offset, size, run, pitch,
                   ::llvm::ArrayRef<int64_t>());
    }]>
  ];
  let extraClassDeclaration = [{
    /// The offset behind the last byte.
    int64_t getEnd() const { return getOffset() + getSize(); }
    bool isContiguous() const { return getRun() == getSize(); }
    /// The number of its rows: one if it is contiguous.
    int64_t getRows() const {
      return isContiguous() ? 1 : (getSize() - getRun()) / getPitch() + 1;
    }
    bool moves() const { return !getStrides().empty(); }
    /// Whether it lies among the weights, of either device.
    bool isWeight() const {
      return getSpace() == Space::Weights || getSpace() == Space::DeviceWeights;
    }
    /// The same bytes with other strides; those of 0 at the end are left out.
    BufferAttr withStrides(::llvm::ArrayRef<int64_t> strides) const;
    /// Whether the two, if they have the same strides, may have a byte in common
    /// in an iteration: false only if they have none.
    bool overlaps(BufferAttr other) const;
    /// Whether all bytes of `other`, if it has the same strides, are bytes of
    /// this one.
    bool contains(BufferAttr other) const;
  }];
}

def Plan_TensorAttr : AttrDef<Plan_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "input or output of a function";
  let description = [{
    Its name and type or, for what does not come from the caller, its value; or
    the variable of this name. Of an output of which the run decides the sizes:
    `sizes` has for each dimension the name of the output that says how much of it
    is used, or "" for all of it.

    Example: `#plan.tensor<"x": tensor<1x3x224x224xf32>>`,
    `#plan.tensor<"y": tensor<100x4xf32> sizes ["y.size0", ""]>`,
    `#plan.tensor<"conv1.weight" = #graph.external<"model.onnx", 1024, 37632> : tensor<64x3x7x7xf32>>`,
    `#plan.tensor<"conv1.weight": tensor<64x3x7x7xf32> variable>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$type,
                        "::mlir::TypedAttr":$value, "bool":$variable,
                        "::mlir::ArrayAttr":$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilderWithInferredContext<
      (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$type,
           CArg<"::mlir::TypedAttr", "{}">:$value,
           CArg<"bool", "false">:$variable,
           CArg<"::mlir::ArrayAttr", "{}">:$sizes), [{
        return $_get(type.getContext(), name, type, value, variable, sizes);
      }]>];
}

def Plan_LayoutAttr : AttrDef<Plan_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "how a variable lies in memory";
  let description = [{
    The type in which functions have a variable, and the kernels, with their
    numbers of chunks, that turn the variable's own type into it and back. They
    need no scratch memory.

    Example: `#plan.layout<tensor<4x1000x32xf32>, pack @matmul_0_pack chunks 16, unpack @matmul_0_unpack chunks 16>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$type,
                        "::mlir::FlatSymbolRefAttr":$pack, "int64_t":$packChunks,
                        "::mlir::FlatSymbolRefAttr":$unpack,
                        "int64_t":$unpackChunks);
  let assemblyFormat = [{
    `<` $type `,` `pack` $pack `chunks` $packChunks `,` `unpack` $unpack
    `chunks` $unpackChunks `>`
  }];
}

def Plan_WorkAttr : AttrDef<Plan_Dialect, "Work"> {
  let mnemonic = "work";
  let summary = "how much a kernel has to do";
  let description = [{
    The operations of one run of a kernel, all chunks together, and the bytes that
    it has to read and write at least (compiler/Codegen/Kernel/Work.h).

    Example: `#plan.work<operations = 4096, bytes = 640>`
  }];
  let parameters = (ins "int64_t":$operations, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_CollectiveKind : I32EnumAttr<"CollectiveKind", "collective", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumAttrCase<"Broadcast", 3, "broadcast">
  ]> {
  let cppNamespace = "::tinh::plan";
  let genSpecializedAttr = 0;
}

def Plan_Reduction : I32EnumAttr<"Reduction", "reduction over ranks", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Max", 2, "max">
  ]> {
  let cppNamespace = "::tinh::plan";
  let genSpecializedAttr = 0;
}

def Plan_CollectiveAttr : AttrDef<Plan_Dialect, "Collective"> {
  let mnemonic = "collective";
  let summary = "what ranks do together";
  let description = [{
    An operation of tinh/collectives.h on elements of a type, which are sent as
    `communication_dtype`, if they are not sent as they are. `reduction` is that of all_reduce and reduce_scatter, `root` the rank
    that broadcasts, and `ranks` the number that there must be, or 0 if any number
    will do.

    Example: `#plan.collective<all_reduce, mean, f32, communication_dtype = bf16>`
  }];
  let parameters = (ins EnumParameter<Plan_CollectiveKind>:$kind,
                        EnumParameter<Plan_Reduction>:$reduction,
                        "::mlir::Type":$element,
                        OptionalParameter<"::mlir::Type">:$communication_dtype,
                        DefaultValuedParameter<"int64_t", "0">:$root,
                        DefaultValuedParameter<"int64_t", "0">:$ranks);
  let assemblyFormat = [{`<` $kind `,` $reduction `,` $element
      (`,` struct($communication_dtype, $root, $ranks)^)? `>`}];
  let genVerifyDecl = 1;
}

def Plan_BufferArray : TypedArrayAttrBase<Plan_BufferAttr, "buffers">;
def Plan_TensorArray : TypedArrayAttrBase<Plan_TensorAttr, "tensors">;

def Plan_Step : TypeDef<Plan_Dialect, "Step">,
                BuildableType<"$_builder.getType<::tinh::plan::StepType>()"> {
  let mnemonic = "step";
  let summary = "step";
}

#endif // TINH_PLAN_ATTRIBUTES
