// SPDX-License-Identifier: MIT
// The process: cuInit, the driver's version, fork and the end.
#include "driver/driver.h"
#include "api_impl.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DRIVER_VERSION = 13000 };

struct process process;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static CUresult init_result = CUDA_ERROR_NOT_INITIALIZED; // of the first attempt that ended

// A backend answers CUresult's numbers.
_Static_assert((int)BE_OUT_OF_MEMORY == (int)CUDA_ERROR_OUT_OF_MEMORY, "");
_Static_assert((int)BE_INVALID_VALUE == (int)CUDA_ERROR_INVALID_VALUE, "");
_Static_assert((int)BE_NO_BINARY == (int)CUDA_ERROR_NO_BINARY_FOR_GPU, "");
_Static_assert((int)BE_INVALID_PTX == (int)CUDA_ERROR_INVALID_PTX, "");
_Static_assert((int)BE_UNSUPPORTED_PTX == (int)CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "");
_Static_assert((int)BE_JIT_FAILED == (int)CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "");
_Static_assert((int)BE_OPERATING_SYSTEM == (int)CUDA_ERROR_OPERATING_SYSTEM, "");
_Static_assert((int)BE_NOT_FOUND == (int)CUDA_ERROR_NOT_FOUND, "");
_Static_assert((int)BE_NOT_READY == (int)CUDA_ERROR_NOT_READY, "");
_Static_assert((int)BE_ILLEGAL_ADDRESS == (int)CUDA_ERROR_ILLEGAL_ADDRESS, "");
_Static_assert((int)BE_LAUNCH_OUT_OF_RESOURCES == (int)CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "");
_Static_assert((int)BE_LAUNCH_TIMEOUT == (int)CUDA_ERROR_LAUNCH_TIMEOUT, "");
_Static_assert((int)BE_ASSERT == (int)CUDA_ERROR_ASSERT, "");
_Static_assert((int)BE_HARDWARE_STACK == (int)CUDA_ERROR_HARDWARE_STACK_ERROR, "");
_Static_assert((int)BE_ILLEGAL_INSTRUCTION == (int)CUDA_ERROR_ILLEGAL_INSTRUCTION, "");
_Static_assert((int)BE_MISALIGNED == (int)CUDA_ERROR_MISALIGNED_ADDRESS, "");
_Static_assert((int)BE_INVALID_PC == (int)CUDA_ERROR_INVALID_PC, "");
_Static_assert((int)BE_LAUNCH_FAILED == (int)CUDA_ERROR_LAUNCH_FAILED, "");
_Static_assert((int)BE_NOT_SUPPORTED == (int)CUDA_ERROR_NOT_SUPPORTED, "");
_Static_assert((int)BE_UNKNOWN == (int)CUDA_ERROR_UNKNOWN, "");

// Backends' worker threads do not exist in a forked child, and their locks may be held for ever.
static void
forked_child(void)
{
    if (!process.initialised)
        return;
    process.forked = true;
    process.initialised = false;
}

static void
read_compute_capability(int *major, int *minor)
{
    const char *text = opt_text(OPT_COMPUTE_CAPABILITY);
    if (sscanf(text, "%d.%d", major, minor) == 2 && *major >= 2 && *major < 100 && *minor >= 0 &&
        *minor <= 9)
        return;
    log_error("compute capability \"%s\" is not of the form 12.1; 12.1 is used", text);
    *major = 12;
    *minor = 1;
}

static CUresult
init_process(void)
{
    log_init();
    const char *why = "";
    if (!backends_init(opt_text(OPT_DEVICE), &why))
        return fail(CUDA_ERROR_NO_DEVICE, "POLYWARP_DEVICE=%s: %s", opt_text(OPT_DEVICE), why);
    int major, minor;
    read_compute_capability(&major, &minor);
    for (int i = 0; i < process.ndevices; i++) {
        process.device[i].cc_major = major;
        process.device[i].cc_minor = minor;
    }
    process.pid = getpid();
    pthread_atfork(NULL, NULL, forked_child);
    return CUDA_SUCCESS;
}

CUresult
pw_cuInit(unsigned flags)
{
    if (process.deinitialised)
        return CUDA_ERROR_DEINITIALIZED;
    if (process.forked)
        return fail(CUDA_ERROR_NOT_INITIALIZED, "the parent used CUDA before it forked");
    if (flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags %u, must be 0", flags);
    pthread_mutex_lock(&init_lock);
    if (init_result == CUDA_ERROR_NOT_INITIALIZED) {
        init_result = init_process();
        process.initialised = init_result == CUDA_SUCCESS;
    }
    CUresult r = init_result;
    pthread_mutex_unlock(&init_lock);
    return r;
}

CUresult
pw_cuDriverGetVersion(int *version)
{
    if (!version)
        return fail(CUDA_ERROR_INVALID_VALUE, "version is NULL");
    *version = DRIVER_VERSION;
    return CUDA_SUCCESS;
}

static void
report_live(void)
{
    static const char *const name[OBJ_TYPES] = {
        [OBJ_CONTEXT] = "contexts",       [OBJ_MODULE] = "modules",
        [OBJ_LIBRARY] = "libraries",      [OBJ_KERNEL] = "kernels",
        [OBJ_FUNCTION] = "functions",     [OBJ_STREAM] = "streams",
        [OBJ_EVENT] = "events",           [OBJ_GRAPH] = "graphs",
        [OBJ_GRAPH_EXEC] = "graph execs", [OBJ_GRAPH_NODE] = "graph nodes",
        [OBJ_POOL] = "memory pools",      [OBJ_LINK] = "linker states",
        [OBJ_ARRAY] = "arrays",           [OBJ_TEXTURE] = "textures",
        [OBJ_USER] = "user objects",
    };
    for (int t = 1; t < OBJ_TYPES; t++)
        if (object_live(t))
            fprintf(stderr, "polywarp: %u %s left alive\n", object_live(t), name[t]);
}

// Runs when the process ends or the library is unloaded. Other threads may still be inside calls
// and kernels in flight, so nothing is freed: calls are refused from here on and the backends stop
// their workers.
__attribute__((destructor)) static void
process_end(void)
{
    if (!process.initialised || process.deinitialised)
        return;
    process.deinitialised = true;
    process.initialised = false;
    backends_shutdown();
    if (opt_bool(OPT_DEBUG_EXIT))
        report_live();
}
