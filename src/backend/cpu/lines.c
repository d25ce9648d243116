// SPDX-License-Identifier: MIT
// Reads DWARF line tables (versions 2 to 5) of relocatable objects: code offset -> line. Sequences
// are taken to begin at the start of .text, which holds for objects with one code section: their
// address operands are zero before relocation.
#include "backend/cpu/load.h"

#include <string.h>

struct reader {
    const uint8_t *at, *end;
};

static uint64_t
get(struct reader *r, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->at = r->end;
        return 0;
    }
    memcpy(&v, r->at, bytes);
    r->at += bytes;
    return v;
}

static uint64_t
get_uleb(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t b = *r->at++;
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            break;
    }
    return v;
}

static int64_t
get_sleb(struct reader *r)
{
    int64_t v = 0;
    for (unsigned shift = 0; r->at < r->end;) {
        uint8_t b = *r->at++;
        if (shift < 64)
            v |= (int64_t)((uint64_t)(b & 0x7f) << shift);
        shift += 7;
        if (!(b & 0x80)) {
            if (b & 0x40 && shift < 64)
                v |= (int64_t)(~(uint64_t)0 << shift);
            break;
        }
    }
    return v;
}

struct header {
    uint8_t min_length, opcode_base, line_range;
    int8_t line_base;
    uint8_t operands[256]; // of the standard opcodes
};

struct row {
    uint64_t address;
    int64_t line;
};

struct search {
    uint64_t offset;
    struct row last; // the row before the current one
    bool have_last;
    unsigned found;
};

// A row ends the range of the row before it.
static void
emit_row(struct search *s, const struct row *r, bool end)
{
    if (s->have_last && s->offset >= s->last.address && s->offset < r->address && s->last.line > 0)
        s->found = (unsigned)s->last.line;
    s->last = *r;
    s->have_last = !end;
}

enum { LNS_COPY = 1, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_CONST_ADD_PC = 8, LNS_FIXED_ADVANCE_PC };
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS };

static void
extended_op(struct reader *r, struct search *s, struct row *row)
{
    uint64_t len = get_uleb(r);
    if (len == 0 || len > (size_t)(r->end - r->at))
        return;
    const uint8_t *next = r->at + len;
    switch (get(r, 1)) {
    case LNE_END_SEQUENCE:
        emit_row(s, row, true);
        *row = (struct row){.line = 1};
        break;
    case LNE_SET_ADDRESS:
        row->address = get(r, len - 1 > 8 ? 8 : (unsigned)len - 1);
        break;
    }
    r->at = next;
}

static void
standard_op(struct reader *r, const struct header *h, unsigned op, struct search *s,
            struct row *row)
{
    switch (op) {
    case LNS_COPY:
        emit_row(s, row, false);
        return;
    case LNS_ADVANCE_PC:
        row->address += get_uleb(r) * h->min_length;
        return;
    case LNS_ADVANCE_LINE:
        row->line += get_sleb(r);
        return;
    case LNS_CONST_ADD_PC:
        row->address += (255u - h->opcode_base) / h->line_range * h->min_length;
        return;
    case LNS_FIXED_ADVANCE_PC:
        row->address += get(r, 2);
        return;
    }
    for (unsigned i = 0; i < h->operands[op]; i++)
        get_uleb(r);
}

static void
run_program(struct reader *r, const struct header *h, struct search *s)
{
    struct row row = {.line = 1};
    while (r->at < r->end && !s->found) {
        unsigned op = (unsigned)get(r, 1);
        if (op == 0) {
            extended_op(r, s, &row);
        } else if (op < h->opcode_base) {
            standard_op(r, h, op, s, &row);
        } else {
            unsigned n = op - h->opcode_base;
            row.address += n / h->line_range * h->min_length;
            row.line += h->line_base + (int)(n % h->line_range);
            emit_row(s, &row, false);
        }
    }
}

static bool
read_header(struct reader *unit, bool wide, struct header *h)
{
    unsigned version = (unsigned)get(unit, 2);
    if (version < 2 || version > 5)
        return false;
    if (version == 5)
        get(unit, 2); // address size, segment selector size
    uint64_t rest = get(unit, wide ? 8 : 4);
    if (rest > (size_t)(unit->end - unit->at))
        return false;
    struct reader r = {unit->at, unit->at + rest};
    unit->at += rest;
    h->min_length = (uint8_t)get(&r, 1);
    if (version >= 4)
        get(&r, 1); // operations per instruction
    get(&r, 1);     // default of is_stmt
    h->line_base = (int8_t)get(&r, 1);
    h->line_range = (uint8_t)get(&r, 1);
    h->opcode_base = (uint8_t)get(&r, 1);
    for (unsigned i = 1; i < h->opcode_base; i++)
        h->operands[i] = (uint8_t)get(&r, 1);
    return h->line_range != 0;
}

unsigned
line_table_find(const uint8_t *table, size_t size, uint64_t offset)
{
    struct reader all = {table, table + size};
    struct search s = {.offset = offset};
    while (all.at < all.end && !s.found) {
        uint64_t length = get(&all, 4);
        bool wide = length == 0xffffffff;
        if (wide)
            length = get(&all, 8);
        if (length > (size_t)(all.end - all.at))
            break;
        struct reader unit = {all.at, all.at + length};
        struct header h = {0};
        s.have_last = false;
        if (read_header(&unit, wide, &h))
            run_program(&unit, &h, &s);
        all.at += length;
    }
    return s.found;
}
