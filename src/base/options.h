// SPDX-License-Identifier: MIT
// Options: environment variables POLYWARP_*, declared once in api/options.tab.
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "options_enum.h" // generated: enum option { OPT_DEVICE, OPT_LOG, ... OPTIONS }

// Value as text: from the environment at first use, else the table's default; never NULL. Stable for the process's life.
const char *opt_text(enum option o);
// Value as integer with suffixes K M G; the default where it does not parse (a warning is logged).
int64_t opt_int(enum option o);
bool opt_bool(enum option o);
// True if a comma-separated list option contains the word.
bool opt_has(enum option o, const char *word);

struct option_info {
    const char *env, *values, *dflt, *help;
};
extern const struct option_info option_table[];

#endif
