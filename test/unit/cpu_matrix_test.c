// SPDX-License-Identifier: MIT
// Matrix instructions without a kernel around them: what no H200 can record (block scaling, formats
// of fewer than 8 bits, 8-bit ldmatrix and stmatrix) against the ISA's formulas in double
// precision, on numbers whose sums are exact; and the loops for each kind of processor against the
// plain calculation, on any numbers.
#include "check.h"

#include "backend/cpu/matrix_tile.h"

enum { IN = 24, OUT = 8 };
static lanes_t in[IN], out[OUT];
static uint64_t state;

static uint32_t
random32(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) ^ (uint32_t)(state >> 17);
}

static struct matrix_warp
warp(void)
{
    static struct matrix_room *room;
    if (!room)
        room = matrix_room_new();
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    return (struct matrix_warp){.room = room, .active = UINT32_MAX};
}

// ---- block scaling
// --------------------------------------------------------------------------------
struct small_float {
    int exponent, mantissa, bias;
};

static double
value(struct small_float f, unsigned code)
{
    unsigned m = code & ((1u << f.mantissa) - 1), e = code >> f.mantissa & ((1u << f.exponent) - 1);
    double v = ldexp(e ? m | 1u << f.mantissa : m, (int)(e ? e : 1) - f.bias - f.mantissa);
    return code >> (f.exponent + f.mantissa) & 1 ? -v : v;
}

static const struct small_float e4m3 = {4, 3, 7}, e5m2 = {5, 2, 15}, e3m2 = {3, 2, 3},
                                e2m3 = {2, 3, 1}, e2m1 = {2, 1, 1};

struct scaled {
    struct matrix_form f;
    struct small_float a, b;
    unsigned a_bits, b_bits, a_shift, b_shift; // of an element in a register
    unsigned byte, thread_a, thread_b;
};

// Codes whose values are at most 2 and multiples of 1/4 where the format has such.
static unsigned
moderate_code(struct small_float f)
{
    for (;;) {
        unsigned code = random32() & ((2u << (f.exponent + f.mantissa)) - 1);
        double v = value(f, code);
        if (fabs(v) <= 2 && v * 8 == floor(v * 8))
            return code;
    }
}

// Element (row, k) of a or (column, k) of b in registers of `bits` an element: ISA, fragments of
// mma.
static void
put(lanes_t *reg, unsigned row, unsigned k, unsigned rows, unsigned bits, uint32_t code)
{
    unsigned each = 32 / bits, lane = row % 8 * 4 + k % (4 * each) / each;
    reg[k / (4 * each) * (rows / 8) + row / 8][lane] |= code << k % each * bits;
}

static double
scale_value(bool is_e4m3, uint32_t code)
{
    return is_e4m3 ? value(e4m3, code & 127) : ldexp(1, (int)code - 127);
}

static void
check_scaled(const char *name, struct scaled s)
{
    enum { M = 16, N = 8, MOST = 64 };
    unsigned k = 1u << s.f.log_k, each = s.f.scales ? k / s.f.scales : k;
    double a[M][MOST], b[N][MOST], fa[M][4], fb[N][4];
    struct matrix_warp w = warp();
    lanes_t *rb = in + M * k * s.a_bits / 1024, *rc = rb + N * k * s.b_bits / 1024, *rs = rc + 4;
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < k; j++) {
            unsigned code = moderate_code(s.a);
            a[i][j] = value(s.a, code);
            put(in, i, j, M, s.a_bits, code << s.a_shift);
        }
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < k; j++) {
            unsigned code = moderate_code(s.b);
            b[i][j] = value(s.b, code);
            put(rb, i, j, 8, s.b_bits, code << s.b_shift);
        }
    for (unsigned lane = 0; lane < MATRIX_LANES && s.f.scales; lane++)
        for (unsigned side = 0; side < 2; side++) {
            rs[3 * side][lane] = random32(); // rubbish where nobody looks
            rs[3 * side + 1][lane] = s.byte;
            rs[3 * side + 2][lane] = side ? s.thread_b : s.thread_a;
        }
    for (unsigned i = 0; i < M + N && s.f.scales; i++)
        for (unsigned q = 0; q < s.f.scales; q++) {
            unsigned row = i < M ? i : i - M,
                     lane = i < M ? 4 * (row % 8) + 2 * s.thread_a + row / 8 : 4 * row + s.thread_b;
            uint32_t code = s.f.scale_e4m3 ? 0x30 + random32() % 16 : 125 + random32() % 5;
            uint32_t *word = &rs[i < M ? 0 : 3][lane], shift = 8 * (s.byte + q);
            *word = (*word & ~(255u << shift)) | code << shift;
            *(i < M ? &fa[row][q] : &fb[row][q]) = scale_value(s.f.scale_e4m3, code);
        }
    CHECK(matrix_run(&w, matrix_pack(s.f), in, out));
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < N; j++) {
            double sum = 0;
            for (unsigned q = 0; q < k; q++)
                sum += a[i][q] * b[j][q] * (s.f.scales ? fa[i][q / each] * fb[j][q / each] : 1);
            float got;
            memcpy(&got, &out[i / 8 * 2 + j % 2][i % 8 * 4 + j / 2], sizeof got);
            // Values are multiples of 2^-16 below 2^9: cut at most at 25 bits, then to 24.
            ok(fabs(got - sum) <= ldexp(fabs(sum), -22) + ldexp(1, -16),
               "%s (%u, %u): got %.9g, want %.9g", name, i, j, got, sum);
        }
}

static void
block_scaling(void)
{
    struct matrix_form f = {.op = MATRIX_MMA,
                            .a = MT_E4M3,
                            .b = MT_E4M3,
                            .c = MT_F32,
                            .d = MT_F32,
                            .m8 = 2,
                            .n8 = 1,
                            .log_k = 5,
                            .scales = 1,
                            .bytes = 1};
    for (unsigned byte = 0; byte < 4; byte++)
        for (unsigned thread = 0; thread < 8; thread++)
            check_scaled("mxf8f6f4 e4m3 e4m3",
                         (struct scaled){f, e4m3, e4m3, 8, 8, 0, 0, byte, thread & 1, thread >> 1});
    f.a = MT_E5M2, f.b = MT_E2M1;
    check_scaled("mxf8f6f4 e5m2 e2m1", (struct scaled){f, e5m2, e2m1, 8, 8, 0, 2, 1, 1, 2});
    f.a = MT_E3M2, f.b = MT_E2M3;
    check_scaled("mxf8f6f4 e3m2 e2m3", (struct scaled){f, e3m2, e2m3, 8, 8, 0, 0, 0, 0, 0});
    f.scales = 0;
    check_scaled("f8f6f4 e3m2 e2m3", (struct scaled){f, e3m2, e2m3, 8, 8, 0, 0, 0, 0, 0});
    f.a = f.b = MT_E2M1, f.bytes = 0, f.log_k = 6, f.scales = 2;
    check_scaled("mxf4", (struct scaled){f, e2m1, e2m1, 4, 4, 0, 0, 2, 1, 3});
    f.scales = 4;
    check_scaled("mxf4nvf4 4X ue8m0", (struct scaled){f, e2m1, e2m1, 4, 4, 0, 0, 0, 0, 0});
    f.scale_e4m3 = 1;
    check_scaled("mxf4nvf4 4X ue4m3", (struct scaled){f, e2m1, e2m1, 4, 4, 0, 0, 0, 1, 1});
}

// Factors far from one, whose product fits: ones times 2^100 and 2^-90.
static void
large_factors(void)
{
    struct matrix_form f = {.op = MATRIX_MMA,
                            .a = MT_E4M3,
                            .b = MT_E4M3,
                            .c = MT_F32,
                            .d = MT_F32,
                            .m8 = 2,
                            .n8 = 1,
                            .log_k = 5,
                            .scales = 1,
                            .bytes = 1};
    struct matrix_warp w = warp();
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++) {
        for (unsigned r = 0; r < 6; r++)
            in[r][lane] = 0x38383838;
        in[10][lane] = 127 + 100;
        in[13][lane] = 127 - 90;
    }
    CHECK(matrix_run(&w, matrix_pack(f), in, out));
    float got;
    memcpy(&got, &out[0][0], sizeof got);
    CHECK_FLT(got, 32 * 1024.0, 0);
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        in[10][lane] = 255; // a factor that is a NaN
    CHECK(matrix_run(&w, matrix_pack(f), in, out));
    CHECK_INT(out[0][0], 0x7fffffff);
}

// ---- 8-bit moves
// ----------------------------------------------------------------------------------
static uint8_t memory[32][16] __attribute__((aligned(16)));

static void
set_addresses(void)
{
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++) {
        uint64_t p = (uint64_t)(uintptr_t)memory[lane];
        in[0][lane] = (uint32_t)p;
        in[1][lane] = (uint32_t)(p >> 32);
        for (unsigned i = 0; i < 16; i++)
            memory[lane][i] = (uint8_t)random32();
    }
}

static unsigned
packed_element(const uint8_t *row, unsigned i, unsigned bits)
{
    unsigned v = 0;
    for (unsigned b = 0; b < bits; b++)
        v |= (row[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1u) << b;
    return v;
}

static void
moves_of_bytes(void)
{
    static const struct {
        enum matrix_type type;
        unsigned bits;
    } types[] = {{MT_B8, 8}, {MT_B8_B6, 6}, {MT_B8_B4, 4}};
    for (unsigned t = 0; t < 3; t++) {
        struct matrix_form f = {
            .op = MATRIX_LDMATRIX, .a = types[t].type, .m8 = 2, .n8 = 2, .log_k = 1, .a_turned = 1};
        struct matrix_warp w = warp();
        set_addresses();
        CHECK(matrix_run(&w, matrix_pack(f), in, out));
        for (unsigned q = 0; q < 2; q++)
            for (unsigned row = 0; row < 16; row++)
                for (unsigned column = 0; column < 16; column++)
                    CHECK_INT(out[2 * q + column / 8][column % 8 * 4 + row / 4] >> row % 4 * 8 &
                                  255,
                              packed_element(memory[16 * q + row], column, types[t].bits));
        if (!t)
            continue;
        f = (struct matrix_form){
            .op = MATRIX_LDMATRIX, .a = types[t].type, .m8 = 1, .n8 = 2, .log_k = 2};
        CHECK(matrix_run(&w, matrix_pack(f), in, out));
        for (unsigned row = 0; row < 32; row++)
            for (unsigned column = 0; column < 16; column++)
                CHECK_INT(out[row / 8][row % 8 * 4 + column / 4] >> column % 4 * 8 & 255,
                          packed_element(memory[row], column, types[t].bits));
    }
}

static void
stores_of_bytes(void)
{
    struct matrix_form f = {
        .op = MATRIX_STMATRIX, .a = MT_B8, .m8 = 2, .n8 = 1, .log_k = 2, .a_turned = 1};
    struct matrix_warp w = warp();
    set_addresses();
    for (unsigned r = 0; r < 4; r++)
        for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
            in[2 + r][lane] = random32();
    CHECK(matrix_run(&w, matrix_pack(f), in, out));
    for (unsigned q = 0; q < 4; q++)
        for (unsigned row = 0; row < 16; row++)
            for (unsigned column = 0; column < 8; column++)
                CHECK_INT(memory[8 * q + column][row],
                          in[2 + q][row % 8 * 4 + column / 2] >> (row / 8 * 16 + column % 2 * 8) &
                              255);
}

// Lanes that are not there have no addresses.
static void
absent_lanes(void)
{
    struct matrix_form f = {.op = MATRIX_LDMATRIX, .a = MT_B16, .m8 = 1, .n8 = 1, .log_k = 2};
    struct matrix_warp w = warp();
    set_addresses();
    w.active = 0xff;
    for (unsigned lane = 8; lane < MATRIX_LANES; lane++)
        in[0][lane] = in[1][lane] = 0;
    CHECK(matrix_run(&w, matrix_pack(f), in, out));
    CHECK(!memcmp(out[0], memory, sizeof *out));
    CHECK_INT(out[3][5], 0);
}

// ---- m8n8k4
// ---------------------------------------------------------------------------------------- Small
// whole numbers as f16.
static uint32_t
small_half(int v)
{
    static const uint16_t magnitude[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return v < 0 ? magnitude[-v] | 0x8000u : magnitude[v];
}

static int
from_half(uint32_t h)
{
    int e = (int)(h >> 10 & 31), m = (int)(h & 0x3ff) | 0x400, v = e ? (int)ldexp(m, e - 25) : 0;
    return h & 0x8000 ? -v : v;
}

// The ISA's formulas for a lane's elements: where element i of a (b: with k and n for m and k)
// stands.
static void
quad_place(bool turned, unsigned lane, unsigned i, unsigned *row, unsigned *k)
{
    *row = turned ? i % 4 + lane / 16 * 4 : lane % 4 + lane / 16 * 4;
    *k = turned ? lane % 4 : i;
}

static void
quad_accumulator(bool half, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
    *row = (half ? lane % 4 : (lane & 1) + (i & 2)) + lane / 16 * 4;
    *column = half ? i : (i & 4) + (lane & 2) + (i & 1);
}

static void
check_quads(unsigned how)
{
    struct matrix_form f = {
        .op = MATRIX_MMA, .a = MT_F16, .b = MT_F16, .m8 = 1, .n8 = 1, .log_k = 2};
    struct matrix_warp w = warp();
    int a[4][8][4], b[4][8][4];
    bool half_c = how >> 2 & 1, half_d = how >> 3 & 1;
    f.a_turned = how & 1, f.b_turned = how >> 1 & 1;
    f.c = half_c ? MT_F16 : MT_F32, f.d = half_d ? MT_F16 : MT_F32;
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned row, k, quad = lane % 16 / 4;
            int x = (int)(random32() % 9) - 4, y = (int)(random32() % 9) - 4;
            quad_place(f.a_turned, lane, i, &row, &k);
            a[quad][row][k] = x;
            in[i / 2][lane] |= small_half(x) << i % 2 * 16;
            quad_place(f.b_turned, lane, i, &row, &k);
            b[quad][row][k] = y;
            in[2 + i / 2][lane] |= small_half(y) << i % 2 * 16;
        }
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned i = 0; i < 8; i++)
            in[4 + (half_c ? i / 2 : i)][lane] |= half_c ? small_half(1) << i % 2 * 16 : 0x3f800000;
    CHECK(matrix_run(&w, matrix_pack(f), in, out));
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned row, column, quad = lane % 16 / 4;
            int sum = 1;
            float got;
            quad_accumulator(half_d, lane, i, &row, &column);
            for (unsigned k = 0; k < 4; k++)
                sum += a[quad][row][k] * b[quad][column][k];
            memcpy(&got, &out[i][lane], sizeof got);
            if (half_d)
                got = (float)from_half(out[i / 2][lane] >> i % 2 * 16 & 0xffff);
            CHECK_FLT(got, sum, 0);
        }
}

static void
quads(void)
{
    for (unsigned how = 0; how < 16; how++)
        check_quads(how);
}

// ---- loops for each processor
// ----------------------------------------------------------------------
static void
random_tile(const struct matrix_simd *s, struct tile *t, unsigned round)
{
    static a_words a;
    static b_words b;
    const enum matrix_type type[] = {MT_F16, MT_BF16, MT_TF32, MT_E4M3, MT_E5M2};
    enum matrix_type of = type[round % 5];
    struct element e = matrix_element(of, false);
    unsigned words = 16 * e.bits / 32, narrow = round / 5 % 3;
    memset(t, 0, sizeof *t);
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    t->k = 16;
    t->fraction = round & 1 ? 25 : 13;
    t->half = round % 7 == 0;
    t->in_order = true;
    for (unsigned k = 0; k < MATRIX_K; k++)
        t->place[k] = (uint8_t)k;
    for (unsigned k = 0; k < words; k++)
        for (unsigned i = 0; i < MATRIX_ROWS; i++) {
            uint32_t x = random32(), y = random32();
            // Sometimes near each other, so that digits meet; sometimes anything.
            a[k][i] = narrow ? (x & 0x83ff83ff) | 0x3c003c00 : x;
            b[i / 2][k] = narrow ? (y & 0x83ff83ff) | 0x38003800 : y;
        }
    for (unsigned j = 0; j < MATRIX_COLUMNS; j++)
        for (unsigned i = 0; i < MATRIX_ROWS; i++)
            t->c[j][i] = t->half       ? random32() & 0xbfff
                         : narrow == 2 ? (random32() & 0x81ffffff) | 0x3e000000
                                       : random32();
    s->read_a(t, e, (const uint32_t(*)[MATRIX_ROWS])a, words);
    s->read_b(t, e, (const uint32_t(*)[MATRIX_K + 16]) b, words);
}

static void
check_loops(const char *name, const struct matrix_simd *s)
{
    static struct tile t, want;
    unsigned done = 0;
    for (unsigned round = 0; round < 2000; round++) {
        uint64_t before = state;
        random_tile(s, &t, round);
        state = before;
        random_tile(&matrix_base, &want, round);
        ok(!memcmp(&t, &want, sizeof t), "%s, round %u: elements", name, round);
        tile_exact(&want, 0, 16);
        if (!s->sum(&t, 0, 16))
            continue;
        done++;
        ok(!memcmp(t.c, want.c, sizeof t.c), "%s, round %u", name, round);
    }
    ok(done > 300, "%s: only %u tiles were in range", name, done);
}

// Fragments of accumulators to columns and back.
static void
check_fragments(const char *name, const struct matrix_simd *s)
{
    static struct tile t;
    lanes_t c[4], d[4];
    const uint32_t *const from[2][2] = {{c[0], c[1]}, {c[2], c[3]}};
    uint32_t *const to[2][2] = {{d[0], d[1]}, {d[2], d[3]}};
    for (unsigned half = 0; half < 2; half++) {
        for (unsigned i = 0; i < 4 * MATRIX_LANES; i++)
            c[i / MATRIX_LANES][i % MATRIX_LANES] = random32();
        t.half = half;
        s->split_c(&t, from);
        for (unsigned i = 0; i < MATRIX_ROWS; i++)
            for (unsigned j = 0; j < MATRIX_COLUMNS; j++) {
                uint32_t w = c[i / 8 * 2 + (half ? 0 : j % 2)][i % 8 * 4 + j / 2];
                CHECK_INT(t.c[j][i], half ? w >> j % 2 * 16 & 0xffff : w);
            }
        s->join_c(&t, to);
        ok(!memcmp(d[0], c[0], sizeof *c) && !memcmp(d[2], c[2], sizeof *c), "%s", name);
    }
}

static void
check_processor(const char *name, const struct matrix_simd *s)
{
    check_loops(name, s);
    check_fragments(name, s);
}

static void
loops(void)
{
    check_processor("base", &matrix_base);
    if (matrix_simd() != &matrix_base)
        check_processor("avx2", &matrix_avx2);
    if (matrix_simd() == &matrix_avx512)
        check_processor("avx512", &matrix_avx512);
}

CHECK_MAIN(T(block_scaling), T(large_factors), T(moves_of_bytes), T(stores_of_bytes),
           T(absent_lanes), T(quads), T(loops))
