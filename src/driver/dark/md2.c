// SPDX-License-Identifier: MIT
// MD2 as RFC 1319 describes it, HMAC as RFC 2104 does. Not for security: MD2 is broken.
#include "driver/dark/md2.h"

#include <string.h>

// A permutation made of the digits of pi.
static const uint8_t substitute[256] = {
    41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167, 5,
    243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,  253, 212,
    224, 22,  103, 66,  111, 24,  138, 23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160,
    251, 245, 142, 187, 47,  238, 122, 169, 104, 121, 145, 21,  178, 7,   63,  148, 194, 16,  137,
    11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,  53,  62,  204, 231, 191, 247, 151,
    3,   255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,  172, 86,  170, 198, 79,  184,
    56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,  100,
    113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,   27,  96,  37,  173, 174, 176, 185, 246,
    28,  70,  97,  105, 52,  64,  126, 15,  85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249,
    206, 186, 197, 234, 38,  44,  83,  13,  110, 133, 40,  132, 9,   211, 223, 205, 244, 65,  129,
    77,  82,  106, 220, 55,  200, 108, 193, 171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120,
    136, 149, 139, 227, 99,  232, 109, 233, 203, 213, 254, 59,  0,   29,  57,  242, 239, 183, 14,
    102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,  49,  68,  80,  180, 143, 237, 31,
    26,  219, 153, 141, 51,  159, 17,  131, 20,
};

static void
absorb(struct md2 *m, const uint8_t block[MD2_SIZE])
{
    uint8_t last = m->checksum[MD2_SIZE - 1];
    for (int i = 0; i < MD2_SIZE; i++) {
        last = m->checksum[i] ^= substitute[block[i] ^ last];
        m->state[16 + i] = block[i];
        m->state[32 + i] = block[i] ^ m->state[i];
    }
    unsigned t = 0;
    for (unsigned round = 0; round < 18; round++) {
        for (int i = 0; i < 48; i++)
            t = m->state[i] ^= substitute[t];
        t = (t + round) & 255;
    }
}

void
md2_add(struct md2 *m, const void *data, size_t size)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++) {
        m->block[m->fill++] = p[i];
        if (m->fill == MD2_SIZE) {
            absorb(m, m->block);
            m->fill = 0;
        }
    }
}

// Pads with n bytes of value n, 1 to 16 of them, and adds the checksum.
void
md2_end(struct md2 *m, uint8_t digest[MD2_SIZE])
{
    uint8_t pad[MD2_SIZE], checksum[MD2_SIZE];
    unsigned n = MD2_SIZE - m->fill;
    memset(pad, (int)n, n);
    md2_add(m, pad, n);
    memcpy(checksum, m->checksum, MD2_SIZE);
    md2_add(m, checksum, MD2_SIZE);
    memcpy(digest, m->state, MD2_SIZE);
}

static void
add_key(struct md2 *m, const uint8_t key[MD2_SIZE], uint8_t with)
{
    uint8_t block[MD2_SIZE];
    for (int i = 0; i < MD2_SIZE; i++)
        block[i] = key[i] ^ with;
    md2_add(m, block, MD2_SIZE);
}

void
md2_hmac_begin(struct md2_hmac *h, const uint8_t *key, size_t size)
{
    memset(h, 0, sizeof *h);
    memcpy(h->key, key, size < MD2_SIZE ? size : MD2_SIZE);
    add_key(&h->inner, h->key, 0x36);
}

void
md2_hmac_add(struct md2_hmac *h, const void *data, size_t size)
{
    md2_add(&h->inner, data, size);
}

void
md2_hmac_end(struct md2_hmac *h, uint8_t digest[MD2_SIZE])
{
    struct md2 outer = {{0}, {0}, {0}, 0};
    md2_end(&h->inner, digest);
    add_key(&outer, h->key, 0x5c);
    md2_add(&outer, digest, MD2_SIZE);
    md2_end(&outer, digest);
}
