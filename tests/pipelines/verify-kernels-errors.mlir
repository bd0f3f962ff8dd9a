// Kernels that read what does not exist or was not computed, or that no code is
// made of, are refused when a module is read.
// RUN: rm -rf %t && split-file %s %t
// RUN: not graph-compile %t/index.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not graph-compile %t/below.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: not graph-compile %t/overflow.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not graph-compile %t/scatter.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=SCATTER
// RUN: graph-compile %t/folded.mlir --from=plan -o %t/out.so
// RUN: not graph-compile %t/unfolded.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=UNFOLDED
// RUN: not graph-compile %t/empty.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not graph-compile %t/unplanned.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=UNPLANNED
// RUN: not graph-compile %t/memory.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not graph-compile %t/element.mlir --from=kernels -o %t/out.so 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not graph-compile %t/op.mlir --from=kernels -o %t/out.so 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not graph-compile %t/inner.mlir --from=kernels -o %t/out.so 2>&1 | FileCheck %s --check-prefix=INNER
// RUN: not graph-compile %t/external.mlir --from=kernels -o %t/out.so 2>&1 | FileCheck %s --check-prefix=EXTERNAL

// A gather whose upper bound is one too high.
//--- index.mlir
// INDEX: index.mlir:{{.*}}: error: 'tensor.extract' op reads 'tensor<4x8xf32>' at an index in dimension 0 that may be anything from 0 to 4; limit it to [0, 4), as by arith.maxsi and arith.minsi
plan.function @main
    inputs("x": tensor<4x8xf32>, "i": tensor<2xi64>) outputs("y": tensor<2x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @gather chunks 1 scratch 0 reads(input 0[0 to 128], input 1[0 to 16]) writes(output 0[0 to 64])
}
func.func private @gather(%x: tensor<4x8xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32>
    attributes {graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 2>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %zero = arith.constant 0 : index
  %last = arith.constant 4 : index
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<2xi64>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %2 = arith.index_cast %in : i64 to index
    %3 = arith.maxsi %2, %zero : index
    %4 = arith.minsi %3, %last : index
    %5 = linalg.index 1 : index
    %6 = tensor.extract %x[%4, %5] : tensor<4x8xf32>
    linalg.yield %6 : f32
  } -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// One that lacks the lower bound.
//--- below.mlir
// BELOW: error: 'tensor.extract' op reads 'tensor<4x8xf32>' at an index in dimension 0 that may be anything from -9223372036854775808 to 3
plan.function @main
    inputs("x": tensor<4x8xf32>, "i": tensor<2xi64>) outputs("y": tensor<2x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @gather chunks 1 scratch 0 reads(input 0[0 to 128], input 1[0 to 16]) writes(output 0[0 to 64])
}
func.func private @gather(%x: tensor<4x8xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32>
    attributes {graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 2>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %last = arith.constant 3 : index
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<2xi64>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %2 = arith.index_cast %in : i64 to index
    %3 = arith.minsi %2, %last : index
    %4 = linalg.index 1 : index
    %5 = tensor.extract %x[%3, %4] : tensor<4x8xf32>
    linalg.yield %5 : f32
  } -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// One that would be in bounds if its sum never wrapped, as the text claims.
//--- overflow.mlir
// OVERFLOW: error: 'tensor.extract' op reads 'tensor<4x8xf32>' at an index in dimension 0 that may be anything from -9223372036854775808 to 3
plan.function @main
    inputs("x": tensor<4x8xf32>, "i": tensor<2xi64>) outputs("y": tensor<2x8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @gather chunks 1 scratch 0 reads(input 0[0 to 128], input 1[0 to 16]) writes(output 0[0 to 64])
}
func.func private @gather(%x: tensor<4x8xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32>
    attributes {graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 2>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.constant 3 : index
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<2xi64>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %2 = arith.index_cast %in : i64 to index
    %3 = arith.maxsi %2, %zero : index
    %4 = arith.addi %3, %one overflow<nsw> : index
    %5 = arith.minsi %4, %last : index
    %6 = linalg.index 1 : index
    %7 = tensor.extract %x[%5, %6] : tensor<4x8xf32>
    linalg.yield %7 : f32
  } -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// A scatter that may write behind its result.
//--- scatter.mlir
// SCATTER: error: kernel 'scatter' cannot be compiled: cannot be computed as #cpu.scatter<block = 4, units = 1>: it is no reduction into places that are computed and surely exist
plan.function @main
    inputs("x": tensor<4xf32>, "i": tensor<2xi64>, "u": tensor<2xf32>) outputs("y": tensor<4xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @scatter chunks 1 scratch 0 reads(input 0[0 to 16], input 1[0 to 16], input 2[0 to 8]) writes(output 0[0 to 16])
}
func.func private @scatter(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<4xf32>
    attributes {graph.plan = #cpu.scatter<block = 4, units = 1>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %zero = arith.constant 0 : i64
  %last = arith.constant 4 : i64
  %0 = tensor.empty() : tensor<2xi64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%i : tensor<2xi64>) outs(%0 : tensor<2xi64>) {
  ^bb0(%in: i64, %out: i64):
    %2 = arith.maxsi %in, %zero : i64
    %3 = arith.minsi %2, %last : i64
    linalg.yield %3 : i64
  } -> tensor<2xi64>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%1, %u : tensor<2xi64>, tensor<2xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%in: i64, %update: f32, %out: f32):
    %5 = linalg.index 0 : index
    %6 = arith.index_cast %5 : index to i64
    %7 = arith.cmpi eq, %in, %6 : i64
    %8 = arith.addf %out, %update : f32
    %9 = arith.select %7, %8, %out : f32
    linalg.yield %9 : f32
  } -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Conditions bound what is chosen by them: a reflection at both ends.
//--- folded.mlir
plan.function @main
    inputs("x": tensor<5xf32>) outputs("y": tensor<9xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @reflect chunks 1 scratch 0 reads(input 0[0 to 20]) writes(output 0[0 to 36])
}
func.func private @reflect(%x: tensor<5xf32>) -> tensor<9xf32>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %zero = arith.constant 0 : index
  %low = arith.constant 2 : index
  %extent = arith.constant 5 : index
  %period = arith.constant 8 : index
  %0 = tensor.empty() : tensor<9xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<9xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %2 = arith.subi %i, %low : index
    %3 = arith.remsi %2, %period : index
    %4 = arith.cmpi slt, %3, %zero : index
    %5 = arith.addi %3, %period : index
    %6 = arith.select %4, %5, %3 : index
    %7 = arith.cmpi slt, %6, %extent : index
    %8 = arith.subi %period, %6 : index
    %9 = arith.select %7, %6, %8 : index
    %10 = tensor.extract %x[%9] : tensor<5xf32>
    linalg.yield %10 : f32
  } -> tensor<9xf32>
  return %1 : tensor<9xf32>
}

// The same with a period that is too long.
//--- unfolded.mlir
// UNFOLDED: error: 'tensor.extract' op reads 'tensor<5xf32>' at an index in dimension 0 that may be anything from 0 to 5
plan.function @main
    inputs("x": tensor<5xf32>) outputs("y": tensor<9xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @reflect chunks 1 scratch 0 reads(input 0[0 to 20]) writes(output 0[0 to 36])
}
func.func private @reflect(%x: tensor<5xf32>) -> tensor<9xf32>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %zero = arith.constant 0 : index
  %low = arith.constant 2 : index
  %extent = arith.constant 5 : index
  %period = arith.constant 10 : index
  %0 = tensor.empty() : tensor<9xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<9xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %2 = arith.subi %i, %low : index
    %3 = arith.remsi %2, %period : index
    %4 = arith.cmpi slt, %3, %zero : index
    %5 = arith.addi %3, %period : index
    %6 = arith.select %4, %5, %3 : index
    %7 = arith.cmpi slt, %6, %extent : index
    %8 = arith.subi %period, %6 : index
    %9 = arith.select %7, %6, %8 : index
    %10 = tensor.extract %x[%9] : tensor<5xf32>
    linalg.yield %10 : f32
  } -> tensor<9xf32>
  return %1 : tensor<9xf32>
}

// A sum that begins with what nobody has set to 0.
//--- empty.mlir
// EMPTY: error: reads a tensor that nothing has computed, 'tensor<4xf32>'
plan.function @main
    inputs("x": tensor<4x8xf32>) outputs("y": tensor<4xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @sum chunks 1 scratch 0 reads(input 0[0 to 128]) writes(output 0[0 to 16])
}
func.func private @sum(%x: tensor<4x8xf32>) -> tensor<4xf32>
    attributes {graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 4>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.addf %out, %in : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

//--- unplanned.mlir
// UNPLANNED: error: kernel 'k' does not say in 'graph.plan' how it is computed
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 32]) writes(output 0[0 to 32])
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : tensor<8xf32>
}

// A kernel that no step dispatches is compiled, too.
//--- memory.mlir
// MEMORY: error: kernels compute on tensors with a static shape of i1, i8, i16, i32, i64, f16, bf16, f32 or f64, not 'memref<8xf32>'
plan.function @main
    inputs("x": tensor<8xf32>) outputs("y": tensor<8xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  plan.copy input 0[0 to 32] to output 0[0 to 32]
}
func.func private @k(%x: memref<8xf32>) -> memref<8xf32>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %x : memref<8xf32>
}

//--- element.mlir
// ELEMENT: error: kernels compute on tensors with a static shape of i1, i8, i16, i32, i64, f16, bf16, f32 or f64, not 'tensor<8xi7>'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>} {
  %0 = tensor.empty() : tensor<8xi7>
  return %x : tensor<8xf32>
}

//--- op.mlir
// OP: error: 'tensor.cast' does not belong in kernel 'k'
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>} {
  %0 = tensor.cast %x : tensor<8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- inner.mlir
// INNER: error: 'tensor.dim' does not belong in kernel 'k'
func.func @main(%x: tensor<8xi64> {graph.name = "x"}) -> (tensor<8xi64> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}
func.func private @k(%x: tensor<8xi64>) -> tensor<8xi64>
    attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>} {
  %zero = arith.constant 0 : index
  %0 = tensor.empty() : tensor<8xi64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<8xi64>) {
  ^bb0(%out: i64):
    %2 = tensor.dim %x, %zero : tensor<8xi64>
    %3 = arith.index_cast %2 : index to i64
    linalg.yield %3 : i64
  } -> tensor<8xi64>
  return %1 : tensor<8xi64>
}

//--- external.mlir
// EXTERNAL: error: kernel 'k' must have a body of one block
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
