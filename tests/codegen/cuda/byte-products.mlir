// RUN: graph-compile %s --target=cuda --emit=kernels -o - | FileCheck %s --check-prefix=PLAN
// RUN: graph-compile %s --target=cuda --emit=llvm -o - | FileCheck %s

// Weights that lie across the depth are turned before, as they are read often.
// PLAN:      func.func private @conv_mul_sub_dequantize_quantize_0_pack(%{{.*}}: tensor<128x64x3x3xi8>{{.*}}) -> tensor<128x3x3x64xi8>
// PLAN:      func.func private @conv_mul_sub_dequantize_quantize_0(%{{.*}}: tensor<8x28x28x64xi8>{{.*}}, %{{.*}}: tensor<128x3x3x64xi8>
// PLAN-SAME:   graph.plan = #cuda.contraction<tile = [64, 64], thread = [8, 4], depth = 64, loads = [16, 16], stores = 4, tensor_cores = <warp = [32, 32], stages = 4, loads = [16, 16], stores = 8>

// The padding, the zero point, is copied from where there are 16 of it.
// CHECK:       llvm.mlir.global internal constant @padding_5("\05\05\05\05\05\05\05\05\05\05\05\05\05\05\05\05") {addr_space = 1 : i32, alignment = 16 : i64}
// CHECK-LABEL: llvm.func @conv_mul_sub_dequantize_quantize_0(
// CHECK:         %[[PADDING:.*]] = llvm.mlir.addressof @padding_5 : !llvm.ptr<1>
// CHECK:         %[[CHIP:.*]] = llvm.call_intrinsic "llvm.nvvm.reflect"
// CHECK:         llvm.icmp "sge" %[[CHIP]]
// CHECK:         %[[FROM:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[PADDING]] : i1, !llvm.ptr<1>
// CHECK:         nvvm.cp.async.shared.global %{{.*}}, %[[FROM]], 16, cache =  cg
// CHECK:         nvvm.cp.async.wait.group 2
// CHECK-NEXT:    nvvm.barrier
// CHECK-NOT:     nvvm.barrier
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK:         nvvm.mma.sync {{.*}}intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>
// CHECK-SAME:      multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>

// Sums are dequantised, and quantised, in registers.
// CHECK:         nvvm.shfl.sync
// CHECK:         llvm.sub {{.*}} : vector<8xi32>
// CHECK:         llvm.sitofp {{.*}} : vector<8xi32> to vector<8xf32>
// CHECK-NOT:     llvm.store {{.*}}i32
// CHECK:         llvm.store {{.*}} : vector<8xi8>, !llvm.ptr

// Before sm_80 words of four bytes are multiplied.
// CHECK:         llvm.store {{.*}} : vector<4xi8>, !llvm.ptr<3>
// CHECK:         nvvm.barrier
// CHECK:         llvm.load {{.*}} : !llvm.ptr<3> -> vector<16xi8>
// CHECK:         nvvm.dot.accumulate.4way {{.*}} <unsigned>, {{.*}} <signed>, {{.*}} : vector<4xi8>, vector<4xi8>
// CHECK:         llvm.sitofp {{.*}} : vector<4xi32> to vector<4xf32>
// CHECK:         llvm.store {{.*}} : vector<4xi8>, !llvm.ptr
func.func @main(%x: tensor<8x28x28x64xui8> {graph.name = "x"}, %w: tensor<128x64x3x3xi8> {graph.name = "w"}) -> (tensor<8x28x28x128xui8> {graph.name = "y"}) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<5> : tensor<ui8>
  %0 = graph.dequantize %x scale %s zero_point %z : tensor<8x28x28x64xui8>, tensor<f32>, tensor<ui8> -> tensor<8x28x28x64xf32>
  %1 = graph.dequantize %w scale %s : tensor<128x64x3x3xi8>, tensor<f32> -> tensor<128x64x3x3xf32>
  %2 = graph.conv %0, %1 strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last : tensor<8x28x28x64xf32>, tensor<128x64x3x3xf32> -> tensor<8x28x28x128xf32>
  %3 = graph.quantize %2 scale %s zero_point %z : tensor<8x28x28x128xf32>, tensor<f32>, tensor<ui8> -> tensor<8x28x28x128xui8>
  return %3 : tensor<8x28x28x128xui8>
}
