/*===- tinh/status.h - What calls of the runtime return -----------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * How all functions of the API say what went wrong; tinh/runtime.h says how to
 * read it, and includes this header.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_STATUS_H
#define TINH_STATUS_H

#if defined(__GNUC__)
#define TINH_API __attribute__((visibility("default")))
#else
#define TINH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tinh_status {
  TINH_OK = 0,
  TINH_INVALID_ARGUMENT = 1, /* The call itself is wrong. */
  TINH_NOT_FOUND = 2,        /* No such file, function or tensor. */
  TINH_INVALID_ARTIFACT = 3, /* Not an artifact, or damaged. */
  TINH_INCOMPATIBLE = 4,     /* An artifact for another version, CPU or GPU. */
  TINH_OUT_OF_MEMORY = 5,
  TINH_IO_ERROR = 6,
  TINH_BUSY = 7,              /* As many runs in flight as are allowed. */
  TINH_CANCELLED = 8,         /* The run was cancelled before it started. */
  TINH_DEPENDENCY_FAILED = 9, /* A run that this one waits for failed. */
  TINH_ALREADY_STARTED = 10,  /* Too late to cancel or to settle. */
  TINH_INTERNAL = 11,         /* A defect of the runtime. */
  TINH_INVALID_FILE = 12,     /* Damaged, or of another model. */
  TINH_NOT_FINITE = 13,   /* A NaN or infinity, where they are looked for. */
  TINH_NO_DEVICE = 14,    /* No CUDA driver, or no GPU. */
  TINH_DEVICE_ERROR = 15, /* What the GPU or its driver says has failed. */
  TINH_COLLECTIVE_FAILED = 16 /* A rank has died, hangs or has given up. */
} tinh_status_t;

/* The message of the latest call on this thread that did not return TINH_OK;
 * empty if there was none. Valid until the next such call on this thread. */
TINH_API const char *tinh_last_error(void);

/* The name of a status ("TINH_BUSY"); never NULL. */
TINH_API const char *tinh_status_name(tinh_status_t status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_STATUS_H */
