// SPDX-License-Identifier: MIT
// The compute capability told to a caller. NVIDIA's own libraries choose kernels that exist as PTX
// only for capabilities newer than their machine code, so they are told a newer one; everybody
// else, and code that passes the number to NVRTC, hears the device's.
#include "driver/driver.h"

#include <dlfcn.h>
#include <string.h>

enum { LIBRARY_CC = 130 };

// Beginnings of the file names of libraries that carry PTX for newer devices.
static const char *const libraries[] = {
    "libcublas.",   "libcublasLt.",   "libcudnn",     "libcufft.",    "libcurand.",
    "libcusolver.", "libcusolverMg.", "libcusparse.", "libcutensor.", "libnpp",
};

// Answers by address. Each entry holds an address with its lowest bit replaced by the answer; a
// lost race costs one more look-up.
enum { CACHE = 64 };
static atomic_uintptr_t cache[CACHE];

static bool
is_library(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strncmp(name, libraries[i], strlen(libraries[i])))
            return true;
    return false;
}

static bool
called_by_library(const void *caller)
{
    uintptr_t at = (uintptr_t)caller & ~(uintptr_t)1;
    atomic_uintptr_t *slot = &cache[(at >> 1) * 0x9e3779b97f4a7c15u >> 58];
    uintptr_t known = atomic_load_explicit(slot, memory_order_relaxed);
    if ((known & ~(uintptr_t)1) == at)
        return known & 1;
    Dl_info info;
    bool yes = dladdr(caller, &info) && info.dli_fname && is_library(info.dli_fname);
    atomic_store_explicit(slot, at | yes, memory_order_relaxed);
    return yes;
}

int
device_cc(const struct device *d, const void *caller)
{
    int cc = d->cc_major * 10 + d->cc_minor;
    return caller && cc < LIBRARY_CC && called_by_library(caller) ? LIBRARY_CC : cc;
}
