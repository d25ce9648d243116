// SPDX-License-Identifier: MIT
// Output: messages, fields, tables.
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/vec.h"

int
tool_fail(int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fflush(stdout);
    fputs("polywarp: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return code;
}

void
heading(const char *fmt, ...)
{
    bool bold = isatty(STDOUT_FILENO);
    va_list ap;
    va_start(ap, fmt);
    fputs(bold ? "\033[1m" : "", stdout);
    vprintf(fmt, ap);
    puts(bold ? "\033[0m" : "");
    va_end(ap);
}

void
field(const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("  %-17s ", name);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
}

char *
format_size(char *to, uint64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int i = 0;
    for (; n >= 1000 && i < 4; i++)
        n /= 1024;
    snprintf(to, 16, i && n < 10 ? "%.1f %s" : "%.0f %s", n, unit[i]);
    return to;
}

// Columns of the terminal; wide when the output goes elsewhere, so that lines stay whole.
static int
output_width(void)
{
    struct winsize w;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_col < 40)
        return 200;
    return w.ws_col;
}

static int
columns(const struct table *t)
{
    int n = 0;
    while (n < TABLE_COLUMNS && t->title[n])
        n++;
    return n;
}

void
table_row(struct table *t, const char *const *cell)
{
    vec_extend(t->row, 1);
    for (int c = 0, n = columns(t); c < n; c++)
        t->row[vec_len(t->row) - 1][c] = strdup(cell[c]);
}

static int
width_of(const struct table *t, int column)
{
    size_t width = strlen(t->title[column]);
    for (size_t i = 0; i < vec_len(t->row); i++) {
        size_t len = strlen(t->row[i][column]);
        width = len > width ? len : width;
    }
    return (int)width;
}

// Text broken at blanks into lines of at most `width`, the later ones indented.
static void
print_wrapped(const char *s, int width, int indent)
{
    while ((int)strlen(s) > width) {
        int n = width;
        while (n > 0 && s[n] != ' ')
            n--;
        if (!n)
            break;
        printf("%.*s\n%*s", n, s, indent, "");
        s += n + 1;
    }
    puts(s);
}

static void
print_row(const struct table *t, const char *const *cell, const int *width, int n)
{
    int at = 2;
    printf("  ");
    for (int c = 0; c < n - 1; c++) {
        printf(t->right[c] ? "%*s  " : "%-*s  ", width[c], cell[c]);
        at += width[c] + 2;
    }
    int left = output_width() - at;
    if (t->right[n - 1])
        printf("%*s\n", width[n - 1], cell[n - 1]);
    else
        print_wrapped(cell[n - 1], left < 20 ? 20 : left, at);
}

void
table_print(struct table *t)
{
    int n = columns(t), width[TABLE_COLUMNS];
    for (int c = 0; c < n; c++)
        width[c] = width_of(t, c);
    print_row(t, t->title, width, n);
    for (size_t i = 0; i < vec_len(t->row); i++) {
        print_row(t, (const char *const *)t->row[i], width, n);
        for (int c = 0; c < n; c++)
            free(t->row[i][c]);
    }
    vec_free(t->row);
}
