// SPDX-License-Identifier: MIT
// pwc --library: all PTX that a host library carries, read in place: parsed, emitted kernel by
// kernel, verified, and counted. The work is done in child processes, which may die of an entry.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "image/image.h"
#include "pwc.h"

enum state { GOOD, UNREADABLE, NOT_PARSED, NOT_EMITTED, NOT_VERIFIED, DIED, STATES };

static const char *const state_name[STATES] = {"good",        "not unpacked", "not parsed",
                                               "not emitted", "not verified", "died"};

// Seconds that one entry may take before its child is ended.
enum { ENTRY_SECONDS = 300, REASON_MAX = 160 };

struct reason {
    char *text;
    unsigned entries;
};

struct survey {
    struct image_entry *entry; // vec: the sample, in the library's order
    uint64_t bytes;            // of text, unpacked
    unsigned count[STATES];
    unsigned kernels;
    struct reason *reason; // vec
};

// ---- the library's entries ----------------------------------------------------------------------
static void
collect(void *user, const struct image *im, const char *section)
{
    struct image_entry **all = user;
    (void)section;
    for (size_t i = 0; i < vec_len(im->entry); i++)
        if (im->entry[i].kind == ENTRY_PTX) {
            struct image_entry e = im->entry[i];
            e.options = e.name = ""; // the image's own memory
            vec_push(*all, e);
        }
}

// Every len/sample-th entry; all if sample is 0.
static struct image_entry *
pick(struct image_entry *all, unsigned sample)
{
    size_t n = vec_len(all);
    if (!sample || sample >= n)
        return all;
    struct image_entry *some = NULL;
    for (unsigned k = 0; k < sample; k++)
        vec_push(some, all[(size_t)k * n / sample]);
    vec_free(all);
    return some;
}

// ---- one entry, in the child --------------------------------------------------------------------
// A message with what differs from kernel to kernel taken out: names in quotes, numbers.
static void
generalise(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = text; *p && *p != '\n' && n + 1 < size; p++) {
        const char *end = *p == '\'' ? strchr(p + 1, '\'') : NULL;
        bool symbol = end && (p[1] == '_' || p[1] == '%' || p[1] == '$' || end - p > 24);
        if (symbol)
            p = end;
        if (*p == '\t')
            continue;
        out[n++] = symbol ? '*' : *p;
    }
    out[n] = 0;
}

static void
tell_reasons(FILE *out, const struct ptx_diags *d)
{
    char text[REASON_MAX];
    for (size_t i = 0; i < vec_len(d->list); i++)
        if (d->list[i].error) {
            generalise(d->list[i].text, text, sizeof text);
            fprintf(out, "reason\t%s\n", text);
        }
}

static struct ptx_program *
parse(const char *text, size_t size, struct ptx_diags *d)
{
    struct ptx_module *m = ptx_parse(text, size, "entry", d);
    return m ? ptx_link(&m, 1, true, d) : NULL;
}

static enum state
emit_one(struct ptx_program *p, struct ptx_func *f, FILE *out)
{
    struct ptx_diags d = {0};
    char text[REASON_MAX], *error = NULL;
    enum state s = GOOD;
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef m = emit_kernel(ctx, p, f, &pwc_target, &d);
    if (!m) {
        s = NOT_EMITTED;
        tell_reasons(out, &d);
    } else if (!pwc_verify(m, &error)) {
        s = NOT_VERIFIED;
        generalise(error, text, sizeof text);
        fprintf(out, "reason\t%s\n", text);
    }
    free(error);
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(ctx);
    ptx_diags_free(&d);
    return s;
}

static enum state
emit_all(struct ptx_program *p, FILE *out, unsigned *kernels)
{
    enum state worst = GOOD;
    for (uint32_t k = 0; k < p->module[0]->nfunc; k++) {
        struct ptx_func *f = p->module[0]->func[k];
        if (!f->is_entry || !f->has_body)
            continue;
        enum state s = emit_one(p, f, out);
        worst = s > worst ? s : worst;
        ++*kernels;
    }
    return worst;
}

static void
survey_entry(const struct image_entry *e, FILE *out)
{
    struct ptx_diags d = {0};
    struct image_error err = {""};
    char *text = NULL;
    size_t size = 0;
    unsigned kernels = 0;
    enum state s = UNREADABLE;
    if (image_unpack(e, &text, &size, &err)) {
        fprintf(out, "reason\t%s\n", err.text);
    } else {
        struct ptx_program *p = parse(text, size, &d);
        if (!p)
            tell_reasons(out, &d);
        s = p ? emit_all(p, out, &kernels) : NOT_PARSED;
        if (p)
            ptx_program_free(p);
    }
    free(text);
    ptx_diags_free(&d);
    fprintf(out, "entry\t%d\t%u\t%zu\n", (int)s, kernels, size);
    fflush(out);
}

// ---- the parent ---------------------------------------------------------------------------------
static void
add_reason(struct survey *s, const char *text)
{
    for (size_t i = 0; i < vec_len(s->reason); i++)
        if (!strcmp(s->reason[i].text, text)) {
            s->reason[i].entries++;
            return;
        }
    struct reason r = {strdup(text), 1};
    vec_push(s->reason, r);
}

// A reason counts once an entry, however many kernels have it.
static void
add_once(struct survey *s, char ***seen, char *text)
{
    text[strcspn(text, "\n")] = 0;
    for (size_t i = 0; i < vec_len(*seen); i++)
        if (!strcmp((*seen)[i], text))
            return;
    char *copy = strdup(text);
    vec_push(*seen, copy);
    add_reason(s, text);
}

static void
forget(char ***seen)
{
    for (size_t i = 0; i < vec_len(*seen); i++)
        free((*seen)[i]);
    vec_clear(*seen);
}

// Reads what a child tells. Returns the number of entries that it has finished.
static size_t
listen(struct survey *s, FILE *in)
{
    char *line = NULL, **seen = NULL; // vec
    size_t room = 0, done = 0;
    while (getline(&line, &room, in) > 0) {
        unsigned state, kernels;
        size_t bytes;
        if (!strncmp(line, "reason\t", 7))
            add_once(s, &seen, line + 7);
        if (sscanf(line, "entry\t%u\t%u\t%zu", &state, &kernels, &bytes) != 3 || state >= STATES)
            continue;
        s->count[state]++;
        s->kernels += kernels;
        s->bytes += bytes;
        done++;
        forget(&seen);
    }
    forget(&seen);
    vec_free(seen);
    free(line);
    return done;
}

static void
child(const struct survey *s, size_t from, int fd)
{
    FILE *out = fdopen(fd, "w");
    for (size_t i = from; i < vec_len(s->entry); i++) {
        alarm(ENTRY_SECONDS);
        survey_entry(&s->entry[i], out);
    }
    fclose(out);
    _exit(0);
}

// Runs a child over the entries from `from`. Returns the next entry to do.
static size_t
run_child(struct survey *s, size_t from)
{
    int fd[2], status;
    if (pipe(fd))
        return vec_len(s->entry);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(s, from, fd[1]);
    }
    close(fd[1]);
    FILE *in = fdopen(fd[0], "r");
    size_t done = listen(s, in);
    fclose(in);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return vec_len(s->entry);
    if (from + done >= vec_len(s->entry))
        return vec_len(s->entry);
    char text[64];
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    snprintf(text, sizeof text, "entry %zu: %s", from + done,
             signal == SIGALRM ? "takes too long"
             : signal          ? strsignal(signal)
                               : "the compiler gave up");
    s->count[DIED]++;
    add_reason(s, text);
    return from + done + 1;
}

static int
by_entries(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    return x->entries < y->entries ? 1 : x->entries > y->entries ? -1 : strcmp(x->text, y->text);
}

static void
print(struct survey *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = vec_len(s->entry);
    printf("%s: %zu entries, %u kernels, %.1f MB; %u good", slash ? slash + 1 : path, n, s->kernels,
           (double)s->bytes * 1e-6, s->count[GOOD]);
    for (int k = GOOD + 1; k < STATES; k++)
        if (s->count[k])
            printf(", %u %s", s->count[k], state_name[k]);
    printf("\n");
    if (vec_len(s->reason))
        qsort(s->reason, vec_len(s->reason), sizeof *s->reason, by_entries);
    for (size_t i = 0; i < vec_len(s->reason); i++)
        printf("%8u  %s\n", s->reason[i].entries, s->reason[i].text);
    fflush(stdout);
}

static const void *
map_file(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || st.st_size == 0)
        return perror(path), NULL;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *size = (size_t)st.st_size;
    return p == MAP_FAILED ? NULL : p;
}

bool
pwc_library(const char *path, unsigned sample)
{
    struct survey s = {0};
    size_t size = 0;
    const void *file = map_file(path, &size);
    if (!file)
        return false;
    struct image_entry *all = NULL;
    if (image_scan_elf(file, size, collect, &all))
        return fprintf(stderr, "pwc: %s is no library\n", path), false;
    s.entry = pick(all, sample);
    for (size_t at = 0; at < vec_len(s.entry);)
        at = run_child(&s, at);
    print(&s, path);
    bool good = s.count[GOOD] == vec_len(s.entry);
    for (size_t i = 0; i < vec_len(s.reason); i++)
        free(s.reason[i].text);
    vec_free(s.reason);
    vec_free(s.entry);
    munmap((void *)file, size);
    return good;
}
