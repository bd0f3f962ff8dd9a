// REQUIRES: cuda-toolkit
// RUN: graph-compile %s --target=cuda --emit=ptx -o - | FileCheck %s

// 128 bits at a time, through the cache for constants where nothing is written;
// functions of libdevice are there, none is left to a linker; square roots and
// quotients are rounded as IEEE 754 says.
// CHECK-NOT: .extern .func
// CHECK: .entry
// CHECK: .maxntid 256
// CHECK: ld.global.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: sqrt.rn.f32
// CHECK: ex2.approx
// CHECK: div.rn.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: .extern .func
func.func @main(%x: tensor<64x1000xf32> {graph.name = "x"}, %b: tensor<1000xf32> {graph.name = "b"}) -> (tensor<64x1000xf32> {graph.name = "y"}) {
  %0 = graph.add %x, %b : tensor<64x1000xf32>, tensor<1000xf32> -> tensor<64x1000xf32>
  %1 = graph.sqrt %0 : tensor<64x1000xf32>
  %2 = graph.exp %1 : tensor<64x1000xf32>
  %3 = graph.div %2, %0 : tensor<64x1000xf32>, tensor<64x1000xf32> -> tensor<64x1000xf32>
  return %3 : tensor<64x1000xf32>
}
