// What kernels have to do, which phase llvm keeps of their functions over linalg:
// operations, and bytes that have to be read and written.

// RUN: graph-compile %s --emit=llvm -o - | FileCheck %s

func.func @main(%x: tensor<1x9x9x8xf32> {graph.name = "x"}, %k: tensor<16x8x1x1xf32> {graph.name = "k"},
                %m: tensor<6x16xf32> {graph.name = "m"}, %r: tensor<16x10xf32> {graph.name = "r"},
                %i: tensor<5xi64> {graph.name = "i"}, %t: tensor<1000x4xf32> {graph.name = "t"},
                %u: tensor<5x4xf32> {graph.name = "u"}, %p: tensor<1x8x8x3xf32> {graph.name = "p"})
    -> (tensor<6x10xf32> {graph.name = "y0"}, tensor<5x4xf32> {graph.name = "y1"},
        tensor<1x5x5x16xf32> {graph.name = "y2"}, tensor<1000x4xf32> {graph.name = "y3"},
        tensor<6x16xf32> {graph.name = "y4"}, tensor<6x16xf32> {graph.name = "y5"},
        tensor<6x4xbf16> {graph.name = "y6"}, tensor<1x4x4x3xf32> {graph.name = "y7"}) {
  // Multiply-adds are two operations each, and what follows is counted, too:
  // 6 · 10 · (2 · 16 + 1). (6 · 16 + 16 · 10 + 6 · 10) · 4 bytes.
  // CHECK: module @matmul_neg_0 {{.*}}plan.work = #plan.work<operations = 1980, bytes = 1264>
  %0 = graph.matmul %m, %r : tensor<6x16xf32>, tensor<16x10xf32> -> tensor<6x10xf32>
  %neg = graph.neg %0 : tensor<6x10xf32>
  // Of a table, the rows that are read: (2 · 5 · 4) · 4 + 5 · 8 bytes.
  // CHECK: module @gather_0 {{.*}}plan.work = #plan.work<operations = 0, bytes = 200>
  %1 = graph.gather %t, %i axis 0 : tensor<1000x4xf32>, tensor<5xi64> -> tensor<5x4xf32>
  // A stride leaves out three of four positions: 5 · 5 · 8 numbers are read.
  // CHECK: module @conv_0_pack {{.*}}plan.work = #plan.work<operations = 0, bytes = 1024>
  // CHECK: module @conv_0 {{.*}}plan.work = #plan.work<operations = 6400, bytes = 2912>
  %2 = graph.conv %x, %k strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_last
      : tensor<1x9x9x8xf32>, tensor<16x8x1x1xf32> -> tensor<1x5x5x16xf32>
  // One addition an update, and the rows that there are updates for.
  // CHECK: module @scatter_0 {{.*}}plan.work = #plan.work<operations = 20, bytes = 280>
  %3 = graph.scatter add %t, %i, %u axis 0 : tensor<1000x4xf32>, tensor<5xi64>, tensor<5x4xf32>
  // One addition an element.
  // CHECK: module @cumsum_0 {{.*}}plan.work = #plan.work<operations = 96, bytes = 768>
  %4 = graph.cumsum %m axis 1 : tensor<6x16xf32>
  // The largest, a difference, an exponential, a sum and a quotient.
  // CHECK: module @softmax_0 {{.*}}plan.work = #plan.work<operations = 480, bytes = 768>
  %5 = graph.softmax %m axis 1 : tensor<6x16xf32>
  // Conversions are none, and of a slice nothing else is read.
  // CHECK: module @slice_cast_0 {{.*}}plan.work = #plan.work<operations = 0, bytes = 144>
  %s = graph.slice %m starts [0, 0] sizes [6, 4] steps [1, 4] : tensor<6x16xf32> -> tensor<6x4xf32>
  %6 = graph.cast %s : tensor<6x4xf32> to tensor<6x4xbf16>
  // Nine taps each, those in the padding as well; they overlap, and no number is
  // read twice.
  // CHECK: module @max_pool_0 {{.*}}plan.work = #plan.work<operations = 432, bytes = 960>
  %7 = graph.max_pool %p kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] channels_last : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  return %neg, %1, %2, %3, %4, %5, %6, %7
      : tensor<6x10xf32>, tensor<5x4xf32>, tensor<1x5x5x16xf32>, tensor<1000x4xf32>,
        tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x4xbf16>, tensor<1x4x4x3xf32>
}
