// SPDX-License-Identifier: MIT
// Options: environment variables read once, at the first use of any option.
#include "base/options.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

static const char *value[OPTIONS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The environment may change later, so values are copied.
static void
read_all(void)
{
    for (int o = 0; o < OPTIONS; o++) {
        const char *text = getenv(option_table[o].env);
        char *copy = text ? strdup(text) : NULL;
        value[o] = copy ? copy : option_table[o].dflt;
    }
}

const char *
opt_text(enum option o)
{
    pthread_once(&once, read_all);
    return value[o];
}

// True if the whole text is an integer with an optional suffix and the value fits.
static bool
parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 0);
    if (end == text || errno)
        return false;
    static const char suffix[] = "KMG";
    const char *s = *end ? strchr(suffix, *end & ~0x20) : NULL;
    if (s && *s)
        end++;
    else
        s = NULL;
    if (*end || __builtin_mul_overflow(n, s ? INT64_C(1) << 10 * (s - suffix + 1) : 1, &n))
        return false;
    *out = n;
    return true;
}

// Says once per option that its value is not understood. Returns true.
static bool
complain(enum option o)
{
    static unsigned char said[OPTIONS];
    if (!__atomic_exchange_n(&said[o], 1, __ATOMIC_RELAXED))
        log_error("%s=%s is not understood (%s); %s is used", option_table[o].env, value[o],
                  option_table[o].values, option_table[o].dflt);
    return true;
}

int64_t
opt_int(enum option o)
{
    int64_t n = 0;
    if (!parse_int(opt_text(o), &n) && complain(o))
        parse_int(option_table[o].dflt, &n);
    return n;
}

// 1 or 0, or -1 if the text is neither.
static int
parse_bool(const char *text)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"no", "yes"}, {"off", "on"}, {"false", "true"}};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        for (int b = 0; b < 2; b++)
            if (!strcasecmp(text, words[i][b]))
                return b;
    return -1;
}

bool
opt_bool(enum option o)
{
    int b = parse_bool(opt_text(o));
    if (b < 0 && complain(o))
        b = parse_bool(option_table[o].dflt);
    return b == 1;
}

bool
opt_has(enum option o, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = opt_text(o); *p;) {
        p += strspn(p, ", ");
        size_t len = strcspn(p, ", ");
        if (len == n && !strncasecmp(p, word, n))
            return true;
        p += len;
    }
    return false;
}
