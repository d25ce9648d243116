// SPDX-License-Identifier: MIT
// `polywarp -- program`: runs a program so that it finds our libcuda.so.1.
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"

// Puts `first` in front of a colon-separated variable, unless it is there.
static void
prepend(const char *variable, const char *first)
{
    const char *old = getenv(variable);
    size_t len = strlen(first);
    if (!old || !*old) {
        setenv(variable, first, 1);
        return;
    }
    if (!strncmp(old, first, len) && (!old[len] || old[len] == ':'))
        return;
    char *value = malloc(len + strlen(old) + 2);
    if (!value)
        return;
    sprintf(value, "%s:%s", first, old);
    setenv(variable, value, 1);
    free(value);
}

static bool
is_switch(int option)
{
    return !strcmp(option_table[option].values, "0, 1");
}

// One "--name=value", "--name value" or "--switch". Returns how many arguments it took; 0: unknown.
static int
set_option(char **argv)
{
    const char *flag = argv[0] + 2, *equals = strchr(flag, '=');
    int option = option_find(flag, equals ? (size_t)(equals - flag) : strlen(flag));
    if (option < 0)
        return 0;
    const char *value = equals ? equals + 1 : is_switch(option) ? "1" : argv[1];
    if (!value)
        return 0;
    setenv(option_table[option].env, value, 1);
    return equals || is_switch(option) ? 1 : 2;
}

// Returns the index of the program's name, or 0 after a message.
static int
read_options(char **argv, bool *audit)
{
    int i = 1;
    while (argv[i] && !strncmp(argv[i], "--", 2)) {
        if (!argv[i][2])
            return i + 1;
        if (!strcmp(argv[i], "--no-audit")) {
            *audit = false;
            i++;
            continue;
        }
        int taken = set_option(argv + i);
        if (!taken)
            return tool_fail(0, "unknown option or missing value: %s (see polywarp help options)",
                             argv[i]);
        i += taken;
    }
    return i;
}

// The loader ignores LD_* for programs that change their user.
static void
warn_privileged(const char *program)
{
    char path[PATH_MAX];
    struct stat s;
    if (find_program(path, program) && !stat(path, &s) && (s.st_mode & (S_ISUID | S_ISGID)))
        tool_fail(0,
                  "%s is setuid or setgid: the loader ignores LD_LIBRARY_PATH for it (see polywarp "
                  "doctor)",
                  path);
}

static int
execute(char **argv)
{
    execvp(argv[0], argv);
    if (errno == ENOENT)
        return tool_fail(EXIT_NOT_FOUND, "%s: program not found", argv[0]);
    return tool_fail(EXIT_NOT_EXECUTABLE, "%s: %s", argv[0], strerror(errno));
}

int
cmd_run(int argc, char **argv)
{
    bool audit = true;
    int program = read_options(argv, &audit);
    if (!program)
        return EXIT_USAGE;
    if (program >= argc)
        return tool_fail(EXIT_USAGE, "no program given (see polywarp help)");
    if (!library_folder())
        return tool_fail(EXIT_TOOL, "no " DRIVER_NAME
                                    " in ../lib beside this tool: build or install Polywarp first");
    prepend("LD_LIBRARY_PATH", library_folder());
    if (audit && audit_path())
        prepend("LD_AUDIT", audit_path());
    warn_privileged(argv[program]);
    return execute(argv + program);
}
