// SPDX-License-Identifier: MIT
// Loading of object code: from the bytes of a relocatable object to a callable kernel.
#ifndef CPU_LOAD_H
#define CPU_LOAD_H

#include "backend/cpu/cpu.h"

#define KERNEL_SYMBOL "pw.kernel" // the kernel function in every object
#define FACTS_SYMBOL  "pw.facts"  // its struct kernel_facts
#define VARIABLE_PREFIX                                                                            \
    "pw.var." // external variables: the rest of the name goes to the request's resolver

struct loaded_code {
    struct dylib *dylib;
    void *object; // copy of the object, for its line table
    size_t object_size;
    uint64_t text, text_size; // address of the section that holds the code, bytes
    const void *kernel, *facts;
};

// NULL after logging why. The object is copied.
struct loaded_code *code_load(const struct compile_request *r, const void *object, size_t size);
void code_free(struct loaded_code *c);
// PTX line of a code address; 0 when not known.
unsigned code_line(const struct loaded_code *c, uint64_t pc);

// lines.c: the line for an offset into .text, from the bytes of .debug_line; 0 when there is none.
unsigned line_table_find(const uint8_t *table, size_t size, uint64_t offset);

// symbols.c: address of a function that generated code may call, NULL if there is none of that
// name.
void *runtime_symbol(const char *name);
// Does it wait for other threads?
bool runtime_symbol_suspends(const char *name);

#endif
