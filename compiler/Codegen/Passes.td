//===- Passes.td - Passes from kernels to their code -------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_CODEGEN_PASSES
#define TINH_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def AddCpuFunctions : Pass<"add-cpu-functions", "::mlir::ModuleOp"> {
  let summary = "Have functions for machines without a GPU beside those for one";
  let description = [{
    In a module with `graph.also_cpu`, each function that users call, and each
    variable, gets a copy behind all others that says in `graph.instead_of` what it
    stands in for: its kernels stay on the CPU. `@init` and its weights will be for
    both, and what both read is there once.

    Preconditions: no kernel has a device yet.
  }];
  let statistics = [
    Statistic<"numCopies", "copies", "Functions copied">
  ];
}

def PlaceKernels : Pass<"place-kernels", "::mlir::ModuleOp"> {
  let summary = "Decide which device runs a kernel";
  let description = [{
    In a module with `graph.cuda`, every `graph.kernel` gets `graph.device`, unless
    it is for the CPU, and values that the other device needs a `graph.transfer`;
    kernels of functions that are `graph.instead_of` others are for the CPU.
    A rule of the module's `graph.place`, PATTERN=DEVICE, is about the kernels with
    an op or a node of the model whose name fits the pattern; of several rules the
    last one counts, and without one a kernel is for the GPU. What depends on
    constants alone stays on the CPU, and so do, where no rule is about them, kernels
    over a few integers or booleans that decide on branches and loops, if these come
    from and go to the CPU. Variables that kernels on the GPU read or
    compute lie there, and so does what branches and loops carry. Ops are ordered by how
    often what they need has come from the GPU to the CPU.

    Preconditions: those of `lower-kernels`.
  }];
  let statistics = [
    Statistic<"numTransfers", "transfers", "Values that go to another device">
  ];
}

def LowerKernels : Pass<"lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn each graph.kernel into a function over linalg";
  let description = [{
    Every `graph.kernel` becomes a private `func.func` whose name lists the
    kernel's ops, and a `graph.dispatch` of it. The function's tensors have
    elements as they are stored (ui8 and f8E5M2 as i8). Constants of one element
    that element-wise ops read move into the function; other constants inside of a
    kernel move out and become operands. Operands and results that are the same
    value are passed once.

    Preconditions: every op of a function body but `graph.constant`,
    `graph.reshape`, `graph.transfer`, branches, loops and the terminator lies in
    a `graph.kernel`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels lowered">
  ];
}

def LowerSizedRows : Pass<"lower-sized-rows", "::mlir::ModuleOp"> {
  let summary = "Turn functions of a row into linalg on rows of any length";
  let description = [{
    For functions with a `graph.plan` whose body is of graph ops: the source
    of kernels whose sizes are arguments. Their rank-1 tensors have one length,
    which stands for any.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FormViews : Pass<"form-views", "::mlir::ModuleOp"> {
  let summary = "Write and read parts of tensors where they lie";
  let description = [{
    In each function, a dispatch of a kernel that only concatenates becomes a
    `graph.concat` between dispatches, a view: its operands are computed in
    place, in the memory of its result. One operand at most may be something else
    than the result of a dispatch that nothing else places; it is copied. A
    dispatch that only takes a slice, with positive steps, becomes a
    `graph.slice`. The kernels that write or read what is not contiguous
    then have `graph.strides` at these results or arguments.

    What a reshape or the function's caller reads stays contiguous; what depends
    on constants alone stays as it is.

    Preconditions: each kernel function is named by one `graph.dispatch`, and no
    strategies have been chosen yet: they depend on strides.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numConcats", "concats", "Concatenations that are views">,
    Statistic<"numSlices", "slices", "Slices that are views">
  ];
}

def MergeKernels : Pass<"merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Keep one of kernel functions that are equal";
  let description = [{
    Functions that differ in name and locations only become the first of them.

    Preconditions: kernels are functions that `graph.dispatch` ops name.
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Kernel functions removed">
  ];
}

def OutlineConstants : Pass<"outline-constants", "::mlir::ModuleOp"> {
  let summary = "Move what depends on constants alone into @init";
  let description = [{
    Constants of all functions become arguments of `@init` with their value in
    `graph.source`; dispatches of constants alone move to it; what the rest
    reads of all this becomes results with a `graph.name`, which `graph.weight`
    reads. Equal constants and equal computations are shared. A name is the
    constant's location where it names one, else `w` and a number. Values that
    variables begin with are results, too, but for zeros. There is no `@init` if
    there is nothing of all this.

    Preconditions: kernels are functions that `graph.dispatch` ops name, and
    there is no `@init` yet.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numMoved", "moved", "Dispatches moved to @init">
  ];
}

def ApproximateMath : Pass<"approximate-math", "::mlir::ModuleOp"> {
  let summary = "Let functions be computed fast rather than accurately";
  let description = [{
    Sets `fastmath<afn>` on the ops exp, log, tanh, erf, sin, cos, pow and the like in
    kernels on the CPU, which says to code generation which of two ways to take
    (docs/math.md).

    Preconditions: kernels are lowered to linalg (`lower-kernels`).
  }];
  let statistics = [
    Statistic<"numApproximated", "num-approximated", "Ops that are computed fast">
  ];
}

def OrderByteGroups : Pass<"order-byte-groups", "::mlir::ModuleOp"> {
  let summary = "Find the int8 weights whose products fit into 16 bits";
  let description = [{
    Where the CPU that the module's `graph.cpu` names has no instruction for bytes,
    a product that reads panels of constant ones gets an operand more, if it costs
    less with that: for each panel, how many of its groups can be multiplied in 16
    bits up to each way to pair their bytes, and then the numbers of all groups in
    this order (`cpu.group_order`).

    Preconditions: weights lie as their readers want them (`lay-out-weights`), and
    each kernel function is named by one `graph.dispatch`.
  }];
  let dependentDialects = ["::tinh::cpu::CpuDialect"];
  let statistics = [
    Statistic<"numOrdered", "num-ordered", "Products with an order of groups">
  ];
}

def LayOutWeights : Pass<"lay-out-weights", "::mlir::ModuleOp"> {
  let summary = "Let weights lie as the matmuls that read them want them";
  let description = [{
    For the CPU that the module's `graph.cpu` names; kernels say how an argument
    lies in `cpu.layout`.

    A variable that products read as weights is stored packed, together with those
    that are updated at the same indices, if the functions then move fewer elements;
    kernels that update it work on packed memory. `graph.variable` names the type,
    the layout, and the kernels that pack and unpack what programs see.

    Kernels are split whose strategies want that. Then constants that products read
    are packed by kernels of their own, in as few layouts as leave each product, in
    all functions, nearly as fast as one of its own; so are weights that are
    computed, where that pays. Constant filters of 3 x 3 are transformed where
    Winograd's algorithms take less (`winograd`); gradients by filters say in
    `cpu.transforms` which of them they may have. Kernels on the GPU are split and
    get their weights as they want them.

    Preconditions: each kernel function is named by one `graph.dispatch`.
  }];
  let options = [
    Option<"plainVariables", "plain-variables", "bool", "false",
           "leave variables in their own types">,
    Option<"winograd", "winograd", "::tinh::cpu::AllowedTransforms",
           "::tinh::cpu::AllowedTransforms::Accurate",
           "transforms of filters that may be used",
           [{::llvm::cl::values(
               clEnumValN(::tinh::cpu::AllowedTransforms::None, "off", "none"),
               clEnumValN(::tinh::cpu::AllowedTransforms::Accurate, "accurate",
                          "those with at most about twice the error"),
               clEnumValN(::tinh::cpu::AllowedTransforms::Fast, "fast", "all"))}]>,
    Option<"remarks", "remarks", "bool", "false",
           "say which layouts of weights are shared, and which filters are "
           "transformed, and why">
  ];
  let dependentDialects = ["::tinh::cpu::CpuDialect", 
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numLaidOut", "num-laid-out", "Number of variables with a layout">
  ];
}

def ChooseStrategies : Pass<"choose-strategies", "::mlir::ModuleOp"> {
  let summary = "Decide how each kernel function's code is made";
  let description = [{
    Sets `graph.plan`, `graph.estimate` and `graph.inplace` of each kernel function,
    for the CPU that the module's `graph.cpu` names or, of kernels on the GPU, for
    its `graph.cuda`. The plan is the one that the table of the device's strategies
    says costs least; a kernel that has one keeps it.

    Preconditions: each kernel function is named by one `graph.dispatch`.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false",
           "say which plans of each kernel were considered">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::tinh::cuda::CudaDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect", "::tinh::cpu::CpuDialect"
  ];
}

def DivideKernels : Pass<"divide-kernels", "::mlir::ModuleOp"> {
  let summary = "Count the chunks of each kernel, and its scratch memory";
  let description = [{
    Sets `graph.chunks` and `graph.scratch` of each kernel function that has a plan,
    and `graph.threads` of those on the GPU: they follow from the plan. A plan that
    the kernel or the device does not allow is an error that says why.
  }];
}

def ScheduleCollectives : Pass<"schedule-collectives", "::mlir::ModuleOp"> {
  let summary = "Let collectives run beside other work, in buckets";
  let description = [{
    What depends on a `graph.all_reduce` or its like comes as late as it can, and
    reductions that are ready one after the other become one of a concatenation, in
    which kernels write their results, where that is sooner done: by estimates of
    the kernels, and a latency and a bandwidth of the network.

    Preconditions: phase `kernels`, strategies are chosen.
  }];
  let options = [
    Option<"latency", "latency", "double", "50",
           "Microseconds that a collective takes without bytes">,
    Option<"bandwidth", "bandwidth", "double", "1.25",
           "Gigabytes of an operand that it takes in a second">,
    Option<"cores", "cores", "double", "4", "That run the kernels, at 3 GHz">
  ];
  let statistics = [
    Statistic<"numBuckets", "buckets", "Buckets of several reductions">
  ];
}

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Turn dispatches into steps over planned memory";
  let description = [{
    All functions and `@init` become `plan.function`s: their dispatches become steps
    that wait for one another and name their operands as bytes of the inputs,
    the outputs, the weights or the arena. Views cost nothing, a result may lie
    where an operand did, and buffers share memory where the waits order their
    lives (compiler/Planning). Each result of `@init` becomes a `plan.weight`,
    each `graph.variable` a `plan.variable`, whose next value is written over
    the old one.

    Preconditions: phase `kernels`: function bodies consist of `graph.dispatch`,
    `graph.transfer`, `graph.weight`, collectives, branches, loops and the views
    `graph.reshape`, `graph.slice` and `graph.concat`, and kernels are divided.
  }];
  let dependentDialects = ["::tinh::plan::PlanDialect"];
}

def EmitKernels : Pass<"emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Show kernels as loops over vectors";
  let description = [{
    Replaces each kernel function by the loop nest that its strategy makes, over
    flat memrefs, a scratch buffer and a range of chunks; removes the rest. For
    graph-opt and tests: what is compiled calls the strategies a kernel at a time.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // TINH_CODEGEN_PASSES
