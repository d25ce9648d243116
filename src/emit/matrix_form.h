// SPDX-License-Identifier: MIT
// Which matrix instruction a call of pw.mma or pw.matrix stands for (pw.md, Matrices): a 64-bit
// constant that emit/ packs and a backend unpacks.
#ifndef EMIT_MATRIX_FORM_H
#define EMIT_MATRIX_FORM_H

#include <stdint.h>
#include <string.h>

enum matrix_op {
    MATRIX_MMA,   // d = a * b + c; fragments as the ISA lays them out for mma
    MATRIX_WMMA,  // the same with the fragments of wmma
    MATRIX_WGMMA, // the same for a warp's 16 rows of 64; b, and a unless a_registers, in shared
                  // memory
    MATRIX_LOAD,  // wmma.load of `part`
    MATRIX_STORE, // wmma.store of d
    MATRIX_LDMATRIX,
    MATRIX_STMATRIX,
    MATRIX_TRANSPOSE, // movmatrix
};

enum matrix_type {
    MT_NONE,
    MT_F16,
    MT_BF16,
    MT_TF32,
    MT_F32,
    MT_F64,
    MT_E4M3,
    MT_E5M2,
    MT_E3M2,
    MT_E2M3,
    MT_E2M1,
    MT_S32,
    MT_S8,
    MT_U8,
    MT_S4,
    MT_U4,
    MT_B1,
    MT_UE8M0,
    MT_UE4M3,
    MT_B16, // of ldmatrix and stmatrix: elements as they are,
    MT_B8,
    MT_B8_B6, // 6-bit elements, 16 to 12 bytes and 4 of padding, to bytes,
    MT_B8_B4, // 4-bit elements, 16 to 8 bytes and 8 of padding, to bytes
    MATRIX_TYPES
};

enum matrix_part { MATRIX_A, MATRIX_B, MATRIX_C };

// From the lowest bit on.
struct matrix_form {
    uint64_t op : 4;
    uint64_t a : 5, b : 5, c : 5, d : 5; // enum matrix_type; loads, stores and moves: a
    uint64_t m8 : 4, n8 : 6, log_k : 4;  // m / 8, n / 8; ldmatrix, stmatrix: the matrices' rows and
                                         // columns, log2 of their number
    uint64_t part : 2;                   // wmma.load: enum matrix_part
    // mma, wmma, wgmma: matrix a is column by column, b row by row. wmma.load, wmma.store: the
    // matrix in memory is column by column (a_turned). ldmatrix, stmatrix: .trans (a_turned).
    // wgmma: matrices in shared memory have m or n as the faster index.
    uint64_t a_turned : 1, b_turned : 1;
    uint64_t saturate : 1, xor_ : 1;
    uint64_t sparse : 1, selector : 2;
    uint64_t rounding : 2; // of f64: rn rz rm rp
    uint64_t a_negated : 1, b_negated : 1, a_registers : 1;
    uint64_t scales : 3;     // scale factors of a row of a and a column of b: 0, 1, 2, 4
    uint64_t scale_e4m3 : 1; // their type: ue4m3, else ue8m0
    uint64_t
        bytes : 1; // elements of fewer than 8 bits stand in bytes (.kind::f8f6f4, .kind::mxf8f6f4)
};
_Static_assert(sizeof(struct matrix_form) == 8, "a form is one word");

static inline uint64_t
matrix_pack(struct matrix_form f)
{
    uint64_t word;
    memcpy(&word, &f, sizeof word);
    return word;
}

static inline struct matrix_form
matrix_unpack(uint64_t word)
{
    struct matrix_form f;
    memcpy(&f, &word, sizeof f);
    return f;
}

#endif
