// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s --check-prefix=CHOOSE
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Channels of constant weights come last, where lanes read them.
// CHOOSE-LABEL: func.func @init
// CHOOSE:         graph.dispatch @conv_relu_0_pack(%{{.*}}) : (tensor<32x1x3x3xf32>) -> tensor<3x3x32xf32>
// CHOOSE:       func.func private @conv_relu_0(
// CHOOSE-SAME:    tensor<3x3x32xf32>
// CHOOSE-SAME:    graph.plan = #cpu.windows<
// CHOOSE:       func.func private @max_pool_0(
// CHOOSE-SAME:    graph.plan = #cpu.windows<

// Padding that the reduction does not ignore stays: no line has a range of taps.
// CHOOSE:       func.func private @pad_max_pool_0(
// CHOOSE-SAME:    graph.plan = #cpu.windows<

// A line has 3 tiles: at the left border, a loop over those inside, at the right
// border. Rows of padding are skipped by the loop over the window's rows.
// EMIT-LABEL: func.func @conv_relu_0(
// EMIT-NOT:     scf.if
// EMIT:         scf.for
// EMIT:           scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// EMIT-COUNT-23:    arith.mulf
// EMIT:             scf.yield
// EMIT:         scf.for
// EMIT:           scf.for
// EMIT-COUNT-24:      arith.mulf
// EMIT:               scf.yield
// EMIT:         scf.for
// EMIT-COUNT-23:    arith.mulf
// EMIT:             scf.yield

// EMIT-LABEL: func.func @max_pool_0(
// EMIT:         arith.maximumf {{.*}} : vector<16xf32>
// EMIT:         vector.maskedstore

// EMIT-LABEL: func.func @pad_max_pool_0(
// EMIT:         scf.if

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<1x16x32x32xf32> {graph.name = "x"}, %p: tensor<1x9x9x20xf32> {graph.name = "p"})
      -> (tensor<1x16x32x32xf32> {graph.name = "y"}, tensor<1x5x5x20xf32> {graph.name = "z"},
          tensor<1x10x10x20xf32> {graph.name = "v"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 1152> : tensor<32x1x3x3xf32>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<1x16x32x32xf32>, tensor<32x1x3x3xf32>) -> tensor<1x16x32x32xf32> {
      %c = graph.conv %a, %b strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 32 channels_last
          : tensor<1x16x32x32xf32>, tensor<32x1x3x3xf32> -> tensor<1x16x32x32xf32>
      %d = graph.relu %c : tensor<1x16x32x32xf32>
      graph.yield %d : tensor<1x16x32x32xf32>
    }
    %1 = graph.kernel (%a = %p) : (tensor<1x9x9x20xf32>) -> tensor<1x5x5x20xf32> {
      %c = graph.max_pool %a kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] channels_last
          : tensor<1x9x9x20xf32> -> tensor<1x5x5x20xf32>
      graph.yield %c : tensor<1x5x5x20xf32>
    }
    %2 = graph.kernel (%a = %p) : (tensor<1x9x9x20xf32>) -> tensor<1x10x10x20xf32> {
      %z = graph.constant dense<0.0> : tensor<f32>
      %b = graph.pad %a, %z low [0, 1, 1, 0] high [0, 1, 1, 0] constant : tensor<1x9x9x20xf32>, tensor<f32> -> tensor<1x11x11x20xf32>
      %c = graph.max_pool %b kernel [2, 2] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] channels_last
          : tensor<1x11x11x20xf32> -> tensor<1x10x10x20xf32>
      graph.yield %c : tensor<1x10x10x20xf32>
    }
    return %0, %1, %2 : tensor<1x16x32x32xf32>, tensor<1x5x5x20xf32>, tensor<1x10x10x20xf32>
  }
}
