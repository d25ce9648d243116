// SPDX-License-Identifier: MIT
// `polywarp help`: commands and options.
#include "tool.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"

static const char usage[] =
    "usage: polywarp [--OPTION=VALUE ...] [--] PROGRAM [ARGUMENT ...]\n"
    "       polywarp COMMAND\n"
    "\n"
    "Runs a CUDA program on Polywarp in place of NVIDIA's driver.\n"
    "\n"
    "  polywarp -- ./program 1 2     run a program (the same: polywarp run -- ./program 1 2)\n"
    "  polywarp info                 devices, library, cache\n"
    "  polywarp doctor [FILE]        why a program or library does not run on Polywarp (exit code "
    "0: it can)\n"
    "  polywarp help options         options and environment variables\n"
    "  polywarp version\n"
    "\n"
    "  --no-audit                    do not redirect programs that open libcuda.so.1 by its full "
    "path\n";

void
option_flag(int i, char to[64])
{
    const char *env = option_table[i].env + strlen("POLYWARP_");
    size_t n = 0;
    for (; env[n] && n < 63; n++)
        to[n] = env[n] == '_' ? '-' : (char)tolower((unsigned char)env[n]);
    to[n] = 0;
}

int
option_find(const char *flag, size_t len)
{
    if (len == 2 && !memcmp(flag, "cc", 2))
        return OPT_COMPUTE_CAPABILITY;
    for (int i = 0; i < OPTIONS; i++) {
        char name[64];
        option_flag(i, name);
        if (strlen(name) == len && !memcmp(name, flag, len))
            return i;
    }
    return -1;
}

static void
print_options(void)
{
    struct table t = {.title = {"option", "environment variable", "default", "meaning"}};
    for (int i = 0; i < OPTIONS; i++) {
        const struct option_info *o = &option_table[i];
        char name[64], flag[80], meaning[512];
        option_flag(i, name);
        snprintf(flag, sizeof flag, "--%s=", name);
        snprintf(meaning, sizeof meaning, "%s (%s)", o->help, o->values);
        table_row(&t, (const char *[]){flag, o->env, *o->dflt ? o->dflt : "-", meaning});
    }
    table_print(&t);
    puts("\n  --cc=M.m is short for --compute-capability=M.m. Options on the command line win over "
         "the environment.");
}

int
cmd_help(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "options"))
        return print_options(), 0;
    fputs(usage, stdout);
    if (argc > 1)
        return tool_fail(EXIT_USAGE, "no help on '%s'", argv[1]);
    return 0;
}
