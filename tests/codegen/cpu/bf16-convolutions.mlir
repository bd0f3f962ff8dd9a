// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants --verify-diagnostics | FileCheck %s

// A slab has whole lines: taps of a column are no depth with the channels, whatever
// rows a tile has. So those of lines of eight are kept together, two lines at a time.

// CHECK:       func.func private @conv_0(
// CHECK-SAME:    #cpu.contraction<tile = [16, 32], {{.*}} multiplier = amx>

module attributes {graph.cpu = "sapphirerapids"} {
  func.func @main(%x: tensor<1x13x8x33xbf16> {graph.name = "x"}) -> (tensor<1x11x8x33xbf16> {graph.name = "y"}) {
    %w = graph.constant dense<1.0> : tensor<33x33x3x1xbf16>
    %s = graph.constant dense<2.0> : tensor<33x1x1x1xbf16>
    %v = graph.kernel (%p = %w, %q = %s) : (tensor<33x33x3x1xbf16>, tensor<33x1x1x1xbf16>) -> tensor<33x33x3x1xbf16> {
      %1 = graph.add %p, %q : tensor<33x33x3x1xbf16>, tensor<33x1x1x1xbf16> -> tensor<33x33x3x1xbf16>
      graph.yield %1 : tensor<33x33x3x1xbf16>
    }
    %0 = graph.kernel (%p = %x, %q = %v) : (tensor<1x13x8x33xbf16>, tensor<33x33x3x1xbf16>) -> tensor<1x11x8x33xbf16> {
      %y = graph.conv %p, %q strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last : tensor<1x13x8x33xbf16>, tensor<33x33x3x1xbf16> -> tensor<1x11x8x33xbf16>
      graph.yield %y : tensor<1x11x8x33xbf16>
    }
    return %0 : tensor<1x11x8x33xbf16>
  }
}
