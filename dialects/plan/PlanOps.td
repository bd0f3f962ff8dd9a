//===- PlanOps.td - Steps over planned memory --------------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_PLAN_OPS
#define TINH_PLAN_OPS

include "dialects/plan/PlanAttributes.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Functions and weights
//===----------------------------------------------------------------------===//

def Plan_WeightOp : Plan_Op<"weight", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "A tensor at its place in the artifact's weights";
  let description = [{
    The function `@init`, which runs once when the artifact is written, has an
    output for each, in their order.

    Example: `plan.weight "conv1.weight.pack" at 1024 : tensor<2x7x7x3x32xf32>`
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$offset,
                       TypeAttrOf<AnyStaticShapeTensor>:$type);
  let assemblyFormat = "$name `at` $offset `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Its bytes among the weights.
    BufferAttr getBuffer();
  }];
}

def Plan_VariableOp : Plan_Op<"variable", [HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that lives from run to run";
  let description = [{
    It begins as the bytes of a weight or, without one, of zeros. Functions have
    it among their inputs and, if they change it, their outputs. Optimizers
    change those that are `trainable`. One that is `on_device` lies in the memory
    of the GPU, and so do the inputs and outputs that it is.

    Examples:
    ```mlir
    plan.variable "conv1.weight" = weights[0 to 37632] : tensor<64x3x7x7xf32> trainable
    plan.variable "w1" = weights[0 to 512000] : tensor<1000x100xf32> trainable
        layout <tensor<4x1000x32xf32>, pack @matmul_0_pack chunks 8, unpack @matmul_0_unpack chunks 8>
    plan.variable "w2" : tensor<8xf32> trainable on_device
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Plan_BufferAttr>:$initial,
                       TypeAttrOf<AnyStaticShapeTensor>:$type, UnitAttr:$trainable,
                       UnitAttr:$on_device, OptionalAttr<Plan_LayoutAttr>:$layout);
  let assemblyFormat = [{
    $name (`=` custom<Buffer>($initial)^)? `:` $type (`trainable` $trainable^)?
    (`on_device` $on_device^)? (`layout` $layout^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type in which functions have it.
    ::mlir::RankedTensorType getStoredType() {
      return getLayout() ? getLayout()->getType()
                         : ::mlir::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Plan_FunctionOp : Plan_Op<"function", [IsolatedFromAbove, Symbol,
    HasParent<"::mlir::ModuleOp">, NoTerminator, SingleBlock]> {
  let summary = "A schedule: steps over planned memory";
  let description = [{
    Steps run in order, each cut into chunks that workers share. A step starts
    on a worker when the step that it, or any step before it, is `after`, and
    all steps up to that one, are finished on all workers. Steps between them
    may still run: the function is valid only if none of these writes what the
    step accesses or reads what it writes.

    Branches and loops are steps, too, and steps from `plan.if` to `plan.end_if`
    and from `plan.loop` to `plan.end_loop` nest. What is `after` a step that is
    not executed waits for the steps before it that are. An iteration of a loop
    starts when all that is executed before it is finished on all workers.

    Of the inputs only variables that are among the outputs may be written. What
    they hold in the end is their next value, so each step that reads the old one
    must be finished before another one writes it.

    `arena` is the memory that a run needs for intermediate tensors, in bytes;
    `unplanned` what it would need had each its own, and `lower_bound` the most
    that is live at one time. `device_arena` and what follows it are the same of a
    GPU's memory, where something lies there. Kernels for the GPU run on what lies
    there, other kernels, branches and loops on what does not, and copies lead from
    one to the other.

    Example:
    ```mlir
    plan.function @main
        inputs("x": tensor<1x3x224x224xf32>) outputs("y": tensor<1x1000xf32>)
        arena 5218304 unplanned 45869056 lower_bound 5218304 {
      %0 = plan.dispatch @conv_relu_0 chunks 28 scratch 8192
          reads(input 0[0 to 602112], weights[0 to 37632])
          writes(arena[0 to 3211264])
      %1 = plan.dispatch @max_pool_0 after %0 chunks 14 scratch 0
          reads(arena[0 to 3211264]) writes(arena[3211264 to 4014080])
      …
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_TensorArray:$inputs,
                       Plan_TensorArray:$outputs, I64Attr:$arena,
                       I64Attr:$unplanned, I64Attr:$lower_bound,
                       I64Attr:$device_arena, I64Attr:$device_unplanned,
                       I64Attr:$device_lower_bound);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::ArrayAttr":$inputs,
                                 "::mlir::ArrayAttr":$outputs)>];
  let assemblyFormat = [{
    $sym_name `` custom<Tensors>("\"inputs\"", $inputs)
    `` custom<Tensors>("\"outputs\"", $outputs)
    `` custom<Sizes>($arena, $unplanned, $lower_bound)
    `` custom<DeviceSizes>($device_arena, $device_unplanned, $device_lower_bound)
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

class Plan_StepOp<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, [HasParent<"FunctionOp">] # traits> {
  let results = (outs Plan_Step:$step);
}

def Plan_DispatchOp : Plan_StepOp<"dispatch",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A run of a kernel on all its chunks";
  let description = [{
    `reads` are the kernel's inputs and `writes` its results, in order.
    `scratch` is the memory that each worker needs meanwhile, in bytes. A result
    that lies where an input does is marked with that input's number: the kernel
    must allow it (`graph.inplace`). An operand with `graph.strides` lies in rows.

    A kernel for the GPU, and it alone, has `threads`: each chunk is a block of as
    many, and `scratch` the shared memory that such a block has.

    Examples:
    ```mlir
    %7 = plan.dispatch @add_relu_0 after %6 chunks 8 scratch 0
        reads(arena[0 to 802816], arena[802816 to 1605632])
        writes(arena[0 to 802816] inplace 0)
    %8 = plan.dispatch @relu_1 after %7 chunks 784 threads 256 scratch 0
        reads(device[0 to 802816]) writes(device[0 to 802816] inplace 0)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Optional<Plan_Step>:$after,
                       I64Attr:$chunks, OptionalAttr<I64Attr>:$threads,
                       I64Attr:$scratch,
                       Plan_BufferArray:$reads, Plan_BufferArray:$writes,
                       DenseI64ArrayAttr:$inplace);
  let assemblyFormat = [{
    $kernel (`after` $after^)? `chunks` $chunks (`threads` $threads^)?
    `scratch` $scratch
    `reads` `` custom<Reads>($reads)
    `writes` `` custom<Writes>($writes, $inplace)
    attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_CopyOp : Plan_StepOp<"copy"> {
  let summary = "Bytes that are copied";
  let description = [{
    A result of the model or of a branch that no kernel writes there, such as an
    input or a weight, or the first or next value of what a loop carries; or what
    another device is to read.

    Examples: `%3 = plan.copy after %2 output 0[0 to 64] to output 1[0 to 64]`,
    `%0 = plan.copy input 0[0 to 64] to device[0 to 64]`
  }];
  let arguments = (ins Optional<Plan_Step>:$after, Plan_BufferAttr:$source,
                       Plan_BufferAttr:$target);
  let assemblyFormat = [{
    (`after` $after^)? custom<Buffer>($source) `to` custom<Buffer>($target)
    attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_ZeroOp : Plan_StepOp<"zero"> {
  let summary = "Bytes that are set to 0";
  let description = [{
    The rows that a loop may leave out.

    Example: `%3 = plan.zero after %2 output 0[0 to 64]`
  }];
  let arguments = (ins Optional<Plan_Step>:$after, Plan_BufferAttr:$target);
  let assemblyFormat = "(`after` $after^)? custom<Buffer>($target) attr-dict";
  let hasVerifier = 1;
}

def Plan_StartOp : Plan_StepOp<"start"> {
  let summary = "The beginning of a collective";
  let description = [{
    It is done at once. Until the `plan.await` of the step is finished, its source
    may be read but not written, and its target neither. They are the same bytes, or
    have none in common. It stands in no branch or loop.

    Example: `%4 = plan.start after %3 <all_reduce, mean, f32> arena[0 to 4096] to arena[0 to 4096]`
  }];
  let arguments = (ins Optional<Plan_Step>:$after,
                       Plan_CollectiveAttr:$collective, Plan_BufferAttr:$source,
                       Plan_BufferAttr:$target);
  let assemblyFormat = [{
    (`after` $after^)? $collective custom<Buffer>($source) `to`
    custom<Buffer>($target) attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_AwaitOp : Plan_StepOp<"await"> {
  let summary = "The end of a collective";
  let description = [{
    Each `plan.start` has one, behind it.

    Example: `%9 = plan.await %4 after %8`
  }];
  let arguments = (ins Plan_Step:$start, Optional<Plan_Step>:$after);
  let assemblyFormat = "$start (`after` $after^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    StartOp getStarted();
  }];
}

def Plan_IfOp : Plan_StepOp<"if"> {
  let summary = "The beginning of steps that run if a byte is not 0";
  let description = [{
    They end at the `plan.else` and are followed by those that run if it is 0, up
    to the `plan.end_if`. Of two steps that never run both, neither waits for
    the other.

    Example:
    ```mlir
    %1 = plan.if after %0 arena[0 to 1]
    %2 = plan.dispatch @relu_0 chunks 1 scratch 0 reads(input 0[0 to 64]) writes(output 0[0 to 64])
    %3 = plan.else
    %4 = plan.copy input 0[0 to 64] to output 0[0 to 64]
    %5 = plan.end_if
    ```
  }];
  let arguments = (ins Optional<Plan_Step>:$after, Plan_BufferAttr:$condition);
  let assemblyFormat = "(`after` $after^)? custom<Buffer>($condition) attr-dict";
  let hasVerifier = 1;
}

def Plan_ElseOp : Plan_StepOp<"else"> {
  let summary = "The end of the steps that run if a condition holds";
  let description = "Example: `%3 = plan.else`";
  let assemblyFormat = "attr-dict";
}

def Plan_EndIfOp : Plan_StepOp<"end_if"> {
  let summary = "The end of the steps that run if a condition does not hold";
  let description = "Example: `%5 = plan.end_if`";
  let assemblyFormat = "attr-dict";
}

def Plan_LoopOp : Plan_StepOp<"loop"> {
  let summary = "The beginning of steps that are repeated";
  let description = [{
    There are `length` iterations of the steps up to the `plan.end_loop`, or as
    many as the 8 bytes of `count` say, as a signed integer, if these are less.
    Without `length` only `plan.leave` ends the loop.

    If it is `alone`, one worker does all steps of the loop, none of which is
    divided or a GPU's: to all others it is one step. Those in it are `after`
    nothing, they follow each other.

    Example, the running sums of the rows of a tensor:
    ```mlir
    %0 = plan.zero arena[0 to 64]
    %1 = plan.loop length 1000 count input 1[0 to 8]
    %2 = plan.dispatch @add_0 after %1 chunks 1 scratch 0
        reads(arena[0 to 64], input 0[0 to 64] step (64))
        writes(arena[0 to 64] inplace 0)
    %3 = plan.copy after %2 arena[0 to 64] to output 0[0 to 64] step (64)
    %4 = plan.end_loop
    ```
  }];
  let arguments = (ins Optional<Plan_Step>:$after, OptionalAttr<I64Attr>:$length,
                       OptionalAttr<Plan_BufferAttr>:$count, UnitAttr:$alone);
  let assemblyFormat = [{
    (`after` $after^)? (`length` $length^)? (`count` custom<Buffer>($count)^)?
    (`alone` $alone^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Iterations at most.
    int64_t getMaxIterations() {
      return getLength().value_or(std::numeric_limits<int64_t>::max());
    }
  }];
}

def Plan_LeaveOp : Plan_StepOp<"leave"> {
  let summary = "The end of a loop unless a byte is not 0";
  let description = [{
    Stands in a loop, in no `plan.if` of it.

    Example: `%5 = plan.leave after %4 unless arena[0 to 1]`
  }];
  let arguments = (ins Optional<Plan_Step>:$after, Plan_BufferAttr:$condition);
  let assemblyFormat =
      "(`after` $after^)? `unless` custom<Buffer>($condition) attr-dict";
  let hasVerifier = 1;
}

def Plan_EndLoopOp : Plan_StepOp<"end_loop"> {
  let summary = "The end of the steps that a loop repeats";
  let description = "Example: `%4 = plan.end_loop`";
  let assemblyFormat = "attr-dict";
}

#endif // TINH_PLAN_OPS
