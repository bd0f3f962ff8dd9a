// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies > %t
// RUN: FileCheck %s < %t
// RUN: graph-opt %t --divide-kernels --emit-kernels | FileCheck %s --check-prefix=TILES
// RUN: sed 's/lanes = plain/lanes = sliding/; s/block = .24, 40./block = [40, 48]/' %t > %t.lanes
// RUN: not graph-opt %t.lanes --divide-kernels 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: sed 's/level = 0, sums = 2/level = 1, sums = 3/' %t > %t.sums
// RUN: not graph-opt %t.sums --divide-kernels 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: sed 's/"sapphirerapids"/"znver5"/' %t > %t.cpu
// RUN: not graph-opt %t.cpu --divide-kernels 2>&1 | FileCheck %s --check-prefix=CPU

// The gradient of weights sums pairs of positions in tiles of AMX.

// CHECK:       func.func private @conv_weight_gradient_0(
// CHECK-SAME:    graph.plan = #cpu.outer_products<lanes = plain, tile = [32, 32], {{.*}}, multiplier = amx>

// For each tap: rows and columns, both in two tiles.
// TILES-LABEL: func.func @conv_weight_gradient_0(
// TILES-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"

// LANES: 'lanes' must be plain and 'taps' 1, as tiles find each tap at a distance in the factor of the rows
// SUMS:  'sums' must divide {{[0-9]+}}, found 3
// CPU:   'multiplier' must be vectors, as znver5 has no tiles for the factors

module attributes {graph.cpu = "sapphirerapids"} {
  func.func @main(%x: tensor<2x16x16x48xbf16> {graph.name = "x"}, %dy: tensor<2x8x8x40xbf16> {graph.name = "dy"})
      -> (tensor<40x48x3x3xbf16> {graph.name = "dw"}) {
    %0 = graph.kernel (%a = %x, %b = %dy) : (tensor<2x16x16x48xbf16>, tensor<2x8x8x40xbf16>) -> tensor<40x48x3x3xbf16> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<2x16x16x48xbf16>, tensor<2x8x8x40xbf16> -> tensor<40x48x3x3xbf16>
      graph.yield %p : tensor<40x48x3x3xbf16>
    }
    return %0 : tensor<40x48x3x3xbf16>
  }
}
