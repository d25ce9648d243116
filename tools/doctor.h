// SPDX-License-Identifier: MIT
// The parts of `polywarp doctor`.
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

#include "tool.h"

#include "base/elf.h"

// An ELF file of the host, open.
struct object {
    char path[PATH_MAX]; // real path
    struct mapping file;
    struct elf elf;
};

// ---- doctor_loader.c: finds libraries as the loader would for this program in this environment
enum found_by {
    BY_PATH,
    BY_RPATH,
    BY_LD_LIBRARY_PATH,
    BY_RUNPATH,
    BY_AUDIT,
    BY_PRELOAD,
    BY_SYSTEM,
    NOT_FOUND
};

bool object_open(struct object *o, const char *path);
void object_close(struct object *o);
// Does the loader take no notice of LD_* for this file?
bool is_privileged(const char *path);
// Path of `name` as needed or opened by `by` (NULL: by a program without search paths of its own)
// in program `main`.
enum found_by find_library(const char *name, const struct object *by, const struct object *main,
                           char to[PATH_MAX]);
const char *found_by_text(enum found_by f);
// Reports which libcuda.so.1 a program takes and how it is found; returns true if it is ours.
bool report_driver(const struct object *opener, const struct object *main, enum found_by *by);
// Reports whether our library can be loaded at all.
bool report_our_library(void);

// ---- doctor_code.c: device code inside a file
struct code_report;
struct code_report *code_report_new(void);
// Adds what a file of any kind embeds; false if it has none or cannot be read.
bool code_report_add(struct code_report *r, const char *path);
// Prints table and verdicts, frees the report; returns true if nothing needs a rebuild.
bool code_report_print(struct code_report *r);

#endif
