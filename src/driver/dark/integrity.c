// SPDX-License-Identifier: MIT
// INTEGRITY_CHECK: the runtime asks for a digest over what the driver has told it (version, tables,
// devices) and refuses to start if the two sides disagree.
#include "driver/dark/dark.h"
#include "driver/dark/md2.h"
#include "api_impl.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static CUresult check(unsigned version, uint64_t seconds, uint64_t result[2]);

enum { WORDS = 3 };
static CUresult
unknown_2(void)
{
    return dark_unknown("INTEGRITY_CHECK", 2);
}

static const dark_word words[WORDS] = {DARK_SIZE(WORDS), DARK_FN(check), DARK_FN(unknown_2)};

const struct dark_table dark_integrity = {
    {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
     0xf2},
    "INTEGRITY_CHECK",
    words,
};

static void
add_u32(struct md2_hmac *h, uint32_t v)
{
    md2_hmac_add(h, &v, sizeof v);
}

static void
add_pointer(struct md2_hmac *h, const void *p)
{
    md2_hmac_add(h, &p, sizeof p);
}

static void
add_devices(struct md2_hmac *h)
{
    for (int i = 0; i < process.ndevices; i++) {
        const struct backend_props *p = process.device[i].props;
        md2_hmac_add(h, p->uuid, sizeof p->uuid);
        add_u32(h, (uint32_t)p->pci_domain);
        add_u32(h, (uint32_t)p->pci_bus);
        add_u32(h, (uint32_t)p->pci_device);
    }
}

static void
digest(unsigned version, uint64_t seconds, uint8_t out[MD2_SIZE])
{
    static const uint8_t key[MD2_SIZE] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                          0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
    int driver = 0;
    pw_cuDriverGetVersion(&driver);
    struct md2_hmac h;
    md2_hmac_begin(&h, key, sizeof key);
    add_u32(&h, (uint32_t)driver);
    add_u32(&h, version);
    add_u32(&h, (uint32_t)getpid());
    add_u32(&h, (uint32_t)(uintptr_t)pthread_self());
    add_pointer(&h, dark_cudart_interface.words);
    add_pointer(&h, words);
    add_pointer(&h, words[1]);
    md2_hmac_add(&h, &seconds, sizeof seconds);
    add_devices(&h);
    md2_hmac_end(&h, out);
}

static CUresult
check(unsigned version, uint64_t seconds, uint64_t result[2])
{
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    if (version % 10 < 2) { // fixed answers of older versions
        result[0] = version % 10 ? 0x1841181c03cb675c : 0x3341181c03cb675c;
        result[1] = 0x8ed383aa1f4cd1e8;
        return CUDA_SUCCESS;
    }
    uint8_t d[MD2_SIZE];
    digest(version, seconds, d);
    memcpy(result, d, sizeof d);
    return CUDA_SUCCESS;
}
