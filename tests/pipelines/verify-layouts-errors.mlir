// What a module says of a variable's layout must agree.
// RUN: rm -rf %t && split-file %s %t
// RUN: not graph-opt %t/elements.mlir 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// RUN: not graph-opt %t/kernel.mlir 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not graph-opt %t/plan-elements.mlir 2>&1 | FileCheck %s --check-prefix=PLAN-ELEMENTS
// RUN: not graph-opt %t/kernels-chunks.mlir --plan-memory 2>&1 | FileCheck %s --check-prefix=KERNELS-CHUNKS
// RUN: not graph-opt %t/kernels-scratch.mlir --plan-memory 2>&1 | FileCheck %s --check-prefix=KERNELS-SCRATCH
// RUN: not graph-compile %t/plan-kernel.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN-KERNEL
// RUN: not graph-compile %t/plan-type.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN-TYPE
// RUN: not graph-compile %t/plan-chunks.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN-CHUNKS
// RUN: not graph-compile %t/plan-scratch.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN-SCRATCH
// RUN: not graph-compile %t/plan-lowered.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN-LOWERED
// RUN: not graph-compile %t/llvm-linalg.mlir --from=llvm -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM-LINALG
// RUN: not graph-compile %t/llvm-empty.mlir --from=llvm -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM-EMPTY
// RUN: not graph-compile %t/llvm-operands.mlir --from=llvm -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM-OPERANDS
// RUN: not graph-compile %t/llvm-dynamic.mlir --from=llvm -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM-DYNAMIC
// RUN: not graph-compile %t/llvm-negative.mlir --from=llvm -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM-NEGATIVE

//--- elements.mlir
// ELEMENTS: 'graph.variable' op is stored as 'tensor<1x4x16xf64>', with other elements than it has
graph.variable "w" = dense<0.0> : tensor<4x10xf32> stored tensor<1x4x16xf64> pack @p unpack @u

//--- kernel.mlir
// KERNEL: 'graph.variable' op there is no kernel function 'u' from 'tensor<1x4x16xf32>' to 'tensor<4x10xf32>'
graph.variable "w" = dense<0.0> : tensor<4x10xf32> stored tensor<1x4x16xf32> pack @p unpack @u
func.func private @p(tensor<4x10xf32>) -> tensor<1x4x16xf32>
func.func private @u(tensor<1x4x16xf32>) -> tensor<4x16xf32>

//--- plan-elements.mlir
// PLAN-ELEMENTS: 'plan.variable' op has a layout with other elements than its own, or kernels of no chunks
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 0, unpack @u chunks 1>

//--- kernels-chunks.mlir
// KERNELS-CHUNKS: kernel 'p', which variable "w" goes through, must have graph.chunks and graph.scratch = 0
graph.variable "w" = dense<0.0> : tensor<4x10xf32> stored tensor<1x4x16xf32> pack @p unpack @u
func.func @main(%w: tensor<1x4x16xf32> {graph.variable = "w"}) -> (tensor<1x4x16xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @copy(%w) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
  return %0 : tensor<1x4x16xf32>
}
func.func private @copy(%0: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
func.func private @p(%0: tensor<4x10xf32>) -> tensor<1x4x16xf32> attributes {graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- kernels-scratch.mlir
// KERNELS-SCRATCH: kernel 'p', which variable "w" goes through, must have graph.chunks and graph.scratch = 0
graph.variable "w" = dense<0.0> : tensor<4x10xf32> stored tensor<1x4x16xf32> pack @p unpack @u
func.func @main(%w: tensor<1x4x16xf32> {graph.variable = "w"}) -> (tensor<1x4x16xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @copy(%w) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
  return %0 : tensor<1x4x16xf32>
}
func.func private @copy(%0: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
func.func private @p(%0: tensor<4x10xf32>) -> tensor<1x4x16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 64 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- plan-kernel.mlir
// PLAN-KERNEL: 'plan.variable' op there is no kernel 'p' from 'tensor<4x10xf32>' to 'tensor<1x4x16xf32>'
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- plan-type.mlir
// PLAN-TYPE: 'plan.variable' op there is no kernel 'p' from 'tensor<4x10xf32>' to 'tensor<1x4x16xf32>'
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
func.func private @p(%0: tensor<4x10xf32>) -> tensor<1x4x32xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<1x4x32xf32>
  return %1 : tensor<1x4x32xf32>
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- plan-chunks.mlir
// PLAN-CHUNKS: 'plan.variable' op kernel 'p' has graph.chunks = 1, not 2
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 2, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
func.func private @p(%0: tensor<4x10xf32>) -> tensor<1x4x16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- plan-scratch.mlir
// PLAN-SCRATCH: 'plan.variable' op kernel 'p' has graph.scratch = 64, not 0
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
func.func private @p(%0: tensor<4x10xf32>) -> tensor<1x4x16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 64 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- plan-lowered.mlir
// PLAN-LOWERED: kernel 'p' is no function over linalg
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
module @p attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<4x10xf32>) -> (memref<1x4x16xf32>)} {
  llvm.func @p(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
func.func private @u(%0: tensor<1x4x16xf32>) -> tensor<4x10xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- llvm-linalg.mlir
// LLVM-LINALG: kernel 'p' is no module of LLVM functions
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
func.func private @p(%0: tensor<4x10xf32>) -> tensor<1x4x16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %1 = tensor.empty() : tensor<1x4x16xf32>
  return %1 : tensor<1x4x16xf32>
}
module @u attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<1x4x16xf32>) -> (memref<4x10xf32>)} {
  llvm.func @u(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}

//--- llvm-empty.mlir
// LLVM-EMPTY: has no function 'p' of (buffers, scratch, first chunk, last chunk)
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
module @p attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<4x10xf32>) -> (memref<1x4x16xf32>)} {
}
module @u attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<1x4x16xf32>) -> (memref<4x10xf32>)} {
  llvm.func @u(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}

//--- llvm-operands.mlir
// LLVM-OPERANDS: does not say in 'plan.operands' what memory its operands are: {{.*}} of the 1 that it reads and the 1 that it writes, with constant strides
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
module @p attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<4x10xf32>, memref<4x10xf32>) -> (memref<1x4x16xf32>)} {
  llvm.func @p(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
module @u attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<1x4x16xf32>) -> (memref<4x10xf32>)} {
  llvm.func @u(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}

//--- llvm-dynamic.mlir
// LLVM-DYNAMIC: does not say in 'plan.operands' what memory its operands are: {{.*}} of the 1 that it reads and the 1 that it writes, with constant strides
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
module @p attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<4x10xf32, strided<[?, 1]>>) -> (memref<1x4x16xf32>)} {
  llvm.func @p(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
module @u attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<1x4x16xf32>) -> (memref<4x10xf32>)} {
  llvm.func @u(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}

//--- llvm-negative.mlir
// LLVM-NEGATIVE: does not say in 'plan.operands' what memory its operands are: {{.*}} of the 1 that it reads and the 1 that it writes, with constant strides
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @u chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
module @p attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<4x10xf32, strided<[10, -1]>>) -> (memref<1x4x16xf32>)} {
  llvm.func @p(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
module @u attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
    plan.operands = (memref<1x4x16xf32>) -> (memref<4x10xf32>)} {
  llvm.func @u(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
