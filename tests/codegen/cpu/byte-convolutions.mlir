// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants > %t
// RUN: FileCheck %s < %t
// RUN: graph-opt %t --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Two lines of seven rows share the columns that tiles of AMX load.

// CHECK:       func.func private @conv_0(
// CHECK-SAME:    #cpu.contraction<tile = [14, 32], {{.*}} left = staged, right = packed, multiplier = amx>

// Bytes are staged as many at a time as a vector has, a part of the next panel is
// brought near with each step, and taps of a line are one depth with the channels:
// their loop is for the lines alone.
// EMIT-LABEL:  func.func @conv_0(
// EMIT:          vector.store {{.*}} vector<64xi8>
// EMIT-COUNT-4:  "llvm.x86.tilezero.internal"
// EMIT-NEXT:     scf.for {{.*}} iter_args
// EMIT:          scf.for {{.*}} iter_args
// EMIT-NOT:      scf.for
// EMIT-COUNT-8:  memref.prefetch {{.*}} read, locality<2>
// EMIT-COUNT-4:  "llvm.x86.tdpbusd.internal"

module attributes {graph.cpu = "sapphirerapids"} {
  func.func @main(%x: tensor<1x7x7x64xui8> {graph.name = "x"}) -> (tensor<1x7x7x128xi32> {graph.name = "y"}) {
    %w = graph.constant dense<1> : tensor<128x64x3x3xi8>
    %s = graph.constant dense<2> : tensor<128x1x1x1xi8>
    %v = graph.kernel (%p = %w, %q = %s) : (tensor<128x64x3x3xi8>, tensor<128x1x1x1xi8>) -> tensor<128x64x3x3xi8> {
      %1 = graph.add %p, %q : tensor<128x64x3x3xi8>, tensor<128x1x1x1xi8> -> tensor<128x64x3x3xi8>
      graph.yield %1 : tensor<128x64x3x3xi8>
    }
    %0 = graph.kernel (%p = %x, %q = %v) : (tensor<1x7x7x64xui8>, tensor<128x64x3x3xi8>) -> tensor<1x7x7x128xi32> {
      %y = graph.conv %p, %q strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last : tensor<1x7x7x64xui8>, tensor<128x64x3x3xi8> -> tensor<1x7x7x128xi32>
      graph.yield %y : tensor<1x7x7x128xi32>
    }
    return %0 : tensor<1x7x7x128xi32>
  }
}
