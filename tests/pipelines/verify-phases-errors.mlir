// What does not belong in a phase is said with its place, when a module is read.
// RUN: rm -rf %t && split-file %s %t
// RUN: not graph-compile %t/graph-1.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH1
// RUN: not graph-compile %t/graph-2.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH2
// RUN: not graph-compile %t/graph-3.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH3
// RUN: not graph-compile %t/graph-4.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH4
// RUN: not graph-compile %t/graph-5.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH5
// RUN: not graph-compile %t/graph-6.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH6
// RUN: not graph-compile %t/graph-7.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH7
// RUN: not graph-compile %t/graph-8.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH8
// RUN: not graph-compile %t/graph-9.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH9
// RUN: not graph-compile %t/graph-10.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH10
// RUN: not graph-compile %t/graph-11.mlir --from=graph --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH11
// RUN: not graph-compile %t/optimised-1.mlir --from=optimised --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=OPTIMISED1
// RUN: not graph-compile %t/optimised-2.mlir --from=optimised --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=OPTIMISED2
// RUN: not graph-compile %t/optimised-3.mlir --from=optimised --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=OPTIMISED3
// RUN: not graph-compile %t/optimised-4.mlir --from=optimised --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=OPTIMISED4
// RUN: not graph-compile %t/fused-1.mlir --from=fused --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=FUSED1
// RUN: not graph-compile %t/fused-2.mlir --from=fused --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=FUSED2
// RUN: not graph-compile %t/kernels-1.mlir --from=kernels --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS1
// RUN: not graph-compile %t/kernels-2.mlir --from=kernels --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS2
// RUN: not graph-compile %t/kernels-3.mlir --from=kernels --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS3
// RUN: not graph-compile %t/kernels-4.mlir --from=kernels --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS4
// RUN: not graph-compile %t/kernels-5.mlir --from=kernels --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS5
// RUN: not graph-compile %t/kernels-6.mlir --from=kernels --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS6
// RUN: not graph-compile %t/plan-1.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN1
// RUN: not graph-compile %t/plan-2.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN2
// RUN: not graph-compile %t/plan-3.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN3
// RUN: not graph-compile %t/plan-4.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN4
// RUN: not graph-compile %t/plan-5.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN5
// RUN: not graph-compile %t/plan-6.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN6
// RUN: not graph-compile %t/plan-7.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN7
// RUN: not graph-compile %t/plan-8.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN8
// RUN: not graph-compile %t/plan-9.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN9
// RUN: not graph-compile %t/plan-10.mlir --from=plan --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN10
// RUN: not graph-compile %t/llvm-1.mlir --from=llvm --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM1
// RUN: not graph-compile %t/llvm-2.mlir --from=llvm --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM2
// RUN: not graph-compile %t/llvm-3.mlir --from=llvm --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM3
// RUN: not graph-compile %t/llvm-4.mlir --from=llvm --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM4
// RUN: not graph-compile %t/llvm-5.mlir --from=llvm --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM5
// RUN: not graph-compile %t/llvm-6.mlir --from=llvm --emit=so -o %t/out.so 2>&1 | FileCheck %s --check-prefix=LLVM6

//--- graph-1.mlir
// GRAPH1: {{:[0-9]+:[0-9]+}}: error: {{.*}}the module has no function to run, such as @main
module {}

//--- graph-2.mlir
// GRAPH2: {{:[0-9]+:[0-9]+}}: error: {{.*}}@main must have a body of one block
func.func @main(%x: tensor<8xf32>) {
  return
^never:
  return
}

//--- graph-3.mlir
// GRAPH3: {{:[0-9]+:[0-9]+}}: error: {{.*}}argument 0 of @main has no graph.name
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {graph.name = "y"}) {
  return %x : tensor<8xf32>
}

//--- graph-4.mlir
// GRAPH4: {{:[0-9]+:[0-9]+}}: error: {{.*}}result 0 of @main has no graph.name
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32>) {
  return %x : tensor<8xf32>
}

//--- graph-5.mlir
// GRAPH5: {{:[0-9]+:[0-9]+}}: error: {{.*}}two arguments of @main are called "x"
func.func @main(%x: tensor<8xf32> {graph.name = "x"}, %y: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  return %x : tensor<8xf32>
}

//--- graph-6.mlir
// GRAPH6: {{:[0-9]+:[0-9]+}}: error: {{.*}}argument 0 of @main ("x") is 'tensor<?xf32>', not a tensor of numbers with a static shape
func.func @main(%x: tensor<?xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = tensor.cast %x : tensor<?xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- graph-7.mlir
// GRAPH7: {{:[0-9]+:[0-9]+}}: error: {{.*}}result 0 of @main ("y") is 'index', not a tensor of numbers with a static shape
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (index {graph.name = "y"}) {
  %0 = arith.constant 1 : index
  return %0 : index
}

//--- graph-8.mlir
// GRAPH8: {{:[0-9]+:[0-9]+}}: error: {{.*}}argument 0 of @main ("x") has 9 dimensions; at most 8 are supported
func.func @main(%x: tensor<1x1x1x1x1x1x1x1x8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.reshape %x : tensor<1x1x1x1x1x1x1x1x8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- graph-9.mlir
// GRAPH9: {{:[0-9]+:[0-9]+}}: error: {{.*}}'tensor<4611686018427387904x4xf32>' is beyond any memory
func.func @main(%x: tensor<4611686018427387904x4xf32> {graph.name = "x"}) -> (tensor<4611686018427387904x4xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<4611686018427387904x4xf32>
  return %0 : tensor<4611686018427387904x4xf32>
}

//--- graph-10.mlir
// GRAPH10: {{:[0-9]+:[0-9]+}}: error: 'arith.addf' does not belong in @helper in phase 'graph'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @helper(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- graph-11.mlir
// GRAPH11: {{:[0-9]+:[0-9]+}}: error: 'arith.addf' does not belong in @init in phase 'graph'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @init() -> tensor<8xf32> {
  %0 = graph.constant dense<1.0> : tensor<8xf32>
  %1 = arith.addf %0, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

//--- optimised-1.mlir
// OPTIMISED1: {{:[0-9]+:[0-9]+}}: error: {{.*}}'arith.addf' does not belong in @main in phase 'optimised'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = arith.addf %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- optimised-2.mlir
// OPTIMISED2: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.conv_transpose' does not belong in @main in phase 'optimised'
func.func @main(%x: tensor<1x2x4xf32> {graph.name = "x"}, %w: tensor<2x3x2xf32> {graph.name = "w"}) -> (tensor<1x3x8xf32> {graph.name = "y"}) {
  %0 = graph.conv_transpose %x, %w strides [2] padding [0, 0] output_padding [0] dilations [1] groups 1 channels_first : tensor<1x2x4xf32>, tensor<2x3x2xf32> -> tensor<1x3x8xf32>
  return %0 : tensor<1x3x8xf32>
}

//--- optimised-3.mlir
// OPTIMISED3: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.stop_gradient' does not belong in @main in phase 'optimised'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.stop_gradient %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- optimised-4.mlir
// OPTIMISED4: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.dropout' does not belong in @main in phase 'optimised'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dropout %x ratio 0.5 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- fused-1.mlir
// FUSED1: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.relu' does not belong in @main in phase 'fused'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- fused-2.mlir
// FUSED2: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.relu' does not belong in @main in phase 'fused'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.scan %i length 3 carry (%a = %x) : (tensor<8xf32>) -> (tensor<8xf32>) {
    %1 = graph.relu %a : tensor<8xf32>
    graph.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

//--- kernels-1.mlir
// KERNELS1: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.relu' does not belong in @main in phase 'kernels'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- kernels-2.mlir
// KERNELS2: {{:[0-9]+:[0-9]+}}: error: {{.*}}there is no kernel function 'k'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- kernels-3.mlir
// KERNELS3: {{:[0-9]+:[0-9]+}}: error: {{.*}}kernel 'k' does not say in 'graph.plan' how it is computed
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- kernels-4.mlir
// KERNELS4: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.inplace' names input 0 and result 3 of a function with 1 and 1
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>, graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 3>]} {
  return %x : tensor<8xf32>
}

//--- kernels-5.mlir
// KERNELS5: {{:[0-9]+:[0-9]+}}: error: {{.*}}'graph.relu' does not belong in @init in phase 'kernels'
func.func @init(%x: tensor<8xf32> {graph.source = dense<1.0> : tensor<8xf32>}) -> (tensor<8xf32> {graph.name = "w"}) {
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  return %x : tensor<8xf32>
}

//--- kernels-6.mlir
// KERNELS6: {{:[0-9]+:[0-9]+}}: error: {{.*}}argument 0 of @init has no graph.source with its value
func.func @init(%x: tensor<8xf32>) -> (tensor<8xf32> {graph.name = "w"}) {
  return %x : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  return %x : tensor<8xf32>
}

//--- plan-1.mlir
// PLAN1: {{:[0-9]+:[0-9]+}}: error: {{.*}}the module has no plan.function to run
module {
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}
}

//--- plan-2.mlir
// PLAN2: {{:[0-9]+:[0-9]+}}: error: {{.*}}kernel 'k' is no function over linalg
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {}

//--- plan-3.mlir
// PLAN3: {{:[0-9]+:[0-9]+}}: error: {{.*}}arena[2 to 34] does not begin at a multiple of 4 bytes
plan.function @main
    inputs("x": tensor<8xf32>) outputs()
    arena 64 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(arena[2 to 34])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-4.mlir
// PLAN4: {{:[0-9]+:[0-9]+}}: error: {{.*}}lies at 8, not at a multiple of 64
plan.weight "w0" at 8 : tensor<8xf32>
plan.function @init
    inputs("c" = dense<1.0> : tensor<8xf32>) outputs("w0": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-5.mlir
// PLAN5: {{:[0-9]+:[0-9]+}}: error: {{.*}}overlaps the weight before it
plan.weight "w0" at 0 : tensor<8xf32>
plan.weight "w1" at 0 : tensor<8xf32>
plan.function @init
    inputs("c" = dense<1.0> : tensor<8xf32>) outputs("w0": tensor<8xf32>, "w1": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
  %1 = plan.copy input 0[0 to 32] to output 1[0 to 32]
}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-6.mlir
// PLAN6: {{:[0-9]+:[0-9]+}}: error: {{.*}}is not what @init has as an output in its place
plan.weight "w0" at 0 : tensor<8xf32>
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-7.mlir
// PLAN7: {{:[0-9]+:[0-9]+}}: error: {{.*}}is not what @init has as an output in its place
plan.weight "w0" at 0 : tensor<4xf32>
plan.function @init
    inputs("c" = dense<1.0> : tensor<8xf32>) outputs("w0": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-8.mlir
// PLAN8: {{:[0-9]+:[0-9]+}}: error: {{.*}}has 1 outputs more than there are weights
plan.weight "w0" at 0 : tensor<8xf32>
plan.function @init
    inputs("c" = dense<1.0> : tensor<8xf32>) outputs("w0": tensor<8xf32>, "w1": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
  %1 = plan.copy input 0[0 to 32] to output 1[0 to 32]
}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-9.mlir
// PLAN9: {{:[0-9]+:[0-9]+}}: error: {{.*}}input "c" of @init has no value
plan.weight "w0" at 0 : tensor<8xf32>
plan.function @init
    inputs("c": tensor<8xf32>) outputs("w0": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.copy input 0[0 to 32] to output 0[0 to 32]
}
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- plan-10.mlir
// PLAN10: {{:[0-9]+:[0-9]+}}: error: {{.*}}'tensor<4611686018427387904x4xf32>' is beyond any memory
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<4611686018427387904x4xf32>)
    arena 0 unplanned 0 lower_bound 0 {
}

//--- llvm-1.mlir
// LLVM1: {{:[0-9]+:[0-9]+}}: error: {{.*}}kernel 'k' is no module of LLVM functions
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

//--- llvm-2.mlir
// LLVM2: {{:[0-9]+:[0-9]+}}: error: {{.*}}has no function 'k' of (buffers, scratch, first chunk, last chunk)
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {}

//--- llvm-3.mlir
// LLVM3: {{:[0-9]+:[0-9]+}}: error: {{.*}}has no function 'k' of (buffers, scratch, first chunk, last chunk)
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  llvm.func @k(%x: !llvm.ptr) {
    llvm.return
  }
}

//--- llvm-4.mlir
// LLVM4: {{:[0-9]+:[0-9]+}}: error: {{.*}}does not say in 'plan.operands' what memory its operands are: {{.*}} of the 1 that it reads and the 1 that it writes, with constant strides
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
                      plan.operands = (memref<8xf32>) -> ()} {
  llvm.func @k(%x: !llvm.ptr, %y: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}

//--- llvm-5.mlir
// LLVM5: {{:[0-9]+:[0-9]+}}: error: {{.*}}'plan.work' must be a #plan.work<…>, found 8 : i64
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
                      plan.operands = (memref<8xf32>) -> memref<8xf32>,
                      plan.work = 8 : i64} {
  llvm.func @k(%x: !llvm.ptr, %y: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}

//--- llvm-6.mlir
// LLVM6: {{:[0-9]+:[0-9]+}}: error: {{.*}}the work of a kernel is no less than 0, found 8 operations and -64 bytes
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64,
                      plan.operands = (memref<8xf32>) -> memref<8xf32>,
                      plan.work = #plan.work<operations = 8, bytes = -64>} {
  llvm.func @k(%x: !llvm.ptr, %y: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
