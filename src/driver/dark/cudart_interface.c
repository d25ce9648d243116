// SPDX-License-Identifier: MIT
// CUDART_INTERFACE: what the CUDA runtime asks beside the public interface: loading modules, the
// primary context of a device.
#include "driver/dark/dark.h"
#include "api_impl.h"

#define NAME "CUDART_INTERFACE"

static CUresult
load_module(CUmodule *out, const void *wrapper)
{
    return pw_cuModuleLoadFatBinary(out, wrapper);
}

static CUresult
load_module_later(CUmodule *out, const void *wrapper, void *a, void *b, unsigned flags)
{
    (void)a, (void)b, (void)flags;
    return load_module(out, wrapper);
}

static CUresult
load_module_header(const void *header, CUmodule *out, void *a, void *b, unsigned flags)
{
    (void)a, (void)b, (void)flags;
    return load_module(out, header);
}

// The handle of the primary context, without retaining or starting it.
static CUresult
primary_context(CUcontext *out, CUdevice dev)
{
    struct device *d = device_get(dev);
    if (!out || !d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", dev, process.ndevices);
    *out = (CUcontext)ctx_primary_handle(d);
    return CUDA_SUCCESS;
}

static void
take_size(size_t n)
{
    (void)n;
}

static CUresult
preload_compiler(void)
{
    return CUDA_SUCCESS;
}

DARK_UNKNOWN(NAME, 3)
DARK_UNKNOWN(NAME, 4)
DARK_UNKNOWN(NAME, 5)
DARK_UNKNOWN(NAME, 9)
DARK_UNKNOWN(NAME, 10)
DARK_UNKNOWN(NAME, 11)

enum { WORDS = 13 };
static const dark_word words[WORDS] = {
    DARK_SIZE(WORDS),           DARK_FN(load_module), DARK_FN(primary_context),
    DARK_FN(unknown_3),         DARK_FN(unknown_4),   DARK_FN(unknown_5),
    DARK_FN(load_module_later), DARK_FN(take_size),   DARK_FN(load_module_header),
    DARK_FN(unknown_9),         DARK_FN(unknown_10),  DARK_FN(unknown_11),
    DARK_FN(preload_compiler),
};

const struct dark_table dark_cudart_interface = {
    {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
     0xf9},
    NAME,
    words,
};
