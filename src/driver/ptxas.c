// SPDX-License-Identifier: MIT
// The ptxas options that come with a fatbin's PTX: those that change what code means.
#include "driver/module.h"

#include <string.h>

// The value of --name value, --name=value or the same with one dash, at the word `s`; NULL if the
// word is no such option.
static const char *
value_at(const char *s, const char *name)
{
    size_t n = strlen(name);
    s += s[0] == '-';
    s += s[0] == '-';
    if (strncmp(s, name, n) || (s[n] != '=' && s[n] != ' '))
        return NULL;
    s += n + (s[n] == '=');
    return s + strspn(s, " ");
}

static bool
is_false(const char *value)
{
    static const char *const words[] = {"false", "no", "0"};
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
        size_t n = strlen(words[k]);
        if (!strncmp(value, words[k], n) && (!value[n] || value[n] == ' '))
            return true;
    }
    return false;
}

bool
ptxas_fmad(const char *options)
{
    bool fmad = true;
    for (const char *s = options; *s; s += strcspn(s, " ")) {
        s += strspn(s, " ");
        const char *value = s[0] == '-' ? value_at(s, "fmad") : NULL;
        if (value)
            fmad = !is_false(value);
    }
    return fmad;
}
