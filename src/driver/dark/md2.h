// SPDX-License-Identifier: MIT
// MD2 (RFC 1319) and HMAC (RFC 2104) with it.
#ifndef DRIVER_DARK_MD2_H
#define DRIVER_DARK_MD2_H

#include <stddef.h>
#include <stdint.h>

enum { MD2_SIZE = 16 }; // bytes of a block and of a digest

// A zeroed struct is ready for md2_add.
struct md2 {
    uint8_t state[48], checksum[MD2_SIZE], block[MD2_SIZE];
    unsigned fill; // bytes in `block`
};

void md2_add(struct md2 *m, const void *data, size_t size);
void md2_end(struct md2 *m, uint8_t digest[MD2_SIZE]);

// Keys of at most one block.
struct md2_hmac {
    struct md2 inner;
    uint8_t key[MD2_SIZE];
};

void md2_hmac_begin(struct md2_hmac *h, const uint8_t *key, size_t size);
void md2_hmac_add(struct md2_hmac *h, const void *data, size_t size);
void md2_hmac_end(struct md2_hmac *h, uint8_t digest[MD2_SIZE]);

#endif
