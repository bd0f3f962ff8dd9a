// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=icelake-server -o - | FileCheck %s --check-prefix=PERMUTE
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=x86-64-v3 -o - | FileCheck %s --check-prefix=SHIFT

// Words of four bytes along the depth lie in panels, scales do, too.
// CHECK:       func.func private @unpack_int4_dequantize_reshape_matmul_0(
// CHECK-SAME:    tensor<1x2x4x64x4xi8> {cpu.layout = #cpu.panels<of = tensor<2x16x64xi8>, order = [0, 1, 2], batch = 0, width = 64, group = 4>}
// CHECK-SAME:    tensor<1x2x1x64xf32>
// CHECK-SAME:    left = in_place, right = packed

// A table has the number for each four bits, less the zero point.
// PERMUTE:     llvm.x86.avx512.permvar.sf.512

// Without, the highest bit of each number is flipped: that subtracts 8.
// SHIFT-NOT:   permvar
// SHIFT:       llvm.xor {{.*}} : vector<8xi32>
// SHIFT:       llvm.shl {{.*}} : vector<8xi32>
// SHIFT:       llvm.ashr {{.*}} : vector<8xi32>
// SHIFT:       llvm.sitofp {{.*}} : vector<8xi32> to vector<8xf32>

module attributes {graph.cpu = "icelake-server"} {
  func.func @main(%x: tensor<1x64xf32> {graph.name = "x"}) -> (tensor<1x64xf32> {graph.name = "y"}) {
    %b = graph.constant dense<18> : tensor<2x16x64xui8>
    %s = graph.constant dense<0.5> : tensor<2x1x64xf32>
    %c = graph.constant dense<1> : tensor<2x16x1xui8>
    %d = graph.constant dense<0.25> : tensor<2x1x1xf32>
    %w = graph.kernel (%p = %b, %q = %c) : (tensor<2x16x64xui8>, tensor<2x16x1xui8>) -> tensor<2x16x64xui8> {
      %1 = graph.add %p, %q : tensor<2x16x64xui8>, tensor<2x16x1xui8> -> tensor<2x16x64xui8>
      graph.yield %1 : tensor<2x16x64xui8>
    }
    %t = graph.kernel (%p = %s, %q = %d) : (tensor<2x1x64xf32>, tensor<2x1x1xf32>) -> tensor<2x1x64xf32> {
      %1 = graph.add %p, %q : tensor<2x1x64xf32>, tensor<2x1x1xf32> -> tensor<2x1x64xf32>
      graph.yield %1 : tensor<2x1x64xf32>
    }
    %0 = graph.kernel (%p = %x, %q = %w, %r = %t) : (tensor<1x64xf32>, tensor<2x16x64xui8>, tensor<2x1x64xf32>) -> tensor<1x64xf32> {
      %z = graph.constant dense<8> : tensor<ui8>
      %1 = graph.unpack_int4 %q axis 1 : tensor<2x16x64xui8> -> tensor<2x32x64xui8>
      %2 = graph.dequantize %1 scale %r zero_point %z : tensor<2x32x64xui8>, tensor<2x1x64xf32>, tensor<ui8> -> tensor<2x32x64xf32>
      %3 = graph.reshape %2 : tensor<2x32x64xf32> to tensor<64x64xf32>
      %y = graph.matmul %p, %3 : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
      graph.yield %y : tensor<1x64xf32>
    }
    return %0 : tensor<1x64xf32>
  }
}
