// What a module says of a variable's layout must agree.
// RUN: rm -rf %t && split-file %s %t
// RUN: not graph-opt %t/elements.mlir 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// RUN: not graph-opt %t/kernel.mlir 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not graph-opt %t/plan-elements.mlir 2>&1 | FileCheck %s --check-prefix=PLAN-ELEMENTS
// RUN: not graph-compile %t/plan-kernel.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN-KERNEL

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

//--- plan-kernel.mlir
// PLAN-KERNEL: kernel 'p' does not exist
plan.variable "w" : tensor<4x10xf32> layout <tensor<1x4x16xf32>, pack @p chunks 1, unpack @p chunks 1>
plan.function @step
    inputs("w": tensor<1x4x16xf32> variable)
    outputs()
    arena 0 unplanned 0 lower_bound 0 {
}
