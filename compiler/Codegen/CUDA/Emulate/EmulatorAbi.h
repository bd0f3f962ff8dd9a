//===- EmulatorAbi.h - Between emulated kernels and emulators ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emulated kernels are the optimised code of GPU kernels, compiled for the CPU
// as an ELF shared object. It exports kImageSymbol, an Image, and calls the
// functions below for all that a CPU has not: an emulator defines them and
// calls Kernel::entry once for each thread of each block, on a stack of its
// own.
//
// Operations of a warp name the lanes that take part in a mask, as on the GPU,
// and complete when all of these are there. Operands and results of several
// registers are arrays of 32-bit words, in the order of the PTX instruction.
//
// Sites count the barriers of a kernel, and apart from them the waits for
// asynchronous copies, in the order of its code: an emulator can leave one out.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_EMULATE_EMULATORABI_H
#define TINH_CODEGEN_CUDA_EMULATE_EMULATORABI_H

#include <cstdint>

namespace tinh::emulator {

inline constexpr char kImageSymbol[] = "tinh_emu_image";
inline constexpr uint32_t kImageVersion = 3;

struct Parameter {
  uint32_t size;    // Bytes.
  uint32_t pointer; // 1: an address in global memory.
};

struct Kernel {
  const char *name;
  const Parameter *parameters;
  /// Runs one thread; gets the address of each parameter.
  void (*entry)(void *const *parameters);
  uint32_t numParameters;
  uint32_t numBarriers;
  uint32_t numWaits;
  /// Bytes at the beginning of a block's shared memory that belong to variables
  /// of the code; dynamic shared memory follows.
  uint32_t staticShared;
};

struct Image {
  uint32_t version; // kImageVersion
  uint32_t numKernels;
  const Kernel *kernels;
};

/// Where dynamic shared memory begins, and so staticShared, is a multiple of
/// it.
inline constexpr uint32_t kSharedAlignment = 1024;

enum class Register : uint32_t { TidX, NtidX, CtaidX, NctaidX, Laneid };
enum class Shuffle : uint32_t { Up, Down, Butterfly, Index };
/// Types of a matrix product's factors, of bytes those of A and B; its sums are
/// f32, or of bytes i32.
enum class Multiply : uint32_t { F16, Bf16, Tf32, U8U8, U8S8, S8U8, S8S8 };
enum class Rounded : uint32_t { Add, Multiply, Fma, Divide, Sqrt };
enum class Rounding : uint32_t { Zero, Down, Up };

extern "C" {
uint32_t tinh_emu_register(Register which);
/// The shared memory of the block.
char *tinh_emu_shared();
/// Before each load from it, and after each store.
void tinh_emu_shared_read(const void *address, uint32_t size);
void tinh_emu_shared_wrote(const void *address, uint32_t size);

/// Waits for all threads of the block.
void tinh_emu_barrier(uint32_t site, uint32_t barrier);

/// The lower half is the value, the upper one whether it is another lane's.
uint64_t tinh_emu_shuffle(Shuffle mode, uint32_t mask, uint32_t value,
                          uint32_t lane, uint32_t clamp);
/// The lanes whose predicate is 1.
uint32_t tinh_emu_ballot(uint32_t mask, uint32_t predicate);

/// Bytes from `read` on are zeros.
void tinh_emu_copy_async(void *shared, const void *global, uint32_t size,
                         uint32_t read);
void tinh_emu_copy_commit();
/// Until at most `groups` are on their way.
void tinh_emu_copy_wait(uint32_t site, uint32_t groups);

/// ldmatrix.m8n8 of `count` matrices of b16.
void tinh_emu_load_matrix(const void *row, uint32_t count, uint32_t transposed,
                          uint32_t *result);
/// mma.m16n8k`depth`: operands are A, B and C.
void tinh_emu_multiply(Multiply kind, uint32_t depth, const uint32_t *operands,
                       uint32_t *result);
/// wgmma.m64n`columns`k16 of f16 or bf16, or k32 of bytes: descriptors of both
/// factors, and which of them lie across the depth.
void tinh_emu_multiply_warpgroup(Multiply kind, uint32_t columns,
                                 uint32_t rowsAcross, uint32_t columnsAcross,
                                 uint64_t rows, uint64_t columnsAt,
                                 uint32_t *sums);

uint32_t tinh_emu_permute(uint32_t low, uint32_t high, uint32_t selector);
float tinh_emu_rounded_f32(Rounded operation, Rounding rounding, float a,
                           float b, float c);
double tinh_emu_rounded_f64(Rounded operation, Rounding rounding, double a,
                            double b, double c);
}

} // namespace tinh::emulator

#endif // TINH_CODEGEN_CUDA_EMULATE_EMULATORABI_H
