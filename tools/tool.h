// SPDX-License-Identifier: MIT
// What the subcommands of `polywarp` share.
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef POLYWARP_VERSION
#define POLYWARP_VERSION "0.1.0"
#endif

#define DRIVER_NAME "libcuda.so.1"
#define AUDIT_NAME  "libpolywarp-audit.so"

// Exit codes besides 0 and 1.
enum { EXIT_USAGE = 2, EXIT_TOOL = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

// Subcommands: argv[0] is the command's name.
int cmd_run(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_help(int argc, char **argv);
// Hidden: opens a library by name in this process and prints the path that the loader chose.
int cmd_probe(int argc, char **argv);

// Prints "polywarp: ..." to stderr; returns `code`.
int tool_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// A heading, bold on a terminal.
void heading(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// "  name        text", aligned.
void field(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// "1.5 MiB" in a buffer of at least 16 bytes; returns it.
char *format_size(char *to, uint64_t bytes);

// ---- paths.c
// The folder that holds our libcuda.so.1, found from the tool's own place: NULL if there is none.
const char *library_folder(void);
// folder/name, made once: valid until the process ends.
const char *driver_path(void);
const char *audit_path(void); // NULL if not there
bool same_file(const char *a, const char *b);
// Expands a leading "~/". Returns `to`.
char *expand_home(char to[PATH_MAX], const char *path);
// Finds a program as a shell does; false if there is none.
bool find_program(char to[PATH_MAX], const char *name);

struct mapping {
    const uint8_t *data;
    size_t size;
};
// False with errno set; an empty file gives size 0.
bool map_file(const char *path, struct mapping *out);
void unmap_file(struct mapping *m);

// ---- table.c: rows of cells, printed in columns as wide as needed.
enum { TABLE_COLUMNS = 8 };
struct table {
    const char *title[TABLE_COLUMNS];
    bool right[TABLE_COLUMNS];   // numbers
    char *(*row)[TABLE_COLUMNS]; // vec
};
// One cell a column, in order, each a string; the last may be long: it is wrapped at the terminal's
// width.
void table_row(struct table *t, const char *const *cell);
void table_print(struct table *t); // and frees the rows

// ---- option names
// "--compute-capability" without its dashes for option i of option_table.
void option_flag(int i, char to[64]);
int option_find(const char *flag, size_t len); // -1: unknown

#endif
