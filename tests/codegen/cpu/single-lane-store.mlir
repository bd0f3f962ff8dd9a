// LLVM 22 makes four bytes of a masked store of one truncated lane, and so a
// store beyond the row: a lane that is alone is stored as a scalar.

// RUN: graph-compile %s --cpu=x86-64-v4 --emit=llvm | FileCheck %s

// CHECK-LABEL: llvm.func internal @matmul_0.body
// CHECK-NOT: masked.store
// CHECK: llvm.store %{{.*}} : vector<16xi16>
// CHECK-NOT: masked.store
// CHECK: %[[LANE:.*]] = llvm.extractelement %{{.*}}[%{{.*}} : i32] : vector<16xi16>
// CHECK: llvm.store %[[LANE]], %{{.*}} : i16
// CHECK-NOT: masked.store

func.func @main(%a: tensor<5x2x7x48xi16> {graph.name = "a"}, %b: tensor<5x1x7x17xi16> {graph.name = "b"}) -> (tensor<5x2x48x17xi16> {graph.name = "y"}) {
  %0 = graph.matmul %a, %b transpose_a : tensor<5x2x7x48xi16>, tensor<5x1x7x17xi16> -> tensor<5x2x48x17xi16>
  return %0 : tensor<5x2x48x17xi16>
}
