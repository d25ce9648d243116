// SPDX-License-Identifier: MIT
// Inputs of the conformance forms: edge values of the operands' types crossed, then random ones, in an order that mixes both.
// Everything follows from the types alone: forms of the same operand types get the same inputs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum kind { INT, FLT, PRED, SHIFT, SELECTOR, LANE, SMALL, VOTE, FEW, SAME, MODERATE, META };

// bits: of one lane; FLT has exponent and mantissa widths. `rubbish`: the register is wider, and what is above does not count.
struct value_type {
    const char *name;
    enum kind kind;
    uint8_t bits, lanes, exponent, mantissa;
    bool rubbish;
};

static const struct value_type types[] = {
    {"pred", PRED, 1, 1, 0, 0, 0},    {"b8", INT, 8, 1, 0, 0, 0},       {"u8", INT, 8, 1, 0, 0, 1},       {"s8", INT, 8, 1, 0, 0, 1},
    {"b16", INT, 16, 1, 0, 0, 0},     {"u16", INT, 16, 1, 0, 0, 0},     {"s16", INT, 16, 1, 0, 0, 0},     {"b32", INT, 32, 1, 0, 0, 0},
    {"u32", INT, 32, 1, 0, 0, 0},     {"s32", INT, 32, 1, 0, 0, 0},     {"b64", INT, 64, 1, 0, 0, 0},     {"u64", INT, 64, 1, 0, 0, 0},
    {"s64", INT, 64, 1, 0, 0, 0},     {"u16x2", INT, 16, 2, 0, 0, 0},   {"s16x2", INT, 16, 2, 0, 0, 0},   {"f16", FLT, 16, 1, 5, 10, 0},
    {"bf16", FLT, 16, 1, 8, 7, 0},    {"f16x2", FLT, 16, 2, 5, 10, 0},  {"bf16x2", FLT, 16, 2, 8, 7, 0},  {"f32", FLT, 32, 1, 8, 23, 0},
    {"tf32", FLT, 32, 1, 8, 23, 0},   {"f64", FLT, 64, 1, 11, 52, 0},   {"e4m3x2", INT, 16, 1, 0, 0, 0},  {"e5m2x2", INT, 16, 1, 0, 0, 0},
    {"shift", SHIFT, 32, 1, 0, 0, 0}, {"sel", SELECTOR, 32, 1, 0, 0, 0}, {"lane", LANE, 32, 1, 0, 0, 0},  {"small", SMALL, 32, 1, 0, 0, 0},
    {"vote", VOTE, 1, 1, 0, 0, 0},    {"few32", FEW, 32, 1, 0, 0, 0},   {"few64", FEW, 64, 1, 0, 0, 0},   {"same32", SAME, 32, 1, 0, 0, 0},
    {"same64", SAME, 64, 1, 0, 0, 0}, {"m_f16x2", MODERATE, 16, 2, 5, 10, 0}, {"m_bf16x2", MODERATE, 16, 2, 8, 7, 0},
    {"m_f32", MODERATE, 32, 1, 8, 23, 0}, {"m_f64", MODERATE, 64, 1, 11, 52, 0}, {"m_e4m3x4", MODERATE, 8, 4, 4, 3, 0},
    {"m_e5m2x4", MODERATE, 8, 4, 5, 2, 0}, {"m_meta", META, 32, 1, 0, 6, 0}, {"m_meta2", META, 32, 1, 0, 2, 0},
};

const struct value_type *
type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

unsigned
type_bits(const struct value_type *t)
{
    return t->rubbish || t->bits == 1 ? 32 : t->bits * t->lanes;
}

const char *
type_name(const struct value_type *t)
{
    return t->name;
}

unsigned
type_lanes(const struct value_type *t)
{
    return t->lanes;
}

bool
type_is_float(const struct value_type *t)
{
    return t->kind == FLT;
}

static uint64_t
mask(unsigned bits)
{
    return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

double
type_double(const struct value_type *t, uint64_t word, unsigned lane)
{
    uint64_t v = word >> lane * t->bits & mask(t->bits), m = v & mask(t->mantissa);
    int e = (int)(v >> t->mantissa & mask(t->exponent)), bias = (1 << (t->exponent - 1)) - 1;
    double sign = v >> (t->bits - 1) & 1 ? -1 : 1;
    if (e == (int)mask(t->exponent))
        return m ? NAN : sign * INFINITY;
    if (!e)
        return sign * ldexp((double)m, 1 - bias - t->mantissa);
    return sign * ldexp((double)(m | 1ull << t->mantissa), e - bias - t->mantissa);
}

double
type_ulp(const struct value_type *t, double v)
{
    int e, least = 2 - (1 << (t->exponent - 1));
    frexp(v, &e);
    return ldexp(1, (e - 1 < least ? least : e - 1) - t->mantissa);
}

// ---- random numbers -------------------------------------------------------------------------------
static uint64_t
next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static unsigned
below(uint64_t *state, unsigned n)
{
    return (unsigned)((next(state) >> 32) * n >> 32);
}

// ---- edge values -------------------------------------------------------------------------------
enum { MAX_EDGES = 256 };

struct edges {
    uint64_t v[MAX_EDGES];
    unsigned n;
};

static void
edge(struct edges *e, uint64_t v)
{
    for (unsigned i = 0; i < e->n; i++)
        if (e->v[i] == v)
            return;
    if (e->n < MAX_EDGES)
        e->v[e->n++] = v;
}

static void
int_edges(struct edges *e, unsigned bits)
{
    static const uint64_t values[] = {0, 1, 2, 3, 5, 7, 10, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x7fffff,
                                      0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x5555555555555555,
                                      0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef, 0x00ff00ff00ff00ff, 0x8000000080000001};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        edge(e, values[i] & mask(bits));
        if (values[i] < 65536)
            edge(e, -values[i] & mask(bits));
    }
    uint64_t top = 1ull << (bits - 1);
    for (int i = -2; i <= 2; i++)
        edge(e, (top + i) & mask(bits));
}

// Numbers at which conversions change their mind, or half-way between two results, in formats narrower than their own.
static const double turning[] = {
    1.0 / 3, 0.5, 1.5, 2.5, 3.5, 127, 127.5, 128, 128.5, 255, 255.5, 256, 32767, 32767.5, 32768, 65504, 65519, 65520, 65535, 65535.5, 65536,
    240, 448, 464, 480, 496, 57344, 61440, 65500, 0x1p-6, 0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-14, 0x1.ffcp-15, 0x1p-16, 0x1p-17, 0x1p-24, 0x1p-25,
    0x1.000002p-25, 0x1.8p-24, 0x1.002p0, 0x1.006p0, 0x1.002002p0, 0x1.01p0, 0x1.03p0, 0x1.010002p0, 0x1.08p0, 0x1.18p0, 0x1.2p0, 0x1.6p0,
    0x1.000001p0, 0x1.000003p0, 0x1.0000010000001p0, 0x1.fffffcp30, 0x1.fffffffcp30, 0x1p31, 0x1.fffffep31, 0x1.fffffffep31, 0x1p32,
    0x1.fffffep62, 0x1p63, 0x1.fffffep63, 0x1p64, 8388607.5, 8388608.5, 4503599627370495.5, 0x1p52, 0x1p53, 0x1.fep127, 0x1.ffp127,
    0x1.fffffep127, 0x1.ffffffp127, 0x1p128, 0x1p-126, 0x1.fffffep-127, 0x1p-133, 0x1p-134, 0x1p-149, 0x1p-150, 0x1.8p-149, 0x1.0000001p-150, 0x1p-151,
    3.14159265358979, 6.28318530717959, 1e10, 0x1p126, 0x1p127, 0x1.000002p126};

// v in the format, rounded toward zero; false if it is out of its range.
static bool
narrow(double v, const struct value_type *t, uint64_t *out)
{
    int e, bias = (1 << (t->exponent - 1)) - 1;
    double m = frexp(v, &e); // [0.5, 1)
    e += bias - 1;
    if (e >= (int)mask(t->exponent))
        return false;
    if (e < 1) {
        *out = (uint64_t)ldexp(v, bias - 1 + t->mantissa);
        return true;
    }
    *out = (uint64_t)e << t->mantissa | ((uint64_t)ldexp(m, t->mantissa + 1) & mask(t->mantissa));
    return true;
}

static void
float_edges(struct edges *e, const struct value_type *t)
{
    uint64_t m = mask(t->mantissa), inf = mask(t->exponent) << t->mantissa, quiet = 1ull << (t->mantissa - 1), sign = 1ull << (t->bits - 1);
    uint64_t one = mask(t->exponent - 1) << t->mantissa, v;
    const uint64_t shapes[] = {0, 1, 2, 3, quiet, m - 1, m, m + 1, m + 2, 2 * (m + 1), one, one + 1, one + 2, one - 1, one - 2, one | quiet, inf - 1,
                               inf - 2, inf - m - 1, inf, inf | quiet, inf | m, inf | quiet | 5, inf | 1, inf | quiet >> 1, inf | (quiet - 1)};
    for (unsigned s = 0; s < 2; s++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            edge(e, shapes[i] | (s ? sign : 0));
        for (size_t i = 0; i < sizeof turning / sizeof *turning; i++)
            if (narrow(turning[i], t, &v))
                edge(e, v | (s ? sign : 0));
    }
}

static void
edges_of(struct edges *e, const struct value_type *t)
{
    static const uint32_t shifts[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 0x10000, 0x80000000, 0xffffffff, 0xffffffe0};
    static const uint32_t selectors[] = {0x3210, 0x7654, 0x0123, 0xffff, 0x8888, 0x0000, 0xfedc, 0x4567, 0x9999, 0x5140, 0xffff3210, 0, 1, 2, 3};
    struct edges one = {.n = 0};
    e->n = 0;
    if (t->kind == PRED || t->kind == VOTE) {
        edge(e, 0), edge(e, 1);
    } else if (t->kind == SHIFT) {
        for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
            edge(e, shifts[i]);
    } else if (t->kind == SELECTOR) {
        for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
            edge(e, selectors[i]);
    } else if (t->kind == LANE || t->kind == SMALL) {
        for (unsigned i = 0; i < 32; i++)
            edge(e, t->kind == LANE ? i : (uint32_t)((int)i - 16));
    } else {
        t->kind == FLT ? float_edges(&one, t) : int_edges(&one, t->bits);
        for (unsigned i = 0; i < one.n; i++)
            edge(e, t->lanes == 1 ? one.v[i] : one.v[i] | one.v[(i * 7 + 3) % one.n] << t->bits);
    }
}

// ---- random values -----------------------------------------------------------------------------
static uint64_t
random_int(uint64_t *state, unsigned bits, unsigned style)
{
    uint64_t r = next(state);
    switch (style) {
    case 3:
        return (r % 33 - 16) & mask(bits);
    case 4:
        return ((1ull << r % bits) + (r >> 32) % 3 - 1) & mask(bits);
    case 5:
        return (uint64_t)((int64_t)(r << (64 - bits)) >> (r >> 40) % bits >> (64 - bits)) & mask(bits);
    case 6:
        return (r & next(state) & next(state)) & mask(bits);
    case 7:
        return (r & mask(bits)) >> (r >> 58) % bits;
    default:
        return r & mask(bits);
    }
}

// `base`: a number that all operands of the case share, so that exponents meet.
static uint64_t
random_float(uint64_t *state, const struct value_type *t, unsigned style, uint64_t base)
{
    uint64_t r = next(state), m = r & mask(t->mantissa), sign = (r >> 63) << (t->bits - 1), v;
    unsigned bias = (unsigned)mask(t->exponent - 1), top = (unsigned)mask(t->exponent), e;
    unsigned pick = (unsigned)(r >> 54 & 63);
    switch (style) {
    case 2:
        e = bias - 3 + pick % 7;
        break;
    case 3:
        return narrow((double)(1 + (r >> 52) % 64) / 2, t, &v) ? v | sign : sign;
    case 4:
        e = pick % (t->mantissa + 3u) % top;
        break;
    case 5:
        e = bias - 4 + pick % 9;
        m &= mask(t->mantissa) << (t->mantissa - 3);
        break;
    case 6:
        e = (unsigned)(base % (top - 4u)) + pick % 4;
        break;
    case 7:
        e = (bias + pick) % top;
        break;
    default:
        return r & mask(t->bits);
    }
    return sign | (uint64_t)e << t->mantissa | m;
}

static uint64_t
random_value(uint64_t *state, const struct value_type *t, unsigned style, uint64_t base)
{
    uint64_t r, v = 0;
    switch (t->kind) {
    case PRED:
        return next(state) >> 63;
    case VOTE: // often all the same in a warp
        return below(state, 40) != 0;
    case SHIFT:
        r = next(state);
        return r & 1 ? r >> 33 & 63 : r >> 32;
    case LANE:
        return below(state, 32);
    case SMALL:
        return (uint32_t)((int)below(state, 40) - 20);
    case SELECTOR:
        return next(state) >> 32;
    case FEW:
        return (below(state, 4) * 0x8000000100000001ull) & mask(t->bits);
    case SAME:
        return (below(state, 60) ? 7 : 0x700000007) & mask(t->bits);
    case META: // of sparse matrices: each nibble names two of four places in order; of tf32 only two of the six pairs are allowed
        for (unsigned i = 0; i < 8; i++)
            v |= (uint64_t)(const unsigned[]){4, 14, 8, 9, 12, 13}[below(state, t->mantissa)] << 4 * i;
        return v;
    case MODERATE: // near one, halves of small integers, few mantissa bits; now and then a denormal
        style = below(state, 64) ? (const unsigned[]){2, 3, 5}[style % 3] : 4;
        // fall through
    default:
        for (unsigned lane = 0; lane < t->lanes; lane++) {
            r = t->kind != INT ? random_float(state, t, style, base) : random_int(state, t->bits, style);
            v |= r << lane * t->bits;
        }
        return v;
    }
}

// ---- cases ---------------------------------------------------------------------------------------
static uint64_t
seed_of(const struct form *f)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (unsigned k = 0; k < f->nin; k++)
        for (const char *p = f->in[k]->name;; p++) {
            h = (h ^ (uint8_t)*p) * 0x100000001b3u;
            if (!*p)
                break;
        }
    return h;
}

// One operand of 16 bits: all of its values, but in memory kernels, which have few slots.
static bool
is_exhaustive(const struct form *f)
{
    return f->nin == 1 && f->edges >= 4096 && f->approx[0] == '-' && f->in[0]->bits == 16 && f->in[0]->lanes == 1;
}

static unsigned
fill_edges(const struct form *f, uint64_t *w, uint64_t *state)
{
    struct edges *e = malloc(f->nin * sizeof *e);
    double product = 1;
    for (unsigned k = 0; k < f->nin; k++) {
        edges_of(&e[k], f->in[k]);
        product *= e[k].n;
    }
    bool all = product <= f->edges;
    unsigned n = all ? (unsigned)product : f->edges;
    for (unsigned i = 0; i < n; i++) {
        unsigned rest = i;
        for (unsigned k = 0; k < f->nin; k++) {
            w[i * f->nin + k] = e[k].v[all ? rest % e[k].n : below(state, e[k].n)];
            rest /= e[k].n;
        }
    }
    free(e);
    return n;
}

static void
shuffle(uint64_t *w, unsigned n, unsigned nin, uint64_t *state)
{
    for (unsigned i = n; i > 1; i--) {
        unsigned j = below(state, i);
        for (unsigned k = 0; k < nin; k++) {
            uint64_t t = w[(i - 1) * nin + k];
            w[(i - 1) * nin + k] = w[j * nin + k];
            w[j * nin + k] = t;
        }
    }
}

uint64_t *
inputs_make(const struct form *f, unsigned *cases)
{
    uint64_t state = seed_of(f), *w;
    if (is_exhaustive(f)) {
        w = malloc(65536 * sizeof *w);
        for (unsigned i = 0; i < 65536; i++)
            w[i] = i * 40503u & 0xffff;
        *cases = 65536;
        return w;
    }
    w = calloc((size_t)(f->edges + f->randoms + CHUNK) * f->nin, sizeof *w);
    unsigned n = f->edges ? fill_edges(f, w, &state) : 0, end = (n + f->randoms + CHUNK - 1) / CHUNK * CHUNK;
    for (unsigned i = n; i < end; i++) {
        unsigned style = below(&state, 8);
        uint64_t base = next(&state);
        for (unsigned k = 0; k < f->nin; k++)
            w[i * f->nin + k] = random_value(&state, f->in[k], style, base);
    }
    if (f->edges)
        shuffle(w, end, f->nin, &state);
    for (unsigned i = 0; i < end * f->nin; i++)
        if (f->in[i % f->nin]->rubbish)
            w[i] |= next(&state) << f->in[i % f->nin]->bits & 0xffffffff;
    *cases = end;
    return w;
}
