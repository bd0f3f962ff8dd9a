// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Weights of 16 bits beside rows of f32 are packed as they are. For many rows a
// panel becomes f32 in cache first, once for as many as there are; few rows take it
// from registers.

// CHECK:       graph.dispatch @matmul_0_pack(%{{.*}}) : (tensor<256x512xbf16>) -> tensor<32x256x16xbf16>
// CHECK:       func.func private @matmul_0(%arg0: tensor<196x256xf32>,
// CHECK-SAME:    block = [1, 33, 1], depth = 256, left = in_place, right = copied>
// CHECK:       func.func private @matmul_1(%arg0: tensor<4x256xf32>,
// CHECK-SAME:    right = packed>

// So it is for taps, whose order in panels is no work of the kernel's.
// CHECK:       func.func private @conv_0(%arg0: tensor<1x14x14x256xf32>,
// CHECK-SAME:    left = staged, right = copied>

// EMIT-LABEL: func.func @matmul_0(
// EMIT:         arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// EMIT-NEXT:    vector.store
// EMIT:         vector.fma
// EMIT-NOT:     arith.extf
// EMIT-LABEL: func.func @matmul_1(
// EMIT:         arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// EMIT:         vector.fma

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @main(%x: tensor<196x256xf32> {graph.name = "x"}, %u: tensor<4x256xf32> {graph.name = "u"},
                  %v: tensor<1x14x14x256xf32> {graph.name = "v"})
      -> (tensor<196x512xf32> {graph.name = "y"}, tensor<4x512xf32> {graph.name = "z"},
          tensor<1x14x14x256xf32> {graph.name = "c"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 262144> : tensor<256x512xbf16>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<196x256xf32>, tensor<256x512xbf16>) -> tensor<196x512xf32> {
      %p = graph.matmul %a, %b : tensor<196x256xf32>, tensor<256x512xbf16> -> tensor<196x512xf32>
      graph.yield %p : tensor<196x512xf32>
    }
    %1 = graph.kernel (%a = %u, %b = %w) : (tensor<4x256xf32>, tensor<256x512xbf16>) -> tensor<4x512xf32> {
      %p = graph.matmul %a, %b : tensor<4x256xf32>, tensor<256x512xbf16> -> tensor<4x512xf32>
      graph.yield %p : tensor<4x512xf32>
    }
    %f = graph.constant #graph.external<"w.bin", 262144, 1179648> : tensor<256x256x3x3xbf16>
    %2 = graph.kernel (%a = %v, %b = %f) : (tensor<1x14x14x256xf32>, tensor<256x256x3x3xbf16>) -> tensor<1x14x14x256xf32> {
      %p = graph.conv %a, %b strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<1x14x14x256xf32>, tensor<256x256x3x3xbf16> -> tensor<1x14x14x256xf32>
      graph.yield %p : tensor<1x14x14x256xf32>
    }
    return %0, %1, %2 : tensor<196x512xf32>, tensor<4x512xf32>, tensor<1x14x14x256xf32>
  }
}
