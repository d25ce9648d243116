// SPDX-License-Identifier: MIT
// The `polywarp` command: chooses the subcommand; anything else is a program to run.
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*fn)(int argc, char **argv);
} commands[] = {
    {"run", cmd_run},     {"info", cmd_info}, {"doctor", cmd_doctor}, {"help", cmd_help},
    {"--help", cmd_help}, {"-h", cmd_help},   {"__probe", cmd_probe},
};

int
main(int argc, char **argv)
{
    if (argc < 2)
        return cmd_help(1, argv), EXIT_USAGE;
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version"))
        return printf("polywarp %s\n", POLYWARP_VERSION) < 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].fn(argc - 1, argv + 1);
    }
    return cmd_run(argc, argv);
}
