// A fused kernel for GPUs, phase by phase (docs/cuda.md shows it).
//
// RUN: graph-compile %s --target=cuda --emit=kernels -o %t.kernels.mlir
// RUN: FileCheck %s --check-prefix=KERNELS < %t.kernels.mlir
// RUN: graph-opt --divide-kernels --emit-kernels %t.kernels.mlir | FileCheck %s --check-prefix=GPU
// RUN: graph-compile %s --target=cuda --emit=llvm -o - | FileCheck %s --check-prefix=NVVM

// KERNELS: graph.dispatch @add_relu_0
// KERNELS: func.func private @add_relu_0
// KERNELS-SAME: graph.device = "cuda", graph.inplace = [array<i64: 0, 0>], graph.plan = #cuda.threads<lanes = [4], threads = 256>

// Four elements a thread, of the 64000. What is written in place may not be read
// as if it were constant.
// GPU: gpu.func @add_relu_0(%[[X:.*]]: memref<64000xf32>, %[[B:.*]]: memref<1000xf32> {llvm.noalias, llvm.readonly}, %[[Y:.*]]: memref<64000xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// GPU: %[[UNITS:.*]] = arith.constant 16000 : index
// GPU: arith.cmpi ult, %{{.*}}, %[[UNITS]]
// GPU: vector.load %[[X]][%{{.*}}] : memref<64000xf32>, vector<4xf32>
// GPU: vector.load %[[B]][%{{.*}}] : memref<1000xf32>, vector<4xf32>
// GPU: arith.addf %{{.*}} : vector<4xf32>
// GPU: vector.store %{{.*}}, %[[Y]]

// Once the plan is there, vectors are known to be aligned.
// NVVM: llvm.func @add_relu_0
// NVVM-SAME: nvvm.kernel
// NVVM: nvvm.read.ptx.sreg.ctaid.x : i32
// NVVM-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// NVVM: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func @main(%x: tensor<64x1000xf32> {graph.name = "x"}, %b: tensor<1000xf32> {graph.name = "b"}) -> (tensor<64x1000xf32> {graph.name = "y"}) {
  %0 = graph.add %x, %b : tensor<64x1000xf32>, tensor<1000xf32> -> tensor<64x1000xf32>
  %1 = graph.relu %0 : tensor<64x1000xf32>
  return %1 : tensor<64x1000xf32>
}
