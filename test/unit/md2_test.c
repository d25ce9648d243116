// SPDX-License-Identifier: MIT
// MD2 against the test suite of RFC 1319, HMAC against values computed independently.
#include "driver/dark/md2.h"
#include "../check.h"

static void
hex(char *to, const uint8_t d[MD2_SIZE])
{
    for (int i = 0; i < MD2_SIZE; i++)
        sprintf(to + 2 * i, "%02x", d[i]);
}

static const char *
md2_of(const char *s, size_t piece)
{
    static char text[2 * MD2_SIZE + 1];
    struct md2 m = {{0}, {0}, {0}, 0};
    uint8_t d[MD2_SIZE];
    for (size_t n = strlen(s); n;) {
        size_t k = n < piece ? n : piece;
        md2_add(&m, s, k);
        s += k;
        n -= k;
    }
    md2_end(&m, d);
    hex(text, d);
    return text;
}

static const struct {
    const char *text, *digest;
} suite[] = {
    {"", "8350e5a3e24c153df2275c9f80692773"},
    {"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"},
    {"abc", "da853b0d3f88d99b30283a69e6ded6bb"},
    {"message digest", "ab4f496bfb2a530b219ff33031fe06b0"},
    {"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
     "da33def2a42df13975352846c30338cd"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "d5976f79d83d3a0dc9806c3c66f3efd8"},
};

static void
rfc1319_suite(void)
{
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++)
        CHECK_STR(md2_of(suite[i].text, 1000), suite[i].digest);
}

static void
pieces_do_not_matter(void)
{
    for (size_t piece = 1; piece < 20; piece++)
        CHECK_STR(md2_of(suite[6].text, piece), suite[6].digest);
}

static const char *
hmac_of(const char *key, const char *s)
{
    static char text[2 * MD2_SIZE + 1];
    struct md2_hmac h;
    uint8_t d[MD2_SIZE];
    md2_hmac_begin(&h, (const uint8_t *)key, strlen(key));
    md2_hmac_add(&h, s, strlen(s));
    md2_hmac_end(&h, d);
    hex(text, d);
    return text;
}

static void
hmac(void)
{
    CHECK_STR(hmac_of("Jefe", "what do ya want for nothing?"), "292f9d34f9e311846de86c495d7adfa2");
    CHECK_STR(hmac_of("0123456789abcdef", ""), "f2995430dcec61cdda5f9561e71c170b");
    CHECK_STR(hmac_of("", "abc"), "17b0f48a8ee89e4c7748890ea9d31b90");
}

CHECK_MAIN(T(rfc1319_suite), T(pieces_do_not_matter), T(hmac))
