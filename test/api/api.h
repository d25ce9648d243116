// SPDX-License-Identifier: MIT
// Tests of the driver API: one file an object, on public headers only, so that the same program runs on NVIDIA's driver and on ours.
//
//     static void
//     create(void)
//     {
//         CUcontext c;
//         expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, NULL, 0, 0);
//         if (succeed(cuCtxCreate_v2, &c, 0, device))
//             ok(c != NULL, "no context");
//         todo("flags are not checked yet") expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, &c, 0x80, device);
//         broken("answers success and writes nothing") expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetId, c, NULL);
//     }
//     API_MAIN(CASE(create))
//
// Every case runs in a process of its own, so a crash, a hang or a poisoned context ends only that case (and counts as a failure). libcuda.so.1
// is opened by name at the first call. An assertion is one ok, expect or succeed. The names of all calls made are counted.
#ifndef TEST_API_API_H
#define TEST_API_API_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include("polywarp/cuda.h")
#define POLYWARP_NO_RENAME // a name is the exported symbol of that name
#include "polywarp/cuda.h"
#else
#include <cuda.h>
#endif

// ---- calls ------------------------------------------------------------------------------------------
// Calls an entry point by its symbol. One that the library lacks answers API_MISSING, and HAVE tells beforehand.
#define CALL(fn, ...) API_CALL_(fn, __VA_ARGS__)
#define API_CALL_(fn, ...) (((__typeof__(&fn))api_entry(#fn))(__VA_ARGS__))
#define HAVE(fn) API_HAVE_(fn)
#define API_HAVE_(fn) api_have(#fn)
enum { API_MISSING = 0x7fffff00 };

// ---- assertions: all give the condition's value -----------------------------------------------------
#define ok(cond, ...) api_check(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
#define expect(want, fn, ...) EXPECT_(want, fn, __VA_ARGS__)
#define EXPECT_(want, fn, ...) api_result((want), CALL(fn, __VA_ARGS__), __FILE__, __LINE__, #fn "(" #__VA_ARGS__ ")")
#define succeed(fn, ...) expect(CUDA_SUCCESS, fn, __VA_ARGS__)
// For answers that depend on the machine or the version: any of two.
#define expect2(want, or_want, fn, ...) EXPECT2_(want, or_want, fn, __VA_ARGS__)
#define EXPECT2_(want, or_want, fn, ...)                                                                                                                       \
    api_result2((want), (or_want), CALL(fn, __VA_ARGS__), __FILE__, __LINE__, #fn "(" #__VA_ARGS__ ")")
#define eq(got, want) api_equal((long long)(got), (long long)(want), __FILE__, __LINE__, #got)

// Before an assertion or a block of them. todo: we are wrong; on ours they must all fail, on NVIDIA they must hold. broken: NVIDIA is
// odd; there a failure is counted, on ours they must hold.
#define todo(reason) for (int api_i_ = api_mark(API_TODO, (reason)); api_i_; api_i_ = api_mark(API_PLAIN, NULL))
#define broken(reason) for (int api_i_ = api_mark(API_BROKEN, (reason)); api_i_; api_i_ = api_mark(API_PLAIN, NULL))
#define skip(...) api_skip(__FILE__, __LINE__, __VA_ARGS__)
bool on_nvidia(void);

// ---- programs ---------------------------------------------------------------------------------------
// CASE: cuInit was called and the primary context of device 0 is current. RAW: nothing was called, libcuda.so.1 is not even loaded.
#define CASE(fn) {#fn, fn, false}
#define RAW(fn) {#fn, fn, true}
#define API_MAIN(...)                                                                                                                                          \
    int main(int argc, char **argv)                                                                                                                            \
    {                                                                                                                                                          \
        static const struct api_case cases[] = {__VA_ARGS__};                                                                                                  \
        return api_main(argc, argv, cases, sizeof cases / sizeof *cases);                                                                                      \
    }

extern CUdevice device;   // 0
extern CUcontext primary; // device's primary context, in a CASE

// Loads PTX text in the current context, or NULL (a failed assertion).
CUmodule api_module(const char *ptx);
CUfunction api_function(CUmodule m, const char *name);
// Runs this program again as another process: cases' function `name` (must be RAW) with `argument` in api_argument. Its assertions
// count here. api_spawn returns at once with the process id, api_join waits for it and asserts that it ended well.
// The child must not be made by fork after the first call; a pipe or a file made before it is inherited.
pid_t api_spawn(const char *name, const char *argument);
bool api_join(pid_t child);
extern const char *api_argument;
const char *api_code(CUresult r); // name of a code

// ---- behind the macros ------------------------------------------------------------------------------
struct api_case {
    const char *name;
    void (*fn)(void);
    bool raw;
};
enum api_marks { API_PLAIN, API_TODO, API_BROKEN };

void *api_entry(const char *symbol);
bool api_have(const char *symbol);
bool api_check(bool cond, const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool api_result(int want, int got, const char *file, int line, const char *what);
bool api_result2(int want, int or_want, int got, const char *file, int line, const char *what);
bool api_equal(long long got, long long want, const char *file, int line, const char *what);
int api_mark(enum api_marks mark, const char *reason); // 1 for a mark, 0 for its end
void api_skip(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int api_main(int argc, char **argv, const struct api_case *cases, size_t count);

#endif
