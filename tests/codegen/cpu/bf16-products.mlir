// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: sed s/znver5/sapphirerapids/ %s | graph-opt --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s --check-prefixes=CHECK,AMX
// RUN: sed s/znver5/cooperlake/ %s | graph-opt --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s --check-prefix=SLOW
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=znver5 -o - | FileCheck %s --check-prefix=DOTS
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=sapphirerapids -o - | FileCheck %s --check-prefix=TILES
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=cooperlake -o - | FileCheck %s --check-prefix=FMAS

// Weights lie in pairs of what is summed over, 31 rows as 16 of these. Pairs of a
// row of 31 numbers go beyond the last one: it is copied first, and ends with a
// zero.
// CHECK:       func.func private @matmul_0(%arg0: tensor<64x31xbf16>,
// CHECK-SAME:    %arg1: tensor<2x16x32x2xbf16> {cpu.layout = #cpu.panels<of = tensor<31x40xbf16>, order = [0, 1], batch = 0, width = 32, group = 2>}
// CHECK-SAME:    left = staged, right = packed
// AMX-SAME:      multiplier = amx

// A left factor that lies across the depth is turned, and the right one gets its
// pairs by a kernel before.
// CHECK:       func.func private @matmul_cast_0_pack(%arg0: tensor<256x128xbf16>) -> tensor<128x256xbf16>
// CHECK-SAME:    #cpu.transpose<
// CHECK:       func.func private @matmul_cast_0_pack_{{.*}}(%arg0: tensor<256x512xbf16>) -> tensor<16x128x32x2xbf16>
// CHECK-SAME:    #cpu.transpose<
// CHECK:       func.func private @matmul_cast_0(%arg0: tensor<128x256xbf16>,
// CHECK-SAME:    group = 2>
// AMX-SAME:      multiplier = amx

// Where an instruction for pairs takes four times as long as an FMA, these have f32.
// SLOW-NOT:    group = 2

// DOTS: llvm.x86.avx512bf16.dpbf16ps.512
// DOTS-SAME: (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// TILES: llvm.x86.tdpbf16ps.internal
// FMAS-NOT: dpbf16ps
// FMAS: llvm.intr.fmuladd
// FMAS-NOT: dpbf16ps

module attributes {graph.cpu = "znver5"} {
  func.func @main(%x: tensor<64x31xbf16> {graph.name = "x"}, %u: tensor<256x128xbf16> {graph.name = "u"},
                  %v: tensor<256x512xbf16> {graph.name = "v"})
      -> (tensor<64x40xbf16> {graph.name = "y"}, tensor<128x512xf32> {graph.name = "z"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 2480> : tensor<31x40xbf16>
    %0 = graph.kernel (%p = %x, %q = %w) : (tensor<64x31xbf16>, tensor<31x40xbf16>) -> tensor<64x40xbf16> {
      %y = graph.matmul %p, %q : tensor<64x31xbf16>, tensor<31x40xbf16> -> tensor<64x40xbf16>
      graph.yield %y : tensor<64x40xbf16>
    }
    %1 = graph.kernel (%p = %u, %q = %v) : (tensor<256x128xbf16>, tensor<256x512xbf16>) -> tensor<128x512xf32> {
      %y = graph.matmul %p, %q transpose_a : tensor<256x128xbf16>, tensor<256x512xbf16> -> tensor<128x512xbf16>
      %f = graph.cast %y : tensor<128x512xbf16> to tensor<128x512xf32>
      graph.yield %f : tensor<128x512xf32>
    }
    return %0, %1 : tensor<64x40xbf16>, tensor<128x512xf32>
  }
}
