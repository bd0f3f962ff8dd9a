// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies | FileCheck %s --check-prefix=CHOOSE
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// What lanes and registers are used for where a simpler choice would be slow.

// One long padded line is cut, so that a chunk's slab stays in the cache.
// CHOOSE: func.func private @conv_0({{.*}}cpu.layout = #cpu.panels<{{.*}}graph.plan = #cpu.contraction<{{.*}}left = staged, right = packed>

// Of taps that are far apart, a slab has those of one line at a time.
// CHOOSE: func.func private @conv_1({{.*}}cpu.layout = #cpu.panels<{{.*}}graph.plan = #cpu.contraction<{{.*}}depth = 1, left = staged, right = packed>

// Rows lie along the loop that has more than one iteration.
// EMIT-LABEL: func.func @matmul_0(
// EMIT:         scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>

// Padding along the lanes masks the load.
// EMIT-LABEL: func.func @pad_0(
// EMIT:         arith.cmpi ult, {{.*}} : vector<16xindex>
// EMIT:         vector.maskedload
// EMIT:         arith.select

// A sum over rows keeps the sums of four registers of columns.
// EMIT-LABEL: func.func @reduce_0(
// EMIT:         scf.for {{.*}} iter_args({{.*}}) -> (vector<64xf32>)

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<1x6000x80xf32> {graph.name = "x"}, %k: tensor<40x1x32xf32> {graph.name = "k"},
                  %p: tensor<4x40xf32> {graph.name = "p"}, %r: tensor<50x128xf32> {graph.name = "r"},
                  %i: tensor<1x16x16x2048xf32> {graph.name = "i"})
      -> (tensor<1x6000x32xf32> {graph.name = "y"}, tensor<1x16x16x256xf32> {graph.name = "t"}, tensor<40x1x32xf32> {graph.name = "z"},
          tensor<4x50xf32> {graph.name = "u"}, tensor<128xf32> {graph.name = "v"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 30720> : tensor<32x80x3xf32>
    %f = graph.constant #graph.external<"w.bin", 34816, 18874368> : tensor<256x2048x3x3xf32>
    %m = graph.constant #graph.external<"w.bin", 30720, 4096> : tensor<32x32xf32>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<1x6000x80xf32>, tensor<32x80x3xf32>) -> tensor<1x6000x32xf32> {
      %c = graph.conv %a, %b strides [1] padding [1, 1] dilations [1] groups 1 channels_last
          : tensor<1x6000x80xf32>, tensor<32x80x3xf32> -> tensor<1x6000x32xf32>
      graph.yield %c : tensor<1x6000x32xf32>
    }
    %t = graph.kernel (%a = %i, %b = %f) : (tensor<1x16x16x2048xf32>, tensor<256x2048x3x3xf32>) -> tensor<1x16x16x256xf32> {
      %c = graph.conv %a, %b strides [1, 1] padding [12, 12, 12, 12] dilations [12, 12] groups 1 channels_last
          : tensor<1x16x16x2048xf32>, tensor<256x2048x3x3xf32> -> tensor<1x16x16x256xf32>
      graph.yield %c : tensor<1x16x16x256xf32>
    }
    %1 = graph.kernel (%a = %k, %b = %m) : (tensor<40x1x32xf32>, tensor<32x32xf32>) -> tensor<40x1x32xf32> {
      %c = graph.matmul %a, %b : tensor<40x1x32xf32>, tensor<32x32xf32> -> tensor<40x1x32xf32>
      graph.yield %c : tensor<40x1x32xf32>
    }
    %2 = graph.kernel (%a = %p) : (tensor<4x40xf32>) -> tensor<4x50xf32> {
      %z = graph.constant dense<1.0> : tensor<f32>
      %c = graph.pad %a, %z low [0, 3] high [0, 7] constant : tensor<4x40xf32>, tensor<f32> -> tensor<4x50xf32>
      graph.yield %c : tensor<4x50xf32>
    }
    %3 = graph.kernel (%a = %r) : (tensor<50x128xf32>) -> tensor<128xf32> {
      %c = graph.reduce sum %a axes [0] : tensor<50x128xf32> -> tensor<128xf32>
      graph.yield %c : tensor<128xf32>
    }
    return %0, %t, %1, %2, %3 : tensor<1x6000x32xf32>, tensor<1x16x16x256xf32>, tensor<40x1x32xf32>, tensor<4x50xf32>, tensor<128xf32>
  }
}
