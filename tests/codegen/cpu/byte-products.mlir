// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: sed s/icelake-server/x86-64-v3/ %s | graph-opt --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s --check-prefix=EXTENDED
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=icelake-server -o - | FileCheck %s --check-prefix=VNNI
// RUN: graph-compile %s --from=fused --emit=llvm --cpu=x86-64-v3 -o - | FileCheck %s --check-prefix=PAIRS

// Weights lie in groups of four of what is summed over, 30 of them as 32.
// CHECK:       func.func private @matmul_0(%arg0: tensor<16x30xi8>,
// CHECK-SAME:    %arg1: tensor<2x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<30x40xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}
// Groups of a row of 30 bytes go beyond the last one: it is copied first.
// CHECK-SAME:    left = staged, right = packed

// Without an instruction for bytes, rows are extended once for all panels.
// EXTENDED:    func.func private @matmul_0(
// EXTENDED-SAME: left = extended, right = packed

// VNNI: llvm.x86.avx512.vpdpbusd.512
// PAIRS: llvm.x86.avx2.pmadd.wd

module attributes {graph.cpu = "icelake-server"} {
  func.func @main(%x: tensor<16x30xui8> {graph.name = "x"}) -> (tensor<16x40xi32> {graph.name = "y"}) {
    %w = graph.constant dense<1> : tensor<30x40xi8>
    %s = graph.constant dense<2> : tensor<30x1xi8>
    %v = graph.kernel (%p = %w, %q = %s) : (tensor<30x40xi8>, tensor<30x1xi8>) -> tensor<30x40xi8> {
      %1 = graph.add %p, %q : tensor<30x40xi8>, tensor<30x1xi8> -> tensor<30x40xi8>
      graph.yield %1 : tensor<30x40xi8>
    }
    %0 = graph.kernel (%p = %x, %q = %v) : (tensor<16x30xui8>, tensor<30x40xi8>) -> tensor<16x40xi32> {
      %y = graph.matmul %p, %q : tensor<16x30xui8>, tensor<30x40xi8> -> tensor<16x40xi32>
      graph.yield %y : tensor<16x40xi32>
    }
    return %0 : tensor<16x40xi32>
  }
}
